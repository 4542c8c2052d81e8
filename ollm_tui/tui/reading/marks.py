"""Choose one of the marked messages."""

from collections.abc import Sequence
from typing import Final

from textual import on
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ollm_tui.tui.dialogs import FilterList
from ollm_tui.tui.widgets import cut

MAX_MARKS: Final = 300
"""Rows listed at once; typing finds the others."""
_WRITERS: Final = {"user": "You", "assistant": "Answer", "tool": "Tool"}


class MarkPicker(FilterList[str | None]):
    """Returns the block of a message."""

    HEADING = "Marked messages"
    DEFAULT_CSS = """
    MarkPicker > Vertical { width: 96; height: 22; }
    """

    def __init__(self, marks: Sequence[tuple[str, str, str]]) -> None:
        """List messages: the block, the role and the first words of each."""
        super().__init__()
        self._marks = [
            (block, f"{_WRITERS.get(role, 'Note')}: {words or 'no text'}")
            for block, role, words in marks
        ]

    def show_rows(self, mark: str | None = None) -> None:
        """List the messages that match."""
        words = self.query_text.casefold().split()
        kept = [
            (block, label)
            for block, label in self._marks
            if all(word in label.casefold() for word in words)
        ]
        width = self.row_width
        self.fill(
            [Option(Content(cut(label, width)), id=one) for one, label in kept[:MAX_MARKS]],
            mark=mark,
        )
        more = (
            f"{len(kept) - MAX_MARKS:,} more: type to find them · " if len(kept) > MAX_MARKS else ""
        )
        self.say(f"{more}Enter go there · Esc close" if kept else "No mark matches.")

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)
