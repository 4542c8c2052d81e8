"""A text to be read in full: wrapped exactly, scrolled, never cut.

It tracks which rows have been shown: what was not shown cannot be allowed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import ClassVar, Final, Literal, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.errors import NoWidget
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name, spelled_out
from ollm_tui.tui.painters import plain_rows

_BAR = "▌ "
_NARROWEST = 8
_MIN_ROWS_AROUND = 8
"""Rows of a low screen that the dialog around it needs."""


RowKind: TypeAlias = Literal["heading", "text", "added", "removed"]
RowParts: TypeAlias = tuple[tuple[str, str], ...]
"""The pieces of a row of code, each with what it is, such as `keyword`."""
_DIFF_KINDS: Final[Mapping[str, RowKind]] = {"+": "added", "-": "removed"}


@dataclass(frozen=True, slots=True)
class Passage:
    """A heading and the text below it, both foreign; an empty text has no row."""

    heading: str
    text: str
    is_diff: bool = False
    """Whether lines that are removed and added are coloured."""
    language: str = ""
    """The language of code, which is coloured; empty is none."""
    is_prose: bool = False
    """Whether rows end between words: of a text that allows nothing."""


def is_whole(widget: Widget) -> bool:
    """Return whether all of a widget is visible on the active screen."""
    if not (widget.is_attached and widget.screen.is_active and widget.display):
        return False
    try:
        placed = widget.screen.find_widget(widget)
    except NoWidget:
        return False
    return bool(placed.region.area) and placed.visible_region == placed.region


class Reading(ScrollView, can_focus=False):
    """Shows passages; the dialog around it handles the keys that scroll."""

    class Looked(Message):
        """The rows in view have changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("reading--heading", "reading--bar", "reading--added", "reading--removed"),
        *("reading--keyword", "reading--name", "reading--string", "reading--number"),
        "reading--comment",
    }
    DEFAULT_CSS = """
    Reading {
        height: auto; background: transparent; scrollbar-size-vertical: 1; overflow-x: hidden;
        & .reading--heading { color: $text-muted; }
        & .reading--bar { color: $text-accent; }
        & .reading--added { color: $text-success; }
        & .reading--removed { color: $text-error; }
        & .reading--keyword { color: $text-primary; text-style: bold; }
        & .reading--name { color: $text-accent; }
        & .reading--string { color: $text-success; }
        & .reading--number { color: $text-warning; }
        & .reading--comment { text-style: italic; }
        &:ansi .reading--heading { text-style: dim; }
    }
    """

    def __init__(self, passages: Sequence[Passage], *, margin: int = 14) -> None:
        """Show passages; `margin` rows of the screen are left for the dialog."""
        super().__init__()
        self._passages = [
            replace(one, heading=clean_name(one.heading), text=spelled_out(one.text))
            for one in passages
        ]
        self._margin = margin
        self._lines: list[tuple[bool, str]] = []
        self._kinds: list[RowKind] = []
        self._parts: list[RowParts] = []
        self._width = 0
        self._seen: set[int] = set()
        self._seen_width = 0
        self._in_view = (0, 0, 0)
        self.is_read = False
        """Whether every row has been shown; stays True when the text is wrapped again."""

    def _wrapped(self, width: int) -> list[tuple[bool, str]]:
        """Return all rows of `width` cells, True for text; leaves room for the scrollbar."""
        width = max(_NARROWEST, width - self.styles.scrollbar_size_vertical)
        if width != self._width:
            self._width = width
            gap: tuple[RowKind, str] = ("heading", "")
            rows, parts = [], []
            for one in self._passages:
                own = _rows_of(one, width)
                rows += [gap, *own]
                parts += [(), *_code_parts(one, own)]
            self._lines = [(kind != "heading", line) for kind, line in rows[1:]]
            self._kinds = [kind for kind, _line in rows[1:]]
            self._parts = parts[1:]
        return self._lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the text, as far as the screen allows."""
        fewest = max(1, min(3, viewport.height - _MIN_ROWS_AROUND))
        return min(len(self._wrapped(width)), max(fewest, viewport.height - self._margin))

    def on_resize(self) -> None:
        """Wrap for the new width."""
        rows = len(self._wrapped(self.size.width))
        self.virtual_size = Size(self.scrollable_content_region.width, rows)
        if self.scroll_y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False)
        self.refresh()
        self.call_after_refresh(self.look)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Track the rows in view once they are drawn."""
        super().watch_scroll_y(old_value, new_value)
        self.call_after_refresh(self.look)

    @property
    def rows_not_shown(self) -> int:
        """The number of rows that have never been in view."""
        return 0 if self.is_read else len(self._lines) - len(self._seen)

    @property
    def page(self) -> int:
        """The rows of a page; one stays in view."""
        return max(1, self.scrollable_content_region.height - 1)

    @property
    def has_room(self) -> bool:
        """Whether the rows in view are visible in full width."""
        return is_whole(self) and self.scrollable_content_region.width >= self._width

    def look(self) -> None:
        """Track the rows in view, if they are visible in full width."""
        if not self.has_room:
            return
        if self._seen_width != self._width:
            self._seen_width = self._width
            self._seen.clear()
        first, last, total = in_view = self.shown_share
        self._seen.update(range(first, last + 1))
        self.is_read = self.is_read or len(self._seen) >= total
        if in_view != self._in_view:
            self._in_view = in_view
            self.post_message(self.Looked())

    @property
    def shown_share(self) -> tuple[int, int, int]:
        """The first and the last row in view, counted from 1, and the number of rows."""
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
            kind = self._kinds[number]
            bar = base + self.get_component_rich_style("reading--bar")
            parts = self._parts[number] or ((line, "" if kind == "text" else kind),)
            segments = [Segment(_BAR, bar), *(self._segment(*part) for part in parts)]
        else:
            heading = base + self.get_component_rich_style("reading--heading")
            segments = [Segment(line, heading)]
        return Strip(segments).adjust_cell_length(width, base)

    def _segment(self, text: str, meaning: str) -> Segment:
        own = self.get_component_rich_style(f"reading--{meaning}") if meaning else Style.null()
        return Segment(text, self.rich_style + own)


