"""Tools that a model may call, whatever the chat: defined, registered, approved and run."""
