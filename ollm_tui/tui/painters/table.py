"""Tables drawn into a width: as they are, with wrapped cells, or stacked when too thin."""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest

from rich.segment import Segment

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters.formulas import load_steps
from ollm_tui.tui.painters.inline import formatted_at_once
from ollm_tui.tui.painters.plain import plain_rows
from ollm_tui.tui.painters.rows import BOLD, Canvas, Row, Span, Step, row_cells
from ollm_tui.tui.painters.sections import MAX_HEAD_LENGTH, split_cells
from ollm_tui.tui.painters.wrapping import wrap_spans, wrapped_rows

Cell = list[Span]

_MEASURED_CELLS = 600
_MEASURED_ROWS = 120
_MEASURED_CHARS = 10_000
MAX_ROW_LENGTH = MAX_HEAD_LENGTH
"""A source line longer than this is shown as it is."""
MAX_CELL_WIDTH = 60
"""Cells of a column of a table that scrolls sideways; longer texts are wrapped."""
_BETWEEN = " │ "
_THINNEST = 5


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table's cells go; `widths` is empty when the table is stacked."""

    widths: tuple[int, ...]
    aligns: tuple[str, ...]


def parse_row(line: str, columns: int, canvas: Canvas) -> list[Cell]:
    """The cells of one source line; surplus ones go into the last, so that nothing is lost."""
    style = canvas.palette.text
    cells = split_cells(line)
    cells[columns - 1 :] = [" | ".join(cells[columns - 1 :])]
    return [
        [span for part in formatted_at_once(cell, style, canvas) for span in part] for cell in cells
    ]


def parse_aligns(line: str) -> tuple[str, ...]:
    """Left, right or center of each column, from the line below the head."""
    kinds = {(True, True): "center", (False, True): "right"}
    cells = split_cells(line)
    return tuple(kinds.get((cell[:1] == ":", cell[-1:] == ":"), "left") for cell in cells)


def natural_widths(rows: Sequence[list[Cell]], count: int) -> list[int]:
    """The widest cell of each column."""
    widths = [1] * count
    for row in rows:
        for index, cell in enumerate(row):
            widths[index] = max(widths[index], row_cells(Segment(*span) for span in cell))
    return widths


def fit(natural: Sequence[int], aligns: tuple[str, ...], width: int) -> Columns:
    """Share the width out: narrow columns get what they need, wide ones an equal share."""
    room = width - len(_BETWEEN) * (len(natural) - 1)
    if sum(natural) <= room:
        return Columns(tuple(natural), aligns)
    if room < _THINNEST * len(natural):
        return Columns((), aligns)
    widths = [0] * len(natural)
    left = len(natural)
    for index in sorted(range(left), key=natural.__getitem__):
        widths[index] = min(natural[index], room // left)
        room -= widths[index]
        left -= 1
    return Columns(tuple(widths), aligns)


def head_rows(head: list[Cell], columns: Columns, canvas: Canvas) -> Iterator[Row]:
    """The head and the line below it."""
    if not columns.widths:
        return
    bold = [[(text, style + BOLD) for text, style in cell] for cell in head]
    yield from _drawn(bold, columns, canvas)
    line = "─┼─".join("─" * width for width in columns.widths)
    yield Row((Segment(line, canvas.palette.rule),), wide=len(line) > canvas.width)


def body_rows(line: str, head: list[Cell], columns: Columns, canvas: Canvas) -> Iterator[Row]:
    """One source line of the table, as many screen rows as it takes."""
    if len(line) > MAX_ROW_LENGTH:
        yield from plain_rows(line, canvas.width, canvas.palette.text)
        return
    cells = parse_row(line, len(columns.aligns), canvas)
    yield from _drawn(cells, columns, canvas) if columns.widths else _stacked(cells, head, canvas)


def _drawn(cells: list[Cell], columns: Columns, canvas: Canvas) -> Iterator[Row]:
    between = Segment(_BETWEEN, canvas.palette.rule)
    columns_lines = [
        [segments for segments, _join in wrap_spans(cell, width)]
        for cell, width in zip(cells, columns.widths, strict=False)
    ]
    columns_lines += [[]] * (len(columns.widths) - len(columns_lines))
    is_wide = sum(columns.widths) + len(_BETWEEN) * (len(columns.widths) - 1) > canvas.width
    for row in zip_longest(*columns_lines, fillvalue=list[Segment]()):
        out: list[Segment] = []
        for segments, width, align in zip(row, columns.widths, columns.aligns, strict=True):
            out += [between] if out else []
            out += _aligned(segments, width, align, canvas)
        yield Row(tuple(out), wide=is_wide)


def _aligned(segments: list[Segment], width: int, align: str, canvas: Canvas) -> list[Segment]:
    space = max(width - row_cells(segments), 0)
    before = space if align == "right" else space // 2 if align == "center" else 0
    left = [Segment(" " * before, canvas.palette.text)] if before else []
    right = [Segment(" " * (space - before), canvas.palette.text)] if space > before else []
    return [*left, *segments, *right]


def _stacked(cells: list[Cell], head: list[Cell], canvas: Canvas) -> Iterator[Row]:
    """`head: value` lines for a table with more columns than fit; empty cells are left out."""
    palette = canvas.palette
    for name, cell in zip(head, cells, strict=False):
        if not cell or not any(text for text, _style in cell):
            continue
        title = [(text, style + BOLD) for text, style in name]
        yield from wrapped_rows([*title, (": ", palette.dim), *cell], canvas.width)
    yield Row((Segment("─" * min(canvas.width, 20), palette.rule),))


def measured_end(lines: Sequence[str], columns: int) -> int:
    """The first line that does not widen a column any more, so that a growing table settles."""
    last = 2 + max(min(_MEASURED_ROWS, _MEASURED_CELLS // columns), 2)
    room = _MEASURED_CHARS
    for number, line in enumerate(islice(lines, 2, last), 2):
        room -= len(line)
        if room < 0:
            return number
    return last


def measure(lines: Sequence[str], canvas: Canvas) -> tuple[list[Cell], Columns]:
    """The head and the columns of a table from its source lines, head and delimiter first."""
    aligns = parse_aligns(lines[1])
    count = len(aligns)
    first = [line for line in lines[2 : measured_end(lines, count)] if len(line) <= MAX_ROW_LENGTH]
    head, *body = [parse_row(line, count, canvas) for line in (lines[0], *first)]
    natural = natural_widths([head, *body], count)
    if not canvas.folds_tables:
        return head, Columns(tuple(min(each, MAX_CELL_WIDTH) for each in natural), aligns)
    return head, fit(natural, aligns, canvas.width)


def table_rows(lines: Sequence[str], canvas: Canvas) -> Iterator[Step]:
    """A whole table."""
    measured = measured_end(lines, len(parse_aligns(lines[1])))
    for line in islice(lines, measured):
        yield from load_steps(line, canvas)
    head, columns = measure(lines, canvas)
    yield from head_rows(head, columns, canvas)
    for number, line in enumerate(islice(lines, 2, None), 2):
        if number >= measured:
            yield from load_steps(line, canvas)
        yield from body_rows(line, head, columns, canvas)
