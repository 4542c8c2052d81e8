"""Paints a streamed Markdown answer: closed sections once, the open one at most once a frame."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from time import monotonic

from ollm_tui.decode.clean import Cleaner
from ollm_tui.tui.widgets.painters.growing import Growing, growing
from ollm_tui.tui.widgets.painters.paint import section_rows
from ollm_tui.tui.widgets.painters.painter import Change, Offsets, line_anchor, locate_line
from ollm_tui.tui.widgets.painters.palette import Canvas
from ollm_tui.tui.widgets.painters.plain_painter import LineEnds
from ollm_tui.tui.widgets.painters.rows import BLANK, Row, common_prefix, common_suffix
from ollm_tui.tui.widgets.painters.sections import (
    Kind,
    Move,
    Section,
    Sectioner,
    classify,
    undecided,
)

OPEN_BUDGET = 4096
"""An open section longer than this is shown unformatted until it is closed."""
_TAKEN_AT_ONCE = 16_384
_TAB = 4
_LONG_LINE = 2000


@dataclass(slots=True)
class Part:
    """A section and its rows."""

    section: Section | None
    """None while only the unfinished line announces the section."""
    rows: list[Row] = field(default_factory=list)
    painted: Canvas | None = None
    """The canvas the final rows were painted for."""
    growing: Growing | None = None
    shown: tuple[int, int] = (-1, -1)
    """Source and partial characters the open rows stand for."""
    gap: int = 0

    @property
    def height(self) -> int:
        """Rows with the gap above."""
        return len(self.rows) + self.gap if self.rows else 0


@dataclass(slots=True)
class _Job:
    part: int
    source: Iterator[Row]
    rows: list[Row]
    progressive: bool


@dataclass(slots=True)
class _Jobs:
    """Parts that wait for their final painting, and the one that is under way."""

    waiting: deque[int] = field(default_factory=deque)
    current: _Job | None = None

    def __bool__(self) -> bool:
        return bool(self.waiting) or self.current is not None


def _expand(line: str) -> str:
    if "\t" not in line:
        return line
    return line.expandtabs(_TAB) if len(line) <= _LONG_LINE else line.replace("\t", " " * _TAB)


class MarkdownPainter:
    """The rows of one answer."""

    def __init__(self, canvas: Canvas) -> None:
        self.painted_chars = 0
        """Source characters painted so far, repeats included: a measure of the work done."""
        self._canvas = canvas
        self._sectioner = Sectioner()
        self._parts: list[Part] = []
        self._offsets = Offsets()
        self._queued = 0
        self._unseen = _Jobs()
        self._shown = _Jobs()
        self._incoming: deque[str] = deque()
        self._partial = ""
        self._ends = LineEnds()
        self._cleaner = Cleaner()
        self._finished = False
        self._ended = False
        self._change: Change | None = None

    # Text

    def append(self, text: str) -> None:
        """Take text as it came."""
        for start in range(0, len(text), _TAKEN_AT_ONCE):
            self._incoming.append(text[start : start + _TAKEN_AT_ONCE])

    def finish(self) -> None:
        """The unfinished line is a whole one now, and the open section closes."""
        self._finished = True

    def work(self, deadline: float) -> bool:
        """Take text, show the open section, paint what has closed."""
        self._take(deadline)
        more = bool(self._incoming) or self._finished is not self._ended
        self._run_jobs(self._unseen, deadline)
        if not (self._ended or more or self._unseen):
            more = self._preview(deadline)
        if not self._unseen:
            self._run_jobs(self._shown, deadline)
        return more or bool(self._unseen or self._shown) or self._open_waits()

    def _run_jobs(self, jobs: _Jobs, deadline: float) -> None:
        while jobs:
            self._run_job(jobs, deadline)
            if monotonic() >= deadline:
                break

    def _open_waits(self) -> bool:
        """Was the open section passed over in favour of closed ones?"""
        part = self._parts[-1] if self._parts else None
        if part is None or self._ended or part.section is None or part.section.closed:
            return False
        return part.shown != (part.section.chars, len(self._partial))

    def _take(self, deadline: float) -> None:
        while self._incoming:
            pieces = [self._incoming.popleft()]
            size = len(pieces[0])
            while self._incoming and size < _TAKEN_AT_ONCE:
                pieces.append(self._incoming.popleft())
                size += len(pieces[-1])
            self._take_text(self._cleaner.feed(self._ends.feed("".join(pieces))))
            if monotonic() > deadline:
                return
        if self._finished and not self._ended:
            self._take_text(self._cleaner.finish())
            if self._partial:
                self._feed(self._partial)
                self._partial = ""
            self._sectioner.finish()
            self._match_parts()
            self._drop_provisional()
            self._ended = True

    def _take_text(self, text: str) -> None:
        first, *others = text.split("\n")
        self._partial += first
        for line in others:
            self._feed(self._partial)
            self._partial = line

    def _feed(self, line: str) -> None:
        self._sectioner.feed(_expand(line))
        self._match_parts()

    def _match_parts(self) -> None:
        """One part per section; what has closed is queued for its final painting."""
        sections = self._sectioner.sections
        for index in range(max(self._queued - 1, 0), len(sections)):
            if index == len(self._parts):
                self._add_part(sections[index])
            part = self._parts[index]
            if part.section is None:
                self._bind(index, sections[index])
        while self._queued < len(sections) and sections[self._queued].closed:
            seen = bool(self._parts[self._queued].rows)
            (self._shown if seen else self._unseen).waiting.append(self._queued)
            self._queued += 1

    def _add_part(self, section: Section | None, gap: int = 0) -> None:
        part = Part(section, gap=gap if section is None else int(section.gap))
        self._parts.append(part)
        self._offsets.append(0)

    def _bind(self, index: int, section: Section) -> None:
        part = self._parts[index]
        part.section = section
        if part.gap != int(section.gap):
            part.gap = int(section.gap)
            self._resized(index, 0)

    def _drop_provisional(self) -> None:
        if self._parts and self._parts[-1].section is None:
            self._touch(Change(self._offsets.start(len(self._parts) - 1), None))
            self._parts.pop()
            self._offsets.pop()

    # The open section

    def _preview(self, deadline: float) -> bool:
        """Show the open section with the unfinished line."""
        partial = "" if undecided(self._partial) else _expand(self._partial)
        index = len(self._sectioner.sections) - 1
        move = self._sectioner.place(partial) if partial else None
        starts = move in {Move.START, Move.SPLIT}
        if not starts:
            self._drop_provisional()
        if self._sectioner.open is not None:
            joined = partial if move is Move.JOIN else ""
            more = self._show(index, self._sectioner.sections[index], joined, deadline)
            if more:
                return True
        return starts and self._show_start(partial, deadline)

    def _show_start(self, partial: str, deadline: float) -> bool:
        section = classify(partial)
        if section.kind is Kind.FENCE:
            return False
        if len(self._parts) == len(self._sectioner.sections):
            self._add_part(None, gap=int(bool(self._parts)))
        return self._show(len(self._parts) - 1, section, partial, deadline)

    def _show(self, index: int, section: Section, partial: str, deadline: float) -> bool:
        part = self._parts[index]
        size = (section.chars, len(self._partial))
        if part.shown == size and part.rows:
            return False
        if section.kind in {Kind.FENCE, Kind.INDENTED, Kind.TABLE} and section.lines:
            more = self._grow(index, section, partial, deadline)
        elif sum(size) <= OPEN_BUDGET:
            whole = replace(section, lines=[*section.lines, partial] if partial else section.lines)
            self.painted_chars += sum(size)
            self._set_rows(index, list(section_rows(whole, self._canvas)))
            more = False
        else:
            more = self._grow(index, section, partial, deadline)
        if not more:
            part.shown = size
        return more

    def _grow(self, index: int, section: Section, partial: str, deadline: float) -> bool:
        part = self._parts[index]
        fresh = part.growing is None
        if part.growing is None:
            part.growing = growing(section, self._canvas)
        before = part.height
        part.growing.settled = len(part.growing.rows)
        if fresh:
            part.growing.settled = 0
        more = part.growing.update(section, partial, deadline)
        part.rows = part.growing.rows
        self._resized(index, part.growing.settled, before)
        return more

    # Rows

    def _set_rows(self, index: int, rows: list[Row]) -> None:
        part = self._parts[index]
        old, before = part.rows, part.height
        same = common_prefix(old, rows)
        if same == len(rows) == len(old):
            return
        # Rows that look the same stay the same objects, so their strips stay cached.
        rows[:same] = old[:same]
        part.rows = rows
        part.growing = None
        if len(rows) == len(old):
            tail = common_suffix(old, rows, len(rows) - same)
            base = self._offsets.start(index) + part.gap
            self._touch(Change(base + same, base + len(rows) - tail))
            return
        self._resized(index, same, before)

    def _resized(self, index: int, same: int, before: int = -1) -> None:
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

    # Final painting

    def _run_job(self, jobs: _Jobs, deadline: float) -> None:
        job = jobs.current or self._next_job(jobs.waiting.popleft())
        if job is None:
            return
        part = self._parts[job.part]
        before, count = part.height, len(job.rows)
        done = False
        while monotonic() < deadline or count == len(job.rows):
            row = next(job.source, None)
            if row is None:
                done = True
                break
            job.rows.append(row)
        if job.progressive:
            part.rows = job.rows
            self._resized(job.part, count, before)
        elif done:
            self._set_rows(job.part, job.rows)
        if done:
            part.growing = None
        jobs.current = None if done else job

    def _next_job(self, index: int) -> _Job | None:
        part = self._parts[index]
        if part.section is None or part.painted is self._canvas:
            return None
        if part.shown == (part.section.chars, 0) and part.growing is None and part.rows:
            part.painted = self._canvas
            return None
        part.painted = self._canvas
        self.painted_chars += part.section.chars
        return _Job(index, section_rows(part.section, self._canvas), [], not part.rows)

    def restyle(self, canvas: Canvas, first: int, end: int) -> None:
        """Paint everything again, the rows between `first` and `end` before the others."""
        self._canvas = canvas
        self._unseen = _Jobs()
        low = self._offsets.find(first)[0] if self._parts else 0
        high = self._offsets.find(end)[0] + 1 if self._parts else 0
        self._shown = _Jobs(deque(_visible_first(low, high, self._queued)))
        for part in self._parts:
            part.shown = (-1, -1)
            part.growing = None

    # What the transcript asks

    def take_change(self) -> Change | None:
        """What has changed since the last call."""
        change, self._change = self._change, None
        return change

    @property
    def row_count(self) -> int:
        """How many rows there are now."""
        return self._offsets.total

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


def _visible_first(low: int, high: int, count: int) -> Iterable[int]:
    high = min(high, count)
    yield from range(low, high)
    yield from range(high, count)
    yield from range(min(low, count))
