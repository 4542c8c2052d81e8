"""From a section of Markdown to its rows; an open one is painted as cheaply as its size demands."""

from collections.abc import Iterator
from itertools import chain, islice
from time import monotonic
from typing import Protocol

from ollm_tui.decode.lexing import find_lexer, is_loaded
from ollm_tui.tui.painters.code import (
    GrowingCode,
    code_lines,
    code_rows,
    label_row,
    note_row,
    plain_code_rows,
)
from ollm_tui.tui.painters.flow import FlowPainter, heading_style, rule_row, text_rows
from ollm_tui.tui.painters.flow import too_costly as flow_too_costly
from ollm_tui.tui.painters.formulas import closes_block, formula_rows, is_ready
from ollm_tui.tui.painters.inline import too_costly
from ollm_tui.tui.painters.plain import GrowingTail, GrowingText, plain_rows
from ollm_tui.tui.painters.rows import Canvas, Row, Step
from ollm_tui.tui.painters.sections import Kind, Section
from ollm_tui.tui.painters.table import (
    MAX_ROW_LENGTH,
    Cell,
    Columns,
    body_rows,
    head_rows,
    measure,
    measured_end,
    natural_widths,
    parse_row,
    table_rows,
)

PLAIN_FIRST = 8_000
CODE_PLAIN_FIRST = 20_000
"""A section with more characters is shown without formatting first, and refined when idle."""


def _closed_code(section: Section) -> Iterator[str]:
    """All lines of a block; one that is only indented does not end with blank lines."""
    lines = code_lines(section)
    if section.kind is Kind.FENCE:
        return lines
    count = len(section.lines)
    while count and not section.lines[count - 1].strip():
        count -= 1
    return islice(lines, count)


def rough_rows(section: Section, canvas: Canvas) -> Iterator[Row] | None:
    """The first rows of a section that takes long to format; None for all others."""
    if section.kind in {Kind.FENCE, Kind.INDENTED}:
        if is_loaded(section.language) and (
            section.chars <= CODE_PLAIN_FIRST or find_lexer(section.language) is None
        ):
            return None
        code = plain_code_rows(_closed_code(section), canvas, at_least=False)
        return chain([label_row(section.language, canvas)], code)
    is_short = section.chars <= PLAIN_FIRST or section.kind in {Kind.RULE, Kind.TABLE}
    if is_short or _stays_rough(section):
        return None
    return plain_rows(section.source, canvas.width, canvas.palette.text)


def _stays_rough(section: Section) -> bool:
    """Whether a section is too much to be formatted at all."""
    if section.kind in {Kind.ITEM, Kind.QUOTE}:
        return flow_too_costly(section.source) or too_costly(section.source)
    return too_costly(section.source)


def section_rows(section: Section, canvas: Canvas) -> Iterator[Step]:
    """Paint one section row by row, so that the caller can stop and go on."""
    match section.kind:
        case Kind.RULE:
            yield rule_row(canvas)
        case Kind.FENCE | Kind.INDENTED:
            yield from code_rows(_closed_code(section), section.language, canvas)
        case Kind.TABLE:
            yield from table_rows(section.lines, canvas)
        case Kind.FORMULA if canvas.maths and closes_block(section.lines):
            yield from formula_rows(section.source, canvas)
        case Kind.FORMULA if canvas.maths and not section.closed:
            yield from plain_rows(section.source, canvas.width, canvas.palette.text)
        case _ if _stays_rough(section):
            yield from _unformatted(section, "too long to be formatted", canvas)
        case Kind.HEADING:
            yield from _heading(section, canvas)
        case Kind.PARAGRAPH | Kind.FORMULA:
            yield from text_rows(section.source.strip(), canvas.palette.text, canvas)
        case Kind.ITEM | Kind.QUOTE:
            rows = FlowPainter(canvas, number=section.number).paint(section.source)
            yield from rows or _unformatted(section, "nested too deep to be formatted", canvas)


def _heading(section: Section, canvas: Canvas) -> Iterator[Step]:
    if len(section.lines) > 1:
        text = " ".join(line.strip() for line in section.lines[:-1])
        level = 1 if "=" in section.lines[-1] else 2
    else:
        line = section.lines[0].strip()
        text = line.lstrip("#")
        level = len(line) - len(text)
        text = text.strip()
        bare = text.rstrip("#")
        text = bare.strip() if bare.endswith(" ") or not bare else text
    return text_rows(text, heading_style(level, canvas.palette), canvas)


def _unformatted(section: Section, why: str, canvas: Canvas) -> Iterator[Row]:
    yield from plain_rows(section.source, canvas.width, canvas.palette.text)
    yield note_row(why, canvas)


class Growing(Protocol):
    """Rows of a section that still grows; those before `settled` are as they were."""

    rows: list[Row]
    settled: int

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Paint what is new; True when time ran out."""


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
            if self._done <= 1 or len(lines[self._done]) <= MAX_ROW_LENGTH:
                if not is_ready(lines[self._done], self._canvas, deadline):
                    return True
                self._add(lines)
            elif not self._grow_tail(lines[self._done]):
                self._tail = None
                self._done += 1
            if monotonic() > deadline:
                return self._done < len(lines)
        if len(partial) > MAX_ROW_LENGTH:
            return self._grow_tail(partial)
        self._tail = None
        if partial and self._columns.aligns:
            tail = list(body_rows(partial, self._head, self._columns, self._canvas))
            self.rows += tail
            self._extra = len(tail)
        return False

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
        self.rows += body_rows(lines[self._done], self._head, self._columns, self._canvas)
        self._done += 1

    def _fits(self, lines: list[str]) -> bool:
        """Whether the next line leaves the columns as they are."""
        count = len(self._columns.aligns)
        self._is_measured = self._is_measured or self._done >= measured_end(lines, count)
        if self._is_measured or not self._columns.widths:
            return True
        natural = natural_widths([parse_row(lines[self._done], count, self._canvas)], count)
        return all(new <= old for new, old in zip(natural, self._columns.widths, strict=True))


class GrowingBlock(GrowingText):
    """Text of any other section that has become too long to be formatted for every frame."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas.width, canvas.palette.text)
        self._lines = self._chars = 0

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Wrap what is new."""
        parts: list[str] = []
        for line in section.lines[self._lines :]:
            parts += [line[self._chars :], "\n"]
            self._chars = 0
        self._lines = len(section.lines)
        parts.append(partial[self._chars :])
        self._chars = len(partial)
        self.grow("".join(parts))
        return self.work(deadline)


def growing(section: Section, canvas: Canvas) -> Growing:
    """The cheapest way to go on with a section."""
    match section.kind:
        case Kind.FENCE | Kind.INDENTED:
            return GrowingCode(section, canvas)
        case Kind.TABLE:
            return GrowingTable(canvas)
        case _:
            return GrowingBlock(canvas)
