"""Where the view of a transcript is: at its end, or at a row that stays as others come and go."""

from dataclasses import replace

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.widget import Widget

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.transcript.block import exact_row
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.paint_queue import PaintQueue
from ollm_tui.tui.transcript.row_writer import RowWriter


@dataclass(frozen=True, slots=True)
class Anchor:
    """A position in a block, and how many rows of the view are above it."""

    index: int
    position: tuple[int, int, int]
    rows_above: int = 0
    is_lasting: bool = False
    """Whether it holds even after everything is painted, and at the end of the transcript."""

    def in_text(self, block_list: BlockList) -> "Anchor":
        """The same position as an offset in the text, which survives painting at another width."""
        if not self.is_lasting:
            return self
        block = block_list.blocks[self.index]
        row = min(block.locate(self.position), block.height - 1)
        return replace(self, position=block.anchor(row))

    def top(self, block_list: BlockList) -> int:
        """The number of the row that must be the first in view."""
        block = block_list.blocks[self.index]
        row = min(block.locate(self.position), max(block.height - 1, 0))
        return block_list.start(self.index) + row - self.rows_above


@dataclass(eq=False)
class Scroller:
    """Follows the end of the blocks until the user scrolls away, then keeps the view in place."""

    _view: ScrollView
    _block_list: BlockList
    _queue: PaintQueue
    writer: RowWriter
    _anchor: Anchor | None = None
    pinned: bool = False
    """Whether the user has scrolled away from the end."""
    unseen: bool = False
    """Whether something was added below while the view stays where it is."""

    def _pin(self, pinned: bool) -> None:
        self.pinned = pinned
        if not pinned:
            self._mark_unseen(False)

    def _mark_unseen(self, unseen: bool) -> None:
        if unseen != self.unseen:
            self.unseen = unseen
            self.writer.mark(self.in_view[1] - 1, self.in_view[1])

    @property
    def in_view(self) -> tuple[int, int]:
        """Numbers of the first row in view and of the first one below it."""
        top = self._view.scroll_offset.y
        return top, top + self._view.size.height

    def show_change(self, first: int, end: int | None) -> None:
        """Draw the changed rows that are in view; `end` is None for all rows below."""
        self.mark_change(first, end)
        self.writer.show()

    def mark_change(self, first: int, end: int | None) -> None:
        """Draw the same with the next `flush` of the writer."""
        total = self._block_list.total
        if total != self._view.virtual_size.height:
            self._set_height(total)
        self._place()
        top, bottom = self.in_view
        if end is None:
            end = max(total, bottom)
        self.writer.mark(max(first, top), min(end, bottom))
        if self.pinned:
            if top >= self._view.max_scroll_y and not self.holds_row:
                self._pin(False)
            elif end >= bottom and self._queue.is_growing:
                self._mark_unseen(True)

    def show_height(self) -> None:
        """Adopt the height of the blocks if it has changed; it shows with the next `flush`."""
        height, total = self._view.virtual_size.height, self._block_list.total
        if total != height:
            self.mark_change(min(total, height), None)

    def _set_height(self, rows: int) -> None:
        # `virtual_size` would lay out the whole screen for every new row, but only the scrollbar
        # depends on it, which is drawn with the rows: the widget's own size comes from its style.
        self._view.set_reactive(Widget.virtual_size, Size(self._view.size.width, rows))
        self._scroll_rows(min(self._view.scroll_offset.y, self._view.max_scroll_y))

    # Keeping the place

    def keep_place(self) -> None:
        """Remember what is at the top if the blocks about to be painted may move it."""
        top = self._view.scroll_offset.y
        if self.pinned and self._queue.lowest <= self._block_list.find(top)[0]:
            self.keep_top()

    def keep_top(self) -> None:
        """Remember what is at the top of a pinned view."""
        if self.pinned and self._anchor is None and self._block_list.blocks:
            index, row = self._block_list.find(self._view.scroll_offset.y)
            self._anchor = Anchor(index, self._block_list.blocks[index].anchor(row))

    def keep_text(self) -> None:
        """Remember what is at the top so that it survives painting at another width."""
        if self._anchor is not None:
            self._anchor = self._anchor.in_text(self._block_list)
        self.keep_top()

    def place(self) -> None:
        """Scroll to the end, or to what was at the top."""
        self._place()
        self.writer.show()

    def _place(self) -> None:
        if not self.pinned:
            self._scroll_rows(self._view.max_scroll_y)
        elif self._anchor is not None:
            row = self._anchor.top(self._block_list)
            self._scroll_rows(min(max(row, 0), self._view.max_scroll_y))

    def let_go(self, *, forced: bool = False) -> None:
        """Forget what was at the top; a row that `hold_row` holds only if `forced`."""
        if forced or not self.holds_row:
            self._anchor = None

    def _scroll_rows(self, row: int) -> None:
        before = self._view.scroll_offset.y
        if row != before:
            # Without the watchers, which would have Textual draw the whole view.
            self._view.set_reactive(Widget.scroll_y, float(row))
            self._view.set_reactive(Widget.scroll_target_y, float(row))
            self._moved(before)

    def _moved(self, before: int) -> None:
        top, bottom = self.in_view
        self.writer.mark_moved(top - before)
        if self.unseen:
            for last in (bottom - 1, before + bottom - top - 1):
                self.writer.mark(last, last + 1)

    # Scrolling

    def follow_end(self) -> None:
        """Go to the end with the next `place`, and stay there while more comes."""
        self._anchor = None
        self._pin(False)

    def scrolled(self, before: int) -> None:
        """Pin the view after it was scrolled away from a row; at the end it follows again.

        What has come into view is to be painted; `writer` draws it soon.
        """
        self._moved(before)
        self._anchor = None
        self._pin(self.in_view[0] < self._view.max_scroll_y)
        self.writer.show()

    def hold_row(self, index: int, offset: int) -> None:
        """Scroll a row of a block into view, with some rows around it.

        There it stays, whatever is painted or added, until the user scrolls or `release_row`.
        """
        number, (top, bottom) = self._block_list.start(index) + offset, self.in_view
        height = bottom - top
        around = min(2, height // 4)
        above = number - top
        if above < around and top > 0:
            above = height // 3
        elif number >= bottom - around:
            above = height * 2 // 3
        self._anchor = Anchor(index, exact_row(offset), above, is_lasting=True)
        self._pin(True)
        self.place()

    @property
    def holds_row(self) -> bool:
        """Whether the view is where `hold_row` has put it."""
        return self._anchor is not None and self._anchor.is_lasting

    def release_row(self) -> None:
        """Leave the view where it is; at the end it follows again."""
        if self.holds_row:
            self._anchor = None
            self._pin(self._view.scroll_offset.y < self._view.max_scroll_y)

    def show_rows(self, index: int, first: int, end: int) -> None:
        """Scroll rows of a block into view, the first ones if not all fit."""
        start, height = self._block_list.start(index), self._view.size.height
        top, bottom = self.in_view
        if start + first < top:
            self._view.scroll_to(y=start + first, animate=False, immediate=True)
        elif start + end > bottom:
            row = start + min(first, end - height)
            self._view.scroll_to(y=max(row, 0), animate=False, immediate=True)
