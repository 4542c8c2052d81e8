"""One line above the input: a standing text, or a word about the last key."""

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.timer import Timer

FLASH_S: Final = 2.5
"""How long a word about the last key stays."""


class HintLine(Static):
    """Takes no room while there is nothing to say."""

    DEFAULT_CSS = """
    HintLine {
        display: none;
        height: 1;
        padding: 0 3;
        color: $text-muted;
        text-overflow: ellipsis;
        text-wrap: nowrap;
        &.-shown { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._standing = ""
        self._leaving: Timer | None = None

    def stand(self, text: str) -> None:
        """Show a text until another takes its place; an empty one goes away."""
        self._standing = text
        if self._leaving is None:
            self._say(text)

    def flash(self, text: str, seconds: float) -> None:
        """Show a text for a moment."""
        if self._leaving is not None:
            self._leaving.stop()
        self._say(text)
        self._leaving = self.set_timer(seconds, self._back)

    def hush(self) -> None:
        """Remove at once what was to be shown for a moment."""
        if self._leaving is not None:
            self._leaving.stop()
            self._back()

    def _back(self) -> None:
        self._leaving = None
        self._say(self._standing)

    def _say(self, text: str) -> None:
        self.set_class(bool(text), "-shown")
        self.update(Content(text))
