"""Tables that are wider than the screen: folded into it, or scrolled sideways."""

from typing import Final

from rich.cells import cell_len
from textual.widget import Widget

from ollm_tui.tui.painters import Row, row_cells
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.reading import ReadingMode
from ollm_tui.tui.transcript.scroller import Scroller

_AROUND: Final = 4  # cells beside what is brought into view


class WideTables:
    """Switches between both ways, and moves the wide rows of a view."""

    def __init__(
        self, view: Widget, block_list: BlockList, scroller: Scroller, mode: ReadingMode
    ) -> None:
        self._view = view
        self._block_list = block_list
        self._scroller = scroller
        self._mode = mode

    def toggle(self) -> bool:
        """Fold wide tables or let them scroll; True when they fold now."""
        folds = not self._mode.current.folds_tables
        self._mode.change(folds_tables=folds)
        return folds

    def step(self, direction: int) -> bool:
        """Move the wide rows by half a screen; False if none is in view."""
        canvas = self._block_list.canvas
        rows = [row for number in range(*self._scroller.in_view) if (row := self._row(number))]
        if canvas is None or not rows:
            return False
        most = max(row_cells(row.segments) for row in rows) - canvas.width
        self._move(self._block_list.shift + direction * max(canvas.width // 2, 1), most)
        return True

    def show(self, row: Row, position: int) -> None:
        """Bring a code point of a row into view, if the row is wide."""
        canvas = self._block_list.canvas
        if canvas is None or not row.wide:
            return
        cell, shift = cell_len(row.text[:position]), self._block_list.shift_of(row)
        most = row_cells(row.segments) - canvas.width
        if cell < shift + _AROUND:
            self._move(cell - _AROUND, most)
        elif cell >= shift + canvas.width - _AROUND:
            self._move(cell - canvas.width + 2 * _AROUND, most)

    def _row(self, number: int) -> Row | None:
        shown = self._block_list.row_at(number)
        return shown[0] if shown is not None and shown[0].wide else None

    def _move(self, shift: int, most: int) -> None:
        self._block_list.shift = max(min(shift, most), 0)
        self._view.refresh()
