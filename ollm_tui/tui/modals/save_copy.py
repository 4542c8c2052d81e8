"""Asks whether a copy that no clipboard takes shall be written to a file."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.copies import counted_lines
from ollm_tui.tui.modals.armed import WAITING, ArmedDialog, named_keys
from ollm_tui.tui.widgets.reading import Passage, Reading

_ROWS_AROUND: Final = 15


class SaveCopy(ArmedDialog[bool]):
    """Gives whether to write it; opens long after the key, when somebody may be writing again."""

    DEFAULT_CSS = """
    SaveCopy {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #what { height: auto; margin-bottom: 1; }
        &.-low #what { margin-bottom: 0; }
    }
    """

    def __init__(
        self,
        lines: int,
        characters: int,
        folder: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock=clock)
        self._words = (
            f"{characters:,} characters in {counted_lines(lines)} are more than terminals are known"
            " to take as their clipboard.\n\nWrite them to a file? Nobody else can read it."
        )
        self._folder = short_path(folder)

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical():
            yield Static("Too much for the clipboard", classes="title", markup=False)
            yield Static(Content(self._words), id="what")
            yield Reading([Passage("In the folder", self._folder)], margin=_ROWS_AROUND)
            yield Static(Content(WAITING), id="about")

    def keys(self) -> Content:
        """Name the keys that answer."""
        return named_keys(("y", "write the file"), ("n", "or Esc no"))

    def answer(self, event: events.Key) -> bool:
        """Write it or not, by a letter; Enter may have been meant for the input."""
        if event.character not in {"y", "n"}:
            return False
        self._leave(event.character == "y")
        return True

    def refuse(self) -> None:
        """Write nothing."""
        self._leave(False)

    def _leave(self, answer: bool) -> None:
        if self.app.screen is self:
            self.dismiss(answer)


def short_path(path: Path) -> str:
    """Write a path as people do, with `~` for the home folder."""
    try:
        return clean_name(str(Path("~") / path.relative_to(Path.home())))
    except (ValueError, RuntimeError):  # elsewhere, or nobody's home is known
        return clean_name(str(path))
