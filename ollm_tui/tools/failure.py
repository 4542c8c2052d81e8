"""The failure that a tool expects."""


class ToolFailure(Exception):
    """A call that could not be done; the message is the sentence that the model reads."""
