"""One line above the input: a standing text, or a word about the last key."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_line

if TYPE_CHECKING:
    from textual.timer import Timer

FLASH_S: Final = 2.5
"""How long a word about the last key stays."""
_LONGEST_PROMPT: Final = 200
"""Characters of a waiting prompt that are looked at; no line shows as many."""


def queue_line(
    waiting: Sequence[str], key_for: Callable[[str], str], *, is_held: bool = False
) -> str:
    """Say how many prompts wait, how to get them back, and how they begin.

    `key_for` names the key of an action. `is_held` means that the prompt before them ended in an
    error, so that they are not sent by themselves.
    """
    if not waiting:
        return ""
    them = "it" if len(waiting) == 1 else "them"
    beginnings = " · ".join(clean_line(text[:_LONGEST_PROMPT].strip()) for text in waiting)
    held = " after the error" if is_held else ""
    last = "it" if len(waiting) == 1 else "the last"
    up = f"{key_for('composer.history_previous')} edits {last}"
    returns = f"{key_for('chat.stop')} returns {them} to the editor"
    return f"{len(waiting)} queued{held} · {up} · {returns}: {beginnings}"


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
        """Take away at once what was to be shown for a moment."""
        if self._leaving is not None:
            self._leaving.stop()
            self._back()

    def _back(self) -> None:
        self._leaving = None
        self._say(self._standing)

    def _say(self, text: str) -> None:
        self.set_class(bool(text), "-shown")
        self.update(Content(text))
