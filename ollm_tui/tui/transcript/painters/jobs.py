"""Final painting of closed sections, in slices.

A part waits in one of three queues: it has no rows yet (`unseen`), it has rows that are not final
(`shown`), or it is shown in full and only its formatting is missing (`refine`: when idle). A long
part goes through two of them: its plain rows come first.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain
from time import monotonic

from ollm_tui.tui.transcript.painters.paint import rough_rows, section_rows
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.parts import Part, Parts
from ollm_tui.tui.transcript.painters.rows import Row, Step
from ollm_tui.tui.transcript.painters.sections import Kind, Section


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
    """Those that are seen, or will be."""
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
        self._unseen = _Queue()
        self._shown = _Queue()
        self._refine = _Queue()

    @property
    def hidden(self) -> bool:
        """Is there a closed section that is not fully seen?"""
        return bool(self._unseen)

    @property
    def rough(self) -> bool:
        """Is all text seen, but not all of it in its final look?"""
        return bool(self._refine) and not (self._unseen or self._shown)

    def __bool__(self) -> bool:
        return bool(self._unseen or self._shown or self._refine)

    def add(self, index: int) -> None:
        """A part has closed."""
        (self._shown if self._parts[index].rows else self._unseen).waiting.append(index)

    def restart(self, canvas: Canvas, order: Iterable[int]) -> None:
        """Paint all these parts again."""
        self._canvas = canvas
        self._unseen = _Queue()
        self._refine = _Queue()
        self._shown = _Queue(deque(order))

    def show(self, deadline: float) -> None:
        """Paint what is not seen."""
        self._run(self._unseen, deadline)

    def improve(self, deadline: float) -> None:
        """Paint what is seen in its final look, the long parts last."""
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
        if complete and part.growing is None:
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
            job.source = chain(_skipped(rough, len(part.rows) - 1), rough)
            job.at = len(part.rows) - 1
        return job

    def _job(self, index: int, part: Part, source: Iterator[Step]) -> _Job:
        if not part.rows:
            part.rows_for = self._canvas
            return _Job(index, source, part.rows, _Mode.APPEND, 0)
        if part.rows_for is self._canvas and part.section is not None and _is_code(part.section):
            return _Job(index, source, part.rows, _Mode.OVERLAY, 0)
        return _Job(index, source, [], _Mode.SWAP, 0)

    def _work(self, job: _Job, deadline: float) -> bool:
        """Go on with a job; True when it is done."""
        part = self._parts[job.index]
        first, before = job.at, part.height
        done = False
        while True:
            try:
                row = next(job.source)
            except StopIteration:
                done = True
                break
            if row is not None:
                self._put(job, row)
            if monotonic() >= deadline:
                break
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


def _is_code(section: Section) -> bool:
    return section.kind in {Kind.FENCE, Kind.INDENTED}


def _skipped(rows: Iterator[Row], count: int) -> Iterator[None]:
    """Pass over rows, with a chance to stop at each."""
    for _ in range(count):
        if next(rows, None) is None:
            return
        yield None