def _rows_of(passage: Passage, width: int) -> list[tuple[RowKind, str]]:
    heading, none = passage.heading, Style.null()
    rows: list[tuple[RowKind, str]] = [
        ("heading", row.text) for row in plain_rows(heading, width, none, words=False)
    ]
    if not passage.text:
        return rows
    room = width - len(_BAR)
    if not passage.is_diff:
        body = plain_rows(passage.text, room, none, words=passage.is_prose)
        return [*rows, *(("text", row.text) for row in body)]
    for line in passage.text.split("\n"):
        kind = _DIFF_KINDS.get(line[:1], "text")
        wrapped = [row.text for row in plain_rows(line, room, none, words=False)]
        rows += [(kind, text) for text in wrapped or [""]]
    return rows


def _code_parts(passage: Passage, rows: Sequence[tuple[RowKind, str]]) -> list[RowParts]:
    """Return the pieces of each row of code; none for rows without colours."""
    plain: list[RowParts] = [() for _row in rows]
    if not passage.language:
        return plain
    # imported with the first code that is asked about
    from ollm_tui.tui.painters import code_meanings

    meanings = code_meanings(passage.text, passage.language)
    at = 0
    for number, (kind, line) in enumerate(rows):
        if kind == "heading":
            continue
        if not passage.text.startswith(line, at):
            return plain  # wrapped in another way than thought: no colours
        plain[number] = tuple(
            ("".join(char for char, _one in group), meaning)
            for meaning, group in groupby(
                zip(line, meanings[at : at + len(line)], strict=True), key=itemgetter(1)
            )
        )
        at += len(line)
        at += passage.text[at : at + 1] == "\n"
    return plain
