"""The status line: what it shows, and where that comes from."""
