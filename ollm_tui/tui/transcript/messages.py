"""The messages that a transcript posts to its screen."""

from textual.message import Message
from textual.selection import Selection


class CursorMoved(Message):
    """The cursor went to another message, on or off, or the caret came or went."""

    def __init__(self, hints: str | None) -> None:
        self.hints = hints
        """The set of key hints to show; None when the cursor is off."""
        super().__init__()


class RetryRequested(Message):
    """The user wants a question answered once more."""

    def __init__(self, block_id: str) -> None:
        self.block_id = block_id
        """The block of the question."""
        super().__init__()


class CopyRequested(Message):
    """The user wants a text on the clipboard."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class SelectionCopyRequested(Message):
    """The user wants the selected text on the clipboard."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        super().__init__()


class KeyRefused(Message):
    """A key could do nothing."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__()


class PinnedChanged(Message):
    """The view has left or reached the end, or there is new text below it."""

    def __init__(self, pinned: bool, unseen: bool) -> None:
        self.pinned = pinned
        self.unseen = unseen
        super().__init__()


class LinkClicked(Message):
    """The user clicked a link."""

    def __init__(self, address: str) -> None:
        self.address = address
        """As it is in the text: neither checked nor cleaned."""
        super().__init__()
