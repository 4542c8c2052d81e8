"""Tool calls that a model printed as text in its answer."""
