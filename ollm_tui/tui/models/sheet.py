"""A sheet of sections to scroll and search; only visible rows are painted."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Final, get_args

import anyio.lowlevel
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ollm_tui.frontend.model_sections import Role, SheetSection
from ollm_tui.tui.models.sheet_lines import Line, SheetRow, lines_of
from ollm_tui.tui.painters import row_cells, wrap
from ollm_tui.tui.transcript import restyled

SLICE_S: Final = 0.008
"""How long layout may block the screen at a time."""
PAUSE_S: Final = 0.002
MAX_ROWS: Final = 200_000
"""Rows below are not shown; a copy has all of the text."""
_BAR: Final = "▌"
_ABOVE: Final = 2
"""Rows shown above a match."""
_LOOKS: Final = ("title", "name", "value", "note", "text", "bar", "match")
_NARROWEST: Final = 20
_MAX_WIDTH: Final = 100


class Sheet(ScrollView, can_focus=True):
    """Shows sections; keys act on the current one."""

    current = var(0, init=False)
    """The number of the current section."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"sheet--{look}" for look in (*get_args(Role), *_LOOKS)
    }
    DEFAULT_CSS = """
    Sheet {
        background: transparent; scrollbar-size-vertical: 1; overflow-x: hidden;
        & .sheet--title { color: $text-primary; text-style: bold; }
        & .sheet--name { color: $text-muted; }
        & .sheet--note { color: $text-muted; }
        & .sheet--bar { color: $text-accent; }
        & .sheet--match { background: $warning 40%; }
        & .sheet--system { color: $text-warning; }
        & .sheet--user { color: $text-primary; }
        & .sheet--assistant { color: $text-success; }
        & .sheet--tool { color: $text-secondary; }
        & .sheet--frame { color: $text-muted; }
        &:ansi .sheet--name, &:ansi .sheet--frame, &:ansi .sheet--note { text-style: dim; }
        &:ansi .sheet--match, &:nocolor .sheet--match { text-style: reverse; }
    }
    """

    class Moved(Message):
        """The current section has changed."""

    def __init__(
        self,
        sections: Sequence[SheetSection],
        *,
        first: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show sections, the one numbered `first` at the top."""
        super().__init__()
        self.sections = tuple(sections)
        self._clock = clock
        self._width = 0
        self._lines: list[Line] = []
        self._rows: list[SheetRow] = []
        self._heads: list[int] = []
        self._layout: Iterator[SheetRow] = iter(())
        self._needle: re.Pattern[str] | None = None
        self.is_whole = False
        """Whether layout is finished."""
        self._target: int | None = first or None
        self._match: int | None = None
        self.set_reactive(Sheet.current, first)

    # Laying out

    def on_resize(self) -> None:
        """Lay out for the new width; the current section stays in view."""
        width = min(
            _MAX_WIDTH, max(_NARROWEST, self.size.width - self.styles.scrollbar_size_vertical)
        )
        if width != self._width:
            self._width = width
            self._lines, self._rows, self._heads = [], [], []
            self.is_whole, self._match = False, None
            self._layout = self._laid_out(width)
            self._target = self.current or None
            self._continue_layout()

    def _laid_out(self, width: int) -> Iterator[SheetRow]:
        for line, words in lines_of(self.sections, width):
            number = len(self._lines)
            self._lines.append(line)
            if len(self._heads) <= line.section:
                self._heads.append(len(self._rows))
            for start, end, _next in wrap(line.text, max(1, width - line.hang), words=words):
                yield SheetRow(number, start, end)

    def _continue_layout(self) -> None:
        """Lay out for one slice, and schedule the next one."""
        until, width = self._clock() + SLICE_S, self._width
        for count, row in enumerate(self._layout):
            self._rows.append(row)
            if len(self._rows) >= MAX_ROWS:
                self._layout = iter(())
                self.is_whole = True
                break
            if count % 8 == 7 and self._clock() > until:
                break
        else:
            self.is_whole = True
        self.virtual_size = Size(width, len(self._rows))
        self._reach()
        self.refresh()
        if not self.is_whole:
            # messages alone would follow each other and leave no time for others
            frame = events.Callback(callback=partial(self._continue_later, width))
            asyncio.get_running_loop().call_later(PAUSE_S, self.post_message, frame)

    def _continue_later(self, width: int) -> None:
        if self.is_attached and width == self._width and not self.is_whole:
            self._continue_layout()

    def _reach(self) -> None:
        """Scroll to the wanted section as soon as enough of it is laid out."""
        if self._target is None or len(self._heads) <= self._target:
            return
        head = self._heads[self._target]
        if self.is_whole or len(self._rows) >= head + self.size.height:
            # the scrollbar that allows it may only appear with the next layout
            self.scroll_to(y=head, animate=False, immediate=True, force=True)
            self._target = None

    # Moving

    def go(self, direction: int) -> None:
        """Make the next or the previous section the current one, and show it from its top."""
        number = min(len(self.sections) - 1, max(0, self.current + direction))
        if number != self.current:
            self.current = self._target = number
            self._reach()

    def watch_current(self) -> None:
        """Move the mark."""
        self.refresh()
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Make a visible section the current one."""
        super().watch_scroll_y(old_value, new_value)
        if not self._rows or self._target is not None:
            return
        top = min(round(new_value), len(self._rows) - 1)
        bottom = min(top + self.size.height, len(self._rows)) - 1
        first = self._lines[self._rows[top].line].section
        last = self._lines[self._rows[bottom].line].section
        if not first <= self.current <= last:
            self.current = first if self.current < first else last

    def edge(self, direction: int) -> None:
        """Go to the beginning or the end."""
        self._target = None
        (self.scroll_home if direction < 0 else self.scroll_end)(animate=False)
        self.current = 0 if direction < 0 else len(self.sections) - 1

    # Searching

    def seek(self, text: str) -> None:
        """Highlight a text; an empty one highlights nothing."""
        self._needle = re.compile(re.escape(text), re.IGNORECASE) if text else None
        self._match = None
        self.refresh()

    async def find(self, direction: int, *, fresh: bool = False) -> bool:
        """Scroll to the next match and return whether there is one; `fresh` starts at the view."""
        needle = self._needle
        while not self.is_whole:
            await anyio.lowlevel.checkpoint()
        if needle is None or not self._rows:
            return False
        before = self.scroll_offset.y - direction if self._match is None or fresh else self._match
        match = await self._search(needle, (before + direction) % len(self._rows), direction)
        if match is None:
            return False
        self._match = match
        self.scroll_to(y=max(0, match - _ABOVE), animate=False, immediate=True)
        self.current = self._lines[self._rows[match].line].section
        return True

    async def _search(self, needle: re.Pattern[str], at: int, direction: int) -> int | None:
        """Search every row once, from `at` on and around the end."""
        total, until = len(self._rows), self._clock() + SLICE_S
        for step in range(total):
            number = (at + direction * step) % total
            if self._matches(needle, number):
                return number
            if step % 64 == 63 and self._clock() > until:
                await anyio.lowlevel.checkpoint()
                until = self._clock() + SLICE_S
        return None

    def _matches(self, needle: re.Pattern[str], number: int) -> bool:
        """Return whether a match begins in a row or in its name."""
        row = self._rows[number]
        line = self._lines[row.line]
        if row.start == 0 and needle.search(line.name):
            return True
        match = needle.search(line.text, row.start)
        return match is not None and match.start() < max(row.end, row.start + 1)

    # Painting

    def render_line(self, y: int) -> Strip:
        """One row of the view."""
        width, base = self.size.width, self.rich_style
        number = self.scroll_offset.y + y
        if number >= len(self._rows):
            return Strip.blank(width, base)
        segments = self._painted(self._rows[number], base)
        return Strip(segments).adjust_cell_length(width, base)

    def _painted(self, row: SheetRow, base: Style) -> list[Segment]:
        line = self._lines[row.line]
        is_title = bool(line.spans) and line.spans[0][1] == "title"
        name = line.name if row.start == 0 else ""
        marked = is_title and line.section == self.current
        bar = Segment(_BAR if marked else " ", self._look("bar", base))
        shown = self._marked([Segment(name, self._look("name", base))], name, 0)
        pad = " " * max(0, line.hang - 1 - row_cells(shown) - (1 if name else 0))
        # the name is one cell in from the mark
        head = [Segment(" ", base), *shown, Segment(pad, base)] if name else [Segment(pad, base)]
        text = [
            Segment(part, self._look(look, base)) for part, look in _cut(line, row.start, row.end)
        ]
        return [bar, *head, *self._marked(text, line.text, row.start)]

    def _marked(self, segments: list[Segment], whole: str, start: int) -> list[Segment]:
        """Highlight the matches in a part of a line that begins at `start`."""
        if self._needle is None:
            return segments
        style = self.get_component_rich_style("sheet--match")
        spans = [
            (max(0, match.start() - start), match.end() - start, style)
            for match in self._needle.finditer(whole)
            if match.end() > start
        ]
        return restyled(segments, spans)

    def _look(self, name: str, base: Style) -> Style:
        return base + self.get_component_rich_style(f"sheet--{name}", partial=True)


def _cut(line: Line, start: int, end: int) -> Iterator[tuple[str, str]]:
    offset = 0
    for text, look in line.spans:
        piece = text[max(0, start - offset) : max(0, end - offset)]
        if piece:
            yield piece, look
        offset += len(text)
