"""The open section of a streamed answer: painted as cheaply as its size demands."""

from itertools import islice
from time import monotonic
from typing import Protocol

from ollm_tui.tui.transcript.painters.code import GrowingCode
from ollm_tui.tui.transcript.painters.paint import code_lines
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.plain import GrowingTail, GrowingText
from ollm_tui.tui.transcript.painters.rows import Row
from ollm_tui.tui.transcript.painters.sections import Kind, Section
from ollm_tui.tui.transcript.painters.table import (
    LONGEST_ROW,
    Cell,
    Columns,
    body_rows,
    head_rows,
    measure,
    measured_end,
    natural_widths,
    parse_row,
)

_LINES_AT_ONCE = 1024


class Growing(Protocol):
    """Rows of a section that is still written; those before `settled` are as they were."""

    rows: list[Row]
    settled: int

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Paint what is new; True when time ran out."""
        ...


class GrowingFence:
    """An open code block."""

    def __init__(self, section: Section, canvas: Canvas) -> None:
        self._code = GrowingCode(section.language, canvas)
        self._lines: list[str] = []
        self.rows = self._code.rows
        self.settled = 0

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Paint finished lines once."""
        self._code.settled = len(self.rows) if self.settled else 0
        lines = code_lines(section, len(self._lines))
        more = True
        while more:
            self._lines += islice(lines, _LINES_AT_ONCE)
            waits = len(self._lines) < len(section.lines) - (section.kind is Kind.FENCE)
            more = self._code.update(self._lines, "" if waits else partial) or waits
            if monotonic() >= deadline:
                break
        self.settled = self._code.settled
        return more


class GrowingTable:
    """An open table: rows are added below, and drawn again only when a column widens."""

    def __init__(self, canvas: Canvas) -> None:
        self.rows: list[Row] = []
        self.settled = 0
        self._canvas = canvas
        self._done = 0
        self._head: list[Cell] = []
        self._columns = Columns((), ())
        self._extra = 0
        self._is_measured = False
        self._tail: GrowingTail | None = None

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Draw the new rows."""
        del self.rows[len(self.rows) - self._extra :]
        self.settled = min(self.settled, len(self.rows))
        self._extra = 0
        lines = section.lines
        while self._done < len(lines):
            if self._done > 1 and len(lines[self._done]) > LONGEST_ROW:
                self._pass_long(lines[self._done])
            else:
                self._add(lines)
            if monotonic() > deadline:
                return self._done < len(lines)
        if len(partial) > LONGEST_ROW:
            return self._grow_tail(partial)
        self._tail = None
        if partial and self._columns.aligns:
            tail = list(body_rows(partial, self._head, self._columns, self._canvas))
            self.rows += tail
            self._extra = len(tail)
        return False

    def _pass_long(self, line: str) -> None:
        if not self._grow_tail(line):
            self._tail = None
            self._done += 1

    def _grow_tail(self, line: str) -> bool:
        """Show a row that is too long for cells as it is."""
        if self._tail is None:
            text = GrowingText(self._canvas.width, self._canvas.palette.text)
            self._tail = GrowingTail(self.rows, text, lambda row: row)
        more = self._tail.update(line)
        self.settled = min(self.settled, self._tail.settled)
        return more

    def _add(self, lines: list[str]) -> None:
        if self._done < 2 or not self._fits(lines):
            shown = lines[: max(self._done + 1, 2)]
            self._head, self._columns = measure(shown, self._canvas)
            self.rows[:] = head_rows(self._head, self._columns, self._canvas)
            for line in shown[2:]:
                self.rows += body_rows(line, self._head, self._columns, self._canvas)
            self.settled = 0
            self._done = len(shown)
            return
        line = lines[self._done]
        self.rows += body_rows(line, self._head, self._columns, self._canvas)
        self._done += 1

    def _fits(self, lines: list[str]) -> bool:
        """Does the next line leave the columns as they are?"""
        count = len(self._columns.aligns)
        self._is_measured = self._is_measured or self._done >= measured_end(lines, count)
        if self._is_measured or not self._columns.widths:
            return True
        natural = natural_widths([parse_row(lines[self._done], count, self._canvas)], count)
        return all(new <= old for new, old in zip(natural, self._columns.widths, strict=True))


class GrowingBlock:
    """Text of any other section that has become too long to be formatted for every frame."""

    def __init__(self, canvas: Canvas) -> None:
        self._text = GrowingText(canvas.width, canvas.palette.text)
        self.rows = self._text.rows
        self.settled = 0
        self._lines = 0
        self._chars = 0

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Wrap what is new."""
        parts: list[str] = []
        for line in section.lines[self._lines :]:
            parts += [line[self._chars :], "\n"]
            self._chars = 0
        self._lines = len(section.lines)
        parts.append(partial[self._chars :])
        self._chars = len(partial)
        self._text.grow("".join(parts))
        self._text.settled = len(self.rows) if self.settled else 0
        more = self._text.work(deadline)
        self.settled = self._text.settled
        return more


def growing(section: Section, canvas: Canvas) -> Growing:
    """The cheapest way to go on with a section."""
    match section.kind:
        case Kind.FENCE | Kind.INDENTED:
            return GrowingFence(section, canvas)
        case Kind.TABLE:
            return GrowingTable(canvas)
        case _:
            return GrowingBlock(canvas)
