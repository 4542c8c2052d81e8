"""The composition root: makes a running runtime of settings, and closes it at exit."""
