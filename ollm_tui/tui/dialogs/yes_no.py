"""A question that is answered with y or n, for dialogs that open while somebody may be typing."""

import time
from collections.abc import Callable
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog, named_keys
from ollm_tui.tui.dialogs.reading import Passage, Reading

_ROWS_AROUND: Final = 15


class YesNoDialog(ArmedDialog[bool]):
    """Gives whether it was a yes; Enter is none, as it may have been meant for the input.

    `words` ask, `about` is what they are about; `yes` and `no` say what each letter does.
    """

    DEFAULT_CSS = """
    YesNoDialog {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #what { height: auto; margin-bottom: 1; }
        &.-low #what { margin-bottom: 0; }
    }
    """

    def __init__(
        self,
        title: str,
        words: str,
        about: Passage,
        *,
        yes: str,
        no: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock=clock)
        self._title = title
        self._words = words
        self._about = about
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical():
            yield Static(Content(self._title), classes="title")
            yield Static(Content(self._words), id="what")
            yield Reading([self._about], margin=_ROWS_AROUND)
            yield Static(Content(WAITING), id="about")

    def keys(self) -> Content:
        """Name the keys that answer."""
        yes = [("y", self._yes)] if self.is_read else []
        return named_keys(*yes, ("n", self._no))

    def answer(self, event: events.Key) -> bool:
        """Take one of the two letters."""
        if event.character not in {"y", "n"}:
            return False
        self.dismiss(event.character == "y")
        return True

    def refuse(self) -> None:
        """Do nothing."""
        self.dismiss(False)
