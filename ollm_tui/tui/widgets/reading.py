"""A text to be read to its last character: wrapped exactly, scrolled, never cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.widgets.painters.plain import plain_rows

_BAR = "▌ "
_NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """A heading and the text below it, both foreign; an empty text takes no row."""

    heading: str
    text: str


def spelled(text: str) -> str:
    """Spell out every character that draws nothing; only line feeds end a line."""
    return "\n".join(clean_name(line) for line in text.split("\n"))


class Reading(ScrollView, can_focus=False):
    """Shows passages; the keys that scroll it belong to the dialog around it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"reading--heading", "reading--bar"}
    DEFAULT_CSS = """
    Reading {
        height: auto;
        background: transparent;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & .reading--heading { color: $text-muted; }
        & .reading--bar { color: $text-accent; }
        &:ansi .reading--heading { text-style: dim; }
    }
    """

    def __init__(self, passages: Sequence[Passage], *, margin: int = 14) -> None:
        """Show passages; `margin` rows of the screen are left to what is around."""
        super().__init__()
        self._passages = [(clean_name(one.heading), spelled(one.text)) for one in passages]
        self._margin = margin
        self._lines: list[tuple[bool, str]] = []
        self._width = 0

    def _wrapped(self, width: int) -> list[tuple[bool, str]]:
        """Give all rows in `width` cells, a scrollbar's included; those of a text are True.

        They are the same with and without the scrollbar: it comes when all is laid out already,
        and nothing may stand below it.
        """
        width = max(_NARROWEST, width - self.styles.scrollbar_size_vertical)
        if width != self._width:
            self._width = width
            gap = (False, "")
            rows = [line for one in self._passages for line in (gap, *_rows_of(one, width))]
            self._lines = rows[1:]
        return self._lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text, as far as the screen allows."""
        return min(len(self._wrapped(width)), max(3, viewport.height - self._margin))

    def on_resize(self) -> None:
        """Wrap for the new width."""
        rows = len(self._wrapped(self.size.width))
        self.virtual_size = Size(self.scrollable_content_region.width, rows)
        self.refresh()

    @property
    def shown_share(self) -> tuple[int, int, int]:
        """The first and last row in view, counted from 1, and how many there are."""
        total = len(self._lines)
        first = min(self.scroll_offset.y, max(0, total - 1))
        return first + 1, min(total, first + self.scrollable_content_region.height), total

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        width, base = self.size.width, self.rich_style
        number = self.scroll_offset.y + y
        if number >= len(self._lines):
            return Strip.blank(width, base)
        is_text, line = self._lines[number]
        if is_text:
            bar = base + self.get_component_rich_style("reading--bar")
            segments = [Segment(_BAR, bar), Segment(line, base)]
        else:
            heading = base + self.get_component_rich_style("reading--heading")
            segments = [Segment(line, heading)]
        return Strip(segments).adjust_cell_length(width, base)


def _rows_of(passage: tuple[str, str], width: int) -> list[tuple[bool, str]]:
    heading, text = passage
    rows = [(False, row.text) for row in plain_rows(heading, width, Style.null(), words=False)]
    if not text:
        return rows
    body = plain_rows(text, width - len(_BAR), Style.null(), words=False)
    return [*rows, *((True, row.text) for row in body)]
