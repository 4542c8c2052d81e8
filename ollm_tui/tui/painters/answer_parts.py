"""The sections of one answer with their rows, and the painting of closed ones in slices.

A long part is painted twice: its plain rows come first, its formatting when there is time.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from itertools import chain, islice
from time import monotonic

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.painters.painter import (
    Change,
    Offsets,
    PaintedRows,
    line_anchor,
    locate_line,
)
from ollm_tui.tui.painters.rows import (
    BLANK,
    Canvas,
    Row,
    Step,
    common_prefix,
    common_suffix,
)
from ollm_tui.tui.painters.section_rows import Growing, rough_rows, section_rows
from ollm_tui.tui.painters.sections import Kind, Section

_COMPARED = 2000
"""Rows beyond these count as new; comparing them would take as long as showing them."""


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
    """Source and partial characters that the open rows show."""
    gap: int = 0

    @property
    def height(self) -> int:
        """Rows with the gap above."""
        return len(self.rows) + self.gap if self.rows else 0


class Parts(PaintedRows):
    """All parts, where their rows are, and what has changed."""

    def __init__(self) -> None:
        self.painted_chars = 0
        """Characters painted so far, repeats included: a measure of the work done."""
        self._parts: list[Part] = []
        self._offsets = Offsets()

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
        """Remove the last part if it has no section."""
        if self._parts and self._parts[-1].section is None:
            self.touch(Change(self._offsets.start(len(self._parts) - 1), None))
            self._parts.pop()
            self._offsets.pop()

    def forget_looks(self) -> None:
        """Start open sections over, for another canvas."""
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
        """Report that rows of a part are new; there are as many as before."""
        base = self._offsets.start(index) + self._parts[index].gap
        self.touch(Change(base + first, base + end))

    def resized(self, index: int, same: int, before: int = -1) -> None:
        """Report that rows of a part from `same` on are new, perhaps more or fewer than before."""
        part = self._parts[index]
        start = self._offsets.start(index)
        first = start + part.gap + same if same else start
        end = start + part.height if part.height == before else None
        if end is None or first < end:
            self.touch(Change(first, end))
        self._offsets.set(index, part.height)

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
        """The row that an anchor is in."""
        number, line, before = anchor
        if number >= len(self._parts):
            return 0
        part = self._parts[number]
        start = self._offsets.start(number)
        return start if line < 0 else start + part.gap + locate_line(part.rows, line, before)


class _Mode(Enum):
    APPEND = auto()
    """Rows are seen as they come."""
    OVERLAY = auto()
    """Each row replaces the one at its place: code has the same rows with and without colours."""
    SWAP = auto()
    """The old rows stay until all new ones are there."""


@dataclass(slots=True)
class _Job:
    index: int
    source: Iterator[Step]
    rows: list[Row]
    """The rows that are shown, or will be."""
    mode: _Mode
    at: int
    """The next row."""


@dataclass(slots=True)
class _Queue:
    waiting: deque[int] = field(default_factory=deque)
    current: _Job | None = None

    def __bool__(self) -> bool:
        return bool(self.waiting) or self.current is not None


class Jobs:
    """Parts that wait for their final rows."""

    def __init__(self, parts: Parts, canvas: Canvas) -> None:
        self._parts = parts
        self._canvas = canvas
        self._unseen = _Queue()  # without rows
        self._shown = _Queue()  # with rows that are not final
        self._refine = _Queue()  # shown in full: only formatting is missing

    @property
    def hidden(self) -> bool:
        """Whether there is a closed section that is not fully shown."""
        return bool(self._unseen)

    @property
    def rough(self) -> bool:
        """Whether all text is shown, but not all of it in its final look."""
        return bool(self._refine) and not (self._unseen or self._shown)

    def __bool__(self) -> bool:
        return bool(self._unseen or self._shown or self._refine)

    def add(self, index: int) -> None:
        """Queue a part that has closed."""
        (self._shown if self._parts[index].rows else self._unseen).waiting.append(index)

    def restart(self, canvas: Canvas, order: Iterable[int]) -> None:
        """Paint all these parts again."""
        self._canvas = canvas
        self._unseen = _Queue()
        self._refine = _Queue()
        self._shown = _Queue(deque(order))

    def show(self, deadline: float) -> None:
        """Paint what is not shown yet."""
        self._run(self._unseen, deadline)

    def improve(self, deadline: float) -> None:
        """Paint what is shown in its final look, the long parts last."""
        if not self._unseen:
            self._run(self._shown, deadline)
        if not (self._unseen or self._shown):
            self._run(self._refine, deadline)

    def _run(self, queue: _Queue, deadline: float) -> None:
        while queue:
            job = queue.current or self._next(queue)
            if job is not None:
                queue.current = None if self._work(job, deadline) else job
            if monotonic() >= deadline:
                break

    def _next(self, queue: _Queue) -> _Job | None:
        index = queue.waiting.popleft()
        part = self._parts[index]
        if part.section is None:
            return None
        if queue is self._refine:
            return self._job(index, part, section_rows(part.section, self._canvas))
        if part.painted is self._canvas:
            return None
        part.painted = self._canvas
        complete = part.shown == (part.section.chars, 0) and bool(part.rows)
        if complete and part.growing is None and not part.section.is_cut_formula:
            return None
        rough = rough_rows(part.section, self._canvas)
        if rough is None:
            return self._job(index, part, section_rows(part.section, self._canvas))
        self._refine.waiting.append(index)
        return None if complete else self._rough_job(index, part, rough)

    def _rough_job(self, index: int, part: Part, rough: Iterator[Row]) -> _Job:
        job = self._job(index, part, rough)
        if job.mode is _Mode.OVERLAY:
            # The rows of the growing block are right but for the last, which may have gone on.
            job.at = len(part.rows) - 1
            job.source = chain((None for _ in islice(rough, job.at)), rough)
        return job

    def _job(self, index: int, part: Part, source: Iterator[Step]) -> _Job:
        if not part.rows:
            part.rows_for = self._canvas
            return _Job(index, source, part.rows, _Mode.APPEND, 0)
        is_code = part.section is not None and part.section.kind in {Kind.FENCE, Kind.INDENTED}
        if is_code and part.rows_for is self._canvas:
            return _Job(index, source, part.rows, _Mode.OVERLAY, 0)
        return _Job(index, source, [], _Mode.SWAP, 0)

    def _work(self, job: _Job, deadline: float) -> bool:
        """Continue a job; True when it is done."""
        part = self._parts[job.index]
        first, before = job.at, part.height
        done = False
        for row in job.source:
            if row is not None:
                self._put(job, row)
            if monotonic() >= deadline:
                break
        else:
            done = True
        self._show(job, first, before, done=done)
        return done

    def _put(self, job: _Job, row: Row) -> None:
        if job.at < len(job.rows):
            job.rows[job.at] = row
        else:
            job.rows.append(row)
        job.at += 1
        self._parts.painted_chars += sum(len(segment.text) for segment in row.segments)

    def _show(self, job: _Job, first: int, before: int, *, done: bool) -> None:
        part = self._parts[job.index]
        if done:
            part.growing = None
            part.rows_for = self._canvas
        if job.mode is _Mode.SWAP:
            if done:
                self._parts.set_rows(job.index, job.rows)
            return
        if done:
            del job.rows[job.at :]
        part.rows = job.rows
        if part.height == before:
            self._parts.changed(job.index, first, job.at)
        else:
            self._parts.resized(job.index, first, before)
