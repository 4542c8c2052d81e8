"""Messages that leave their screen; a widget's own messages are in the widget."""

from textual.message import Message


class InputReady(Message):
    """There is an input now that takes keys."""


class ShownAgain(Message):
    """The program was continued after it was suspended, by a user who was typing."""
