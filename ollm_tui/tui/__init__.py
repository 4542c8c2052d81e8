"""The full-screen terminal app: the only package that knows Textual."""
