"""Parsers without input or output: what a server or a model wrote becomes typed pieces.

The result never depends on where chunks were cut, and damaged input raises nothing but ValueError.
"""


class LimitPassed(ValueError):
    """A server sent more than the limit; the text names what was too large, and the limit."""
