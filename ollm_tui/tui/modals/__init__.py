"""The dialogs: each returns a value and knows nothing of who opened it."""
