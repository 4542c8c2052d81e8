"""The chat as painted rows, and what can be done with them: read, select, search."""
