"""Asks whether to send a message without its pictures to a model that reads only text."""

import time
from collections.abc import Callable
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.modals.armed import WAITING, ArmedDialog, named_keys
from ollm_tui.tui.widgets.reading import Passage, Reading

_ROWS_AROUND: Final = 14


class LeaveOutPictures(ArmedDialog[bool]):
    """Gives whether to send it; opens after Enter, when somebody may be typing on."""

    DEFAULT_CSS = """
    LeaveOutPictures {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #what { height: auto; margin-bottom: 1; }
        &.-low #what { margin-bottom: 0; }
    }
    """

    def __init__(
        self, model: str, count: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock=clock)
        them = "a picture that stays" if count == 1 else f"{count} pictures that stay"
        self._words = (
            f"This chat has {them} out of what is sent to this model."
            " The chat itself keeps everything, and a model that sees gets it again."
        )
        self._model = clean_name(model)

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical():
            yield Static("The model reads only text", classes="title", markup=False)
            yield Static(Content(self._words), id="what")
            yield Reading([Passage("Model", self._model)], margin=_ROWS_AROUND)
            yield Static(Content(WAITING), id="about")

    def keys(self) -> Content:
        """Name the keys that answer."""
        return named_keys(("y", "send without pictures"), ("n", "or Esc back to the input"))

    def answer(self, event: events.Key) -> bool:
        """Send it or not, by a letter; Enter may have been meant for the input."""
        if event.character not in {"y", "n"}:
            return False
        self._leave(event.character == "y")
        return True

    def refuse(self) -> None:
        """Send nothing."""
        self._leave(False)

    def _leave(self, answer: bool) -> None:
        if self.app.screen is self:
            self.dismiss(answer)
