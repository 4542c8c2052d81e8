"""What a transcript says to its screen while somebody goes through it."""

from textual.message import Message
from textual.selection import Selection


class Moved(Message):
    """The cursor went to another message, on or off, or the caret came or went."""

    def __init__(self, hints: str | None) -> None:
        self.hints = hints
        """Which keys matter now; None when the cursor is off."""
        super().__init__()


class AgainWanted(Message):
    """Somebody wants a question asked once more."""

    def __init__(self, block_id: str) -> None:
        self.block_id = block_id
        """The block of the question."""
        super().__init__()


class CopyWanted(Message):
    """Somebody wants a text on the clipboard."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class SelectionCopyWanted(Message):
    """Somebody wants what is selected on the clipboard."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        super().__init__()


class Refused(Message):
    """A key could do nothing, and why."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__()
