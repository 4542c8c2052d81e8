"""Where a prompt is written: input, completion, history, attachments and paste."""
