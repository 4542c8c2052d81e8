"""The one failure of a decoder whose input would fill the memory."""


class LimitPassed(ValueError):
    """A server sent more than is taken; the text says what, and how much that is."""
