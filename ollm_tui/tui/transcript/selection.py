"""Selecting text in painted rows: positions, words, lines, and what is copied."""

import re
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Final, TypeAlias

from textual.geometry import Offset
from textual.scroll_view import ScrollView
from textual.selection import Selection

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters import Canvas, Row, address_at, at_cell, source_of
from ollm_tui.tui.transcript.block import MARGIN, Block
from ollm_tui.tui.transcript.block_list import BlockList, address, unpacked
from ollm_tui.tui.transcript.paint_queue import PaintQueue

Selected: TypeAlias = tuple[Row, tuple[int, int]]
"""A row, and the first and last selected code point of its strip; -1 is the whole rest."""
_Formula: TypeAlias = tuple[str, int]
_Piece: TypeAlias = tuple[str, _Formula | None]
_WORD: Final = re.compile(r"[\w./:@~-]+")
_ALL: Final = 1 << 32  # more rows than any block has
_AT_ONCE: Final = 2000  # rows that are read in no time


@dataclass(eq=False)
class RowSelection:
    """What is selected in a view of rows.

    Positions are (code point of the strip, packed address of the row).
    """

    _view: ScrollView
    _block_list: BlockList
    _queue: PaintQueue

    @property
    def current(self) -> Selection | None:
        """What is selected; None if nothing is."""
        return self._view.text_selection

    def select(self, selection: Selection | None) -> None:
        """Select this and nothing else on the screen."""
        self._view.screen.selections = {} if selection is None else {self._view: selection}

    def clear(self) -> None:
        """Select nothing if there is a selection here."""
        if self._view.is_attached and self._view.text_selection is not None:
            self._view.screen.clear_selection()

    def position_at(self, x: int, y: int) -> Offset:
        """The position in the text at a cell of the view."""
        number = min(self._view.scroll_offset.y + y, max(self._block_list.total - 1, 0))
        shown = self._block_list.row_at(number)
        if shown is None:
            return Offset(0, 0)
        packed = address(*self._block_list.find(number))
        cell = x - MARGIN + (self._block_list.shift_of(shown[0]) if x >= MARGIN else 0)
        return Offset(at_cell(shown[0].text, cell) + min(x, MARGIN), packed)

    def link_at(self, x: int, y: int) -> str | None:
        """The address of the link at a cell of the view."""

        def row(number: int) -> Row | None:
            shown = self._block_list.row_at(number)
            return shown and shown[0]

        number = self._view.scroll_offset.y + y
        return address_at(row, number, self.position_at(x, y).x - MARGIN)

    def select_around(self, x: int, y: int, *, words: bool) -> None:
        """Select the word at a cell of the view, or the line with all its rows."""
        position = self.position_at(x, y)
        if not self._block_list.blocks:
            return
        index, offset = unpacked(position.y)
        if words:
            text, at = self._block_list.blocks[index].row(offset).text, position.x - MARGIN
            spans = (word.span() for word in _WORD.finditer(text))
            start, end = next((span for span in spans if span[0] <= at < span[1]), (at, at + 1))
            first, last = Offset(MARGIN + start, position.y), Offset(MARGIN + end, position.y)
            self.select(Selection(first, last))
        else:
            self.select(self._line_around(index, offset))

    def _line_around(self, index: int, offset: int) -> Selection:
        block = self._block_list.blocks[index]
        first = last = offset
        while first > 0 and block.row(first).join is not None:
            first -= 1
        while last + 1 < block.height and block.row(last + 1).join is not None:
            last += 1
        end = Offset(MARGIN + len(block.row(last).text), address(index, last))
        return Selection(Offset(0, address(index, first)), end)

    def rows(self, selection: Selection) -> Iterator[Selected | None]:
        """The selected rows with their spans; None now and then while a block is painted.

        Blocks without rows are painted for this alone, so that a caller with much to copy can
        pause. A block that is removed meanwhile is included all the same.
        """
        canvas = self._block_list.canvas
        if canvas is None:
            return
        for index, block, rows in list(self._selected_blocks(selection)):
            for offset, row in self._rows_of(index, block, canvas, rows):
                if row is None:
                    yield None
                elif span := selection.get_span(address(index, offset)):
                    yield row, span

    def _selected_blocks(self, selection: Selection) -> Iterator[tuple[int, Block, range]]:
        """The blocks with their indexes and the selected rows, which may be more than they have."""
        first, low = (0, 0)
        last, high = (len(self._block_list) - 1, _ALL)
        if selection.start is not None:
            first, low = unpacked(max(selection.start.y, 0))
        if selection.end is not None:
            last, high = unpacked(max(selection.end.y, 0))
        for index in range(first, min(last + 1, len(self._block_list))):
            begin = low if index == first else 0
            end = high + 1 if index == last else _ALL
            yield index, self._block_list.blocks[index], range(begin, end)

    def _rows_of(
        self, index: int, block: Block, canvas: Canvas, wanted: range
    ) -> Iterator[tuple[int, Row | None]]:
        """Rows of a block with their offsets; None while there is more to paint."""
        # The block's own rows are used while they are complete and unchanged. From where that ends
        # they come from another painter: at the same width they are the same.
        shown, offset = copy(block), wanted.start
        end = min(wanted.stop, shown.height)
        if self._has_all_rows(index, block, canvas) and end - offset <= _AT_ONCE:
            # What is seen now, though its look may still come.
            yield from [(each, block.row(each)) for each in range(offset, end)]
            return
        while self._is_unchanged(index, block, canvas, shown):
            if offset >= end:
                return
            yield offset, shown.row(offset)
            offset += 1
        shown.painter = None
        painter = shown.paint_for(canvas, 0)
        while painter.work(0.0):
            yield 0, None
        shown.settle()
        for each in range(offset, min(wanted.stop, shown.height)):
            yield each, shown.row(each)

    def _has_all_rows(self, index: int, block: Block, canvas: Canvas) -> bool:
        if block.hides_its_rows:
            return True
        is_there = index < len(self._block_list) and self._block_list.blocks[index] is block
        return is_there and not self._queue.lacks(canvas, index)

    def _is_unchanged(self, index: int, block: Block, canvas: Canvas, before: Block) -> bool:
        """Whether all rows have their final form and are the same as before."""
        return (
            self._has_all_rows(index, block, canvas)
            and not self._queue.waits(index)
            and block.painter is before.painter
            and block.row_count == before.row_count
        )

    def has_text(self) -> bool:
        """Whether there may be anything to copy, told from positions alone."""
        selection = self._view.text_selection
        if selection is None or (selection.start is not None and selection.start == selection.end):
            return False
        return any(
            rows.stop > block.lead and not block.hides_its_rows and block.source.text
            for _index, block, rows in self._selected_blocks(selection)
        )


