"""Tools that use the web: one page by its address, and a search."""
