"""Files attached to a prompt: found, read safely and classified, independent of any front end."""
