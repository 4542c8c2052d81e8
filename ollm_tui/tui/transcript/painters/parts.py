"""The sections of one answer with their rows, one below the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ollm_tui.tui.transcript.painters.growing import Growing
from ollm_tui.tui.transcript.painters.painter import Change, Offsets, line_anchor, locate_line
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.rows import BLANK, Row, common_prefix, common_suffix
from ollm_tui.tui.transcript.painters.sections import Section

_COMPARED = 2000
"""Rows beyond these are taken as new; to compare them would take as long as to show them."""


@dataclass(slots=True)
class Part:
    """A section and its rows."""

    section: Section | None
    """None while only the unfinished line announces the section."""
    rows: list[Row] = field(default_factory=list)
    rows_for: Canvas | None = None
    """The canvas that all rows were painted for."""
    painted: Canvas | None = None
    """The canvas of the final rows, painted or under way."""
    growing: Growing | None = None
    shown: tuple[int, int] = (-1, -1)
    """Source and partial characters the open rows stand for."""
    gap: int = 0

    @property
    def height(self) -> int:
        """Rows with the gap above."""
        return len(self.rows) + self.gap if self.rows else 0


class Parts:
    """All parts, where their rows are, and what has changed."""

    def __init__(self) -> None:
        self.painted_chars = 0
        """Characters painted so far, repeats included: a measure of the work done."""
        self._parts: list[Part] = []
        self._offsets = Offsets()
        self._change: Change | None = None

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, index: int) -> Part:
        return self._parts[index]

    def add(self, section: Section | None, gap: int) -> None:
        """Put an empty part at the end."""
        self._parts.append(Part(section, gap=gap))
        self._offsets.append(0)

    def bind(self, index: int, section: Section) -> None:
        """Give a part its section."""
        part = self._parts[index]
        part.section = section
        if part.gap != int(section.gap):
            part.gap = int(section.gap)
            self.resized(index, 0)

    def drop_unbound(self) -> None:
        """Take the last part away if it has no section."""
        if self._parts and self._parts[-1].section is None:
            self._touch(Change(self._offsets.start(len(self._parts) - 1), None))
            self._parts.pop()
            self._offsets.pop()

    def forget_looks(self) -> None:
        """The canvas is another: nothing that is still open can be gone on with."""
        for part in self._parts:
            part.shown = (-1, -1)
            part.growing = None

    def set_rows(self, index: int, rows: list[Row]) -> None:
        """Show other rows; those that look the same stay the same objects."""
        part = self._parts[index]
        old, before = part.rows, part.height
        same = common_prefix(old, rows, _COMPARED)
        if same == len(rows) == len(old):
            return
        # Their strips stay cached.
        rows[:same] = old[:same]
        part.rows = rows
        part.growing = None
        if len(rows) == len(old):
            tail = common_suffix(old, rows, min(len(rows) - same, _COMPARED))
            self.changed(index, same, len(rows) - tail)
            return
        self.resized(index, same, before)

    def changed(self, index: int, first: int, end: int) -> None:
        """Rows of a part are new; there are as many as before."""
        base = self._offsets.start(index) + self._parts[index].gap
        self._touch(Change(base + first, base + end))

    def resized(self, index: int, same: int, before: int = -1) -> None:
        """Rows of a part from `same` on are new, perhaps more or fewer than before."""
        part = self._parts[index]
        start = self._offsets.start(index)
        first = start + part.gap + same if same else start
        end = start + part.height if part.height == before else None
        if end is None or first < end:
            self._touch(Change(first, end))
        self._offsets.set(index, part.height)

    def _touch(self, change: Change) -> None:
        self._change = change if self._change is None else self._change.merge(change)

    def take_change(self) -> Change | None:
        """What has changed since the last call."""
        change, self._change = self._change, None
        return change

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return self._offsets.total

    def painted(self) -> Iterator[tuple[Section, int, Sequence[Row]]]:
        """The sections that have rows, each with the number of its first row."""
        for index, part in enumerate(self._parts):
            if part.section is not None and part.rows:
                yield part.section, self._offsets.start(index) + part.gap, part.rows

    def find(self, row: int) -> int:
        """The part a row is in."""
        return self._offsets.find(row)[0]

    def row(self, index: int) -> Row:
        """One row; the gaps between sections are rows too."""
        number, offset = self._offsets.find(index)
        part = self._parts[number]
        return BLANK if offset < part.gap else part.rows[offset - part.gap]

    def anchor(self, row: int) -> tuple[int, int, int]:
        """Section, line and characters before a row."""
        if not self._parts:
            return 0, 0, 0
        number, offset = self._offsets.find(row)
        part = self._parts[number]
        if offset < part.gap or not part.rows:
            return number, -1, 0
        return (number, *line_anchor(part.rows, offset - part.gap))

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """The row of such a place."""
        number, line, before = anchor
        if number >= len(self._parts):
            return 0
        part = self._parts[number]
        start = self._offsets.start(number)
        return start if line < 0 else start + part.gap + locate_line(part.rows, line, before)
