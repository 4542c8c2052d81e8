"""Pages of the web for models: which addresses may be reached, one page within limits, its text."""
