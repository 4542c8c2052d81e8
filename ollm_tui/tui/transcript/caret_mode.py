"""Selecting text of a transcript by keys, with the same selections as the mouse makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.selection import SELECT_ALL

from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.messages import KeyRefused, SelectionCopyRequested
from ollm_tui.tui.transcript.painting import Painting
from ollm_tui.tui.transcript.rendering import StripRenderer
from ollm_tui.tui.transcript.scroller import Scroller
from ollm_tui.tui.transcript.selection import RowSelection

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.caret import Caret, CaretMove


@dataclass(slots=True, kw_only=True)
class CaretMode:
    """The caret while there is one, and the actions of its keys."""

    block_list: BlockList
    painting: Painting
    scroller: Scroller
    selection: RowSelection
    renderer: StripRenderer
    post: Callable[[Message], object]
    left: Callable[[], None]
    """Called when the caret has gone back to the message."""
    caret: "Caret | None" = None
    is_shifted: bool = False
    """Whether the key of the current action was pressed with Shift."""

    async def put(self, index: int) -> bool:
        """Put the caret on the first row of a block; False if there is no text."""
        # Not needed before text is selected by keys.
        from ollm_tui.tui.transcript.caret import Caret

        caret = Caret(self.block_list.blocks, self.painting.paint_block)
        if not await caret.start(index):
            return False
        self.caret = caret
        self.renderer.add_marks(caret)
        self._show(caret)
        return True

    def remove(self) -> None:
        """Take the caret away, and what it has selected; a no-op without a caret."""
        if self.caret is not None:
            self.renderer.remove_marks(self.caret)
            self.caret = None
            self.selection.select(None)

    def blocks_cut(self, count: int) -> None:
        """Leave if the block of the caret is not one of the first `count`."""
        if self.caret is not None and self.caret.address[0] >= count:
            self.action_leave()

    def _show(self, caret: "Caret") -> None:
        index, offset = caret.address
        self.selection.select(caret.selection)
        self.scroller.show_rows(index, offset, offset + 1)
        self.renderer.redraw()

    async def action_move(self, move: "CaretMove") -> None:
        """Move the caret; with Shift, or after a mark, this selects."""
        if (caret := self.caret) is not None:
            top, bottom = self.scroller.in_view
            page = max(bottom - top - 2, 1)
            await caret.move(move, extends=self.is_shifted, page=page)
            if self.caret is not None:
                self._show(self.caret)

    def action_mark(self) -> None:
        """Begin a selection at the caret, or end it."""
        if self.caret is not None:
            self.caret.toggle_mark()
            self._show(self.caret)

    def action_all(self) -> None:
        """Select the whole chat."""
        self.selection.select(SELECT_ALL)

    def action_copy(self) -> None:
        """Copy what is selected, and go back to the message."""
        selection = self.selection.current
        if selection is None:
            self.post(KeyRefused("Nothing is selected"))
        else:
            self.post(SelectionCopyRequested(selection))
            self.action_leave()

    def action_leave(self) -> None:
        """Go back to the message."""
        self.remove()
        self.left()
