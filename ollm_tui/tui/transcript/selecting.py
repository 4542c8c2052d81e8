"""Selecting text in painted rows: places, words, lines, links, and what is copied."""

from collections.abc import Iterator
from copy import copy

from rich.cells import split_graphemes
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from ollm_tui.tui.transcript.block import MARGIN, Block
from ollm_tui.tui.transcript.block_list import address, unpacked
from ollm_tui.tui.transcript.links import address_at
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.rows import Row
from ollm_tui.tui.transcript.strips import (
    Selected,
    copied,
    restyled,
    word_around,
)
from ollm_tui.tui.transcript.view import RowView

_ALL = 1 << 32
"""More rows than any block has."""
_AT_ONCE = 2000
"""So many rows are read in no time."""


class SelectableRows(RowView):
    """Places are (code point of the strip, packed address of the row)."""

    def _with_marks(self, strip: Strip, number: int, found: tuple[Row, Block]) -> Strip:
        strip = super()._with_marks(strip, number, found)
        selection = self.text_selection
        if selection is None:
            return strip
        span = selection.get_span(address(*self.shelf.find(number)))
        return strip if span is None else self._selected(strip, found[0], span)

    def _selected(self, strip: Strip, row: Row, span: tuple[int, int]) -> Strip:
        start, end = span
        length = MARGIN + len(row.text)
        start = max(start, MARGIN + row.gutter)
        end = length if end < 0 else min(end, length)
        if start >= end:
            return strip
        return Strip(restyled(strip, start, end, self._selection_style), strip.cell_length)

    @property
    def _selection_style(self) -> Style:
        """The mixed background; a text colour only where the theme has one that can be seen."""
        full = self.screen.get_component_rich_style("screen--selection")
        own = self.screen.get_component_rich_style("screen--selection", partial=True)
        return Style.from_color(own.color, full.bgcolor) + own.without_color

    def text_place(self, x: int, y: int) -> Offset:
        """The place in the text at a cell of the view."""
        number = min(self.scroll_offset.y + y, max(self.shelf.total - 1, 0))
        found = self.shelf.row_at(number)
        if found is None:
            return Offset(0, 0)
        text, position = found[0].text, 0
        packed = address(*self.shelf.find(number))
        for start, _end, size in split_graphemes(text)[0]:
            if position + size > x - MARGIN:
                return Offset(start + min(x, MARGIN), packed)
            position += size
        return Offset(len(text) + min(x, MARGIN), packed)

    def link_at(self, x: int, y: int) -> str | None:
        """The address of the link at a cell of the view."""

        def row(number: int) -> Row | None:
            found = self.shelf.row_at(number)
            return found and found[0]

        return address_at(row, self.scroll_offset.y + y, self.text_place(x, y).x - MARGIN)

    def select_around(self, x: int, y: int, *, words: bool) -> None:
        """Select the word at a cell of the view, or the line with all its rows."""
        place = self.text_place(x, y)
        if not self.shelf.blocks:
            return
        index, offset = unpacked(place.y)
        if words:
            text = self.shelf.blocks[index].row(offset).text
            start, end = word_around(text, place.x - MARGIN)
            chosen = Selection(Offset(MARGIN + start, place.y), Offset(MARGIN + end, place.y))
        else:
            chosen = self._line_around(index, offset)
        self.screen.selections = {self: chosen}

    def _line_around(self, index: int, offset: int) -> Selection:
        block = self.shelf.blocks[index]
        first = last = offset
        while first > 0 and block.row(first).join is not None:
            first -= 1
        while last + 1 < block.height and block.row(last + 1).join is not None:
            last += 1
        end = Offset(MARGIN + len(block.row(last).text), address(index, last))
        return Selection(Offset(0, address(index, first)), end)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: gutters left out, soft-wrapped rows joined."""
        return copied(self.selected_rows(selection)), "\n"

    def selected_rows(self, selection: Selection) -> Iterator[Selected | None]:
        """The selected rows with their spans; None now and then while a block is painted.

        What sleeps is painted for this alone, so that a caller with a long way to go can pause.
        What is taken away meanwhile is in it all the same.
        """
        canvas = self._canvas
        if canvas is None:
            return
        for index, block, rows in list(self._selected_blocks(selection)):
            for offset, row in self._rows_of(index, block, canvas, rows):
                if row is None:
                    yield None
                elif span := selection.get_span(address(index, offset)):
                    yield row, span

    def _selected_blocks(self, selection: Selection) -> Iterator[tuple[int, Block, range]]:
        """The blocks with their indexes and the rows that can be meant, which may be too many."""
        first, low = (0, 0)
        last, high = (len(self.shelf) - 1, _ALL)
        if selection.start is not None:
            first, low = unpacked(max(selection.start.y, 0))
        if selection.end is not None:
            last, high = unpacked(max(selection.end.y, 0))
        for index in range(first, min(last + 1, len(self.shelf))):
            begin = low if index == first else 0
            end = high + 1 if index == last else _ALL
            yield index, self.shelf.blocks[index], range(begin, end)

    def _rows_of(
        self, index: int, block: Block, canvas: Canvas, wanted: range
    ) -> Iterator[tuple[int, Row | None]]:
        """Rows of a block with their places; None while there is more to paint.

        Those on the screen serve while they are all there and stay as they are. From where that
        ends they come from a painter of its own: at the same width they are the same.
        """
        shown, offset = copy(block), wanted.start
        end = min(wanted.stop, shown.height)
        if self._has_all_rows(index, block, canvas) and end - offset <= _AT_ONCE:
            # What is seen now, though its look may still come.
            yield from [(place, block.row(place)) for place in range(offset, end)]
            return
        while self._stays(index, block, canvas, shown):
            if offset >= end:
                return
            yield offset, shown.row(offset)
            offset += 1
        shown.painter = None
        painter = shown.paint_for(canvas, 0, 0)
        while painter.work(0.0):
            yield 0, None
        shown.settle()
        for place in range(offset, min(wanted.stop, shown.height)):
            yield place, shown.row(place)

    def _has_all_rows(self, index: int, block: Block, canvas: Canvas) -> bool:
        if block.hides_its_rows:
            return True
        is_there = index < len(self.shelf) and self.shelf.blocks[index] is block
        return is_there and not self._queue.lacks(canvas, index)

    def _stays(self, index: int, block: Block, canvas: Canvas, before: Block) -> bool:
        """Has it all its rows in their last form, and the same ones as before?"""
        return (
            self._has_all_rows(index, block, canvas)
            and not self._queue.waits(index)
            and block.painter is before.painter
            and block.row_count == before.row_count
        )

    def has_selected_text(self) -> bool:
        """May there be anything to copy? Told from places alone, so at once."""
        selection = self.text_selection
        if selection is None or (selection.start is not None and selection.start == selection.end):
            return False
        return any(
            rows.stop > block.lead and not block.hides_its_rows and block.source.text
            for _index, block, rows in self._selected_blocks(selection)
        )

    def selection_updated(self, selection: Selection | None) -> None:
        """Show the selection; the strips themselves stay as they are."""
        del selection
        self.refresh()
