"""Messages that leave their screen; a widget's own messages are in the widget."""

from textual.message import Message


class InputReady(Message):
    """There is an input now that takes what is typed."""


class ShownAgain(Message):
    """The program was continued after it was suspended."""
