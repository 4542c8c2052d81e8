"""Every key of the app in one table, and the keymap with a person's own keys."""
