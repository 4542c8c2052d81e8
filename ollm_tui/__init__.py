"""ollm_tui: a terminal chat over an embedded runtime for language models anywhere."""

__version__ = "0.1.0"
