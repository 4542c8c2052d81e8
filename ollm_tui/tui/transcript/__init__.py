"""The chat as painted rows, and what one does with them: read, select, search."""
