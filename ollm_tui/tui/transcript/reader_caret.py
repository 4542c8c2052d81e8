"""Selecting text of a transcript by keys, with the same selections as the mouse makes."""

from typing import TYPE_CHECKING

from textual.selection import SELECT_ALL, Selection

from ollm_tui.tui.transcript.reader_messages import Refused, SelectionCopyWanted
from ollm_tui.tui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.caret import Caret, CaretMove


class CaretReader(Transcript):
    """A transcript that may have a caret."""

    caret: "Caret | None" = None
    is_shifted = False
    """Whether the key that is obeyed now came with Shift."""

    async def put_caret(self, index: int) -> bool:
        """Put the caret on the first row of a block; False where there is no text."""
        # Not needed before somebody selects by keys.
        from ollm_tui.tui.transcript.caret import Caret

        caret = Caret(self.shelf.blocks, self.paint_block)
        if not await caret.start(index):
            return False
        self.caret = caret
        self.marks.append(caret)
        self._show_caret()
        return True

    def take_caret(self) -> None:
        """Take the caret away, and what it has selected."""
        if self.caret is not None:
            self.marks.remove(self.caret)
            self.caret = None
            self._select(None)
            self.refresh()

    def _show_caret(self) -> None:
        if self.caret is not None:
            index, offset = self.caret.address
            self._select(self.caret.selection)
            self.show_rows(index, offset, offset + 1)
            self.refresh()

    def _select(self, selection: Selection | None) -> None:
        self.screen.selections = {} if selection is None else {self: selection}

    def _update_canvas(self) -> None:
        before = self._canvas
        super()._update_canvas()
        if self.caret is not None and self._canvas is not before:
            # Its row is another one now, or none.
            self.action_caret_leave()

    def _cut(self, count: int) -> None:
        super()._cut(count)
        if self.caret is not None and self.caret.address[0] >= count:
            self.action_caret_leave()

    async def action_caret_move(self, move: "CaretMove") -> None:
        """Move the caret; with Shift, or after a mark, this selects."""
        if (caret := self.caret) is not None:
            page = max(self.size.height - 2, 1)
            await caret.move(move, extends=self.is_shifted, page=page)
            self._show_caret()

    def action_caret_mark(self) -> None:
        """Begin a selection at the caret, or end it."""
        if self.caret is not None:
            self.caret.toggle_mark()
            self._show_caret()

    def action_caret_all(self) -> None:
        """Select the whole chat."""
        self._select(SELECT_ALL)

    def action_caret_copy(self) -> None:
        """Copy what is selected, and go back."""
        selection = self.text_selection
        if selection is None:
            self.post_message(Refused("Nothing is selected"))
        else:
            self.post_message(SelectionCopyWanted(selection))
            self.action_caret_leave()

    def action_caret_leave(self) -> None:
        """Go back to the message."""
        self.take_caret()
