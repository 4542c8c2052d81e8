"""The terminal the app runs in: driver, keyboard and clipboard."""
