"""Painters turn text into rows of styled segments; they know neither app nor widgets."""