def copied(rows: Iterable[Selected | None]) -> str:
    """The selected text, with soft-wrapped rows joined and gutters left out."""
    return "\n".join(line for line in copied_lines(rows) if line is not None)


def copied_lines(rows: Iterable[Selected | None]) -> Iterator[str | None]:
    """The lines of the selected text one by one; None where the caller may pause.

    A formula of which all is selected is copied as it is written, on as many lines.
    """
    line: _CopiedLine | None = None
    for each in rows:
        if each is None or each[0].aside:
            yield None
            continue
        row, span = each
        pieces = list(_pieces(row, span))
        first = pieces[0][1] if pieces else None
        if line is None:
            line = _CopiedLine()
        elif row.join is not None:
            line.join(row.join, first)
        elif not line.goes_on(first):
            yield line.text
            line = _CopiedLine()
        for piece in pieces:
            line.add(*piece)
        yield None
    if line is not None:
        yield line.text


def _pieces(row: Row, span: tuple[int, int]) -> Iterator[_Piece]:
    """The selected text of a row, apart by the formulas in it."""
    start, end = span
    low, high = max(start - MARGIN, row.gutter), None if end < 0 else end - MARGIN
    at = 0
    for text, style, _control in row.segments:
        piece = text[max(low - at, 0) : None if high is None else max(high - at, 0)]
        if piece:
            yield piece, source_of(style)
        at += len(text)


class _CopiedLine:
    """A line as it is copied; while a formula is shown on several lines, all of these."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._formula: _Formula | None = None
        self._shown = ""

    def add(self, text: str, formula: _Formula | None) -> None:
        """Go on with text, which may be a part of a formula."""
        if formula is None or formula != self._formula:
            self._end_formula()
        if formula is None:
            self._done.append(text)
            return
        self._formula = formula
        self._shown += text
        if len(self._shown) == formula[1]:
            self._done.append(formula[0])
            self._formula, self._shown = None, ""

    def join(self, text: str, following: _Formula | None) -> None:
        """Go on with what a soft wrap swallowed before a row."""
        self.add(text, following if following == self._formula else None)

    def goes_on(self, following: _Formula | None) -> bool:
        """Whether the next line belongs to the formula that this one ends in."""
        is_same = self._formula is not None and following == self._formula
        if is_same:
            self.add("\n", following)
        return is_same

    @property
    def text(self) -> str:
        """The whole of it."""
        self._end_formula()
        return "".join(self._done).rstrip()

    def _end_formula(self) -> None:
        if self._shown:
            self._done.append(self._shown)
        self._formula, self._shown = None, ""
