"""The cursor that goes over messages, the caret that selects text, and the actions of both."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual import events
from textual.message import Message
from textual.selection import SELECT_ALL

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.painters import Row
from ollm_tui.tui.transcript.block import MARGIN, Block, BlockKind
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.folding import Folding
from ollm_tui.tui.transcript.messages import (
    BranchAct,
    BranchRequested,
    CancelRequested,
    CopyRequested,
    CursorMoved,
    KeyRefused,
    MarkAct,
    MarkRequested,
    RetryRequested,
    SelectionCopyRequested,
)
from ollm_tui.tui.transcript.painting import PaintScheduler
from ollm_tui.tui.transcript.rendering import Span, StripRenderer
from ollm_tui.tui.transcript.scroller import Scroller
from ollm_tui.tui.transcript.selection import RowSelection
from ollm_tui.tui.transcript.wide_tables import WideTables

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.caret import Caret, CaretMove
    from ollm_tui.tui.transcript.code_blocks import CodeSteps

Mode: TypeAlias = Literal["cursor", "caret"]
Typed: TypeAlias = events.Key | events.Paste
_STOPS = frozenset(
    {
        *(BlockKind.USER, BlockKind.ANSWER, BlockKind.TREE),
        *(BlockKind.THINKING, BlockKind.TOOL, BlockKind.ERROR),
    }
)
"""The blocks that the cursor stops at; notes and figures are passed over."""
_BAR = "transcript--cursor"
_NO_CODE = "This message has no code block"


class MessageCursor:
    """On one block, or off; drawn as a bar in the margin."""

    def __init__(self, block_list: BlockList) -> None:
        self._block_list = block_list
        self.block: Block | None = None
        self.code: CodeSteps | None = None
        """The code blocks of the answer, once the cursor has gone to one."""

    @property
    def index(self) -> int | None:
        """The index of its block; None when it is off or the block was removed."""
        block, blocks = self.block, self._block_list
        return blocks.index(block.id) if block is not None and block.id in blocks else None

    def step(self, direction: int) -> bool:
        """Go to the next message in a direction, from off to the newest; False without one."""
        index = self.index
        if index is None:
            return self._go_to_first(range(len(self._block_list) - 1, -1, -1))
        end = -1 if direction < 0 else len(self._block_list)
        return self._go_to_first(range(index + direction, end, direction))

    def edge(self, direction: int) -> bool:
        """Go to the first or the last message."""
        indexes = range(len(self._block_list))
        return self._go_to_first(indexes if direction < 0 else reversed(indexes))

    def _go_to_first(self, indexes: "range | Iterator[int]") -> bool:
        for index in indexes:
            block = self._block_list.blocks[index]
            if block.kind in _STOPS and block.height:
                self.block, self.code = block, None
                return True
        return False

    def question(self) -> Block | None:
        """The user's message under the cursor, or the one that the message answers."""
        index = self.index
        above = () if index is None else reversed(self._block_list.blocks[: index + 1])
        return next((block for block in above if block.kind is BlockKind.USER), None)

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterator[Span]:
        """Mark all rows of the block but the gap above, those of the code block more broadly."""
        del index, row
        if block is self.block and offset >= block.gap:
            yield 0, MARGIN if self.code is not None and self.code.has_row(offset) else 1, _BAR


@dataclass(slots=True, kw_only=True)
class CaretMode:
    """The caret while there is one, and the actions of its keys."""

    block_list: BlockList
    painting: PaintScheduler
    scroller: Scroller
    selection: RowSelection
    tables: WideTables
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
        self.tables.show(self.block_list.blocks[index].row(offset), caret.position.x - MARGIN)
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


@dataclass(slots=True, kw_only=True)
class CursorMode:
    """Going through the messages by keys: off <-> cursor <-> caret; caret -> off.

    A message can be pointed at, too: its bar is drawn, and the keys stay with the input.
    """

    cursor: MessageCursor
    painting: PaintScheduler
    scroller: Scroller
    renderer: StripRenderer
    folding: Folding
    post: Callable[[Message], object]
    leave: Callable[[Typed | None], None]
    """Gives the focus back, with what was typed."""
    edit: Callable[[str], bool]
    """Puts a message into the input, if it can."""
    caret: CaretMode = field(init=False)
    is_pointing: bool = False

    @property
    def mode(self) -> Mode | None:
        """What the keys are for; None while they are for the input."""
        if self.cursor.block is None or self.is_pointing:
            return None
        return "cursor" if self.caret.caret is None else "caret"

    def go_through(self, direction: int) -> bool:
        """Put the cursor on the newest message, or move it; False when there is none."""
        self.caret.remove()
        self.is_pointing = False
        moved = self.cursor.step(direction)
        if self.cursor.block is not None:
            self._show()
        return moved or self.mode is not None

    def turn_off(self) -> None:
        """Take the cursor away."""
        if self.cursor.block is None:
            return
        self.caret.remove()
        self.cursor.block, self.is_pointing = None, False
        self.renderer.remove_marks(self.cursor)
        self.post(CursorMoved(None))

    def blocks_cut(self) -> None:
        """Leave if the message under the cursor was removed."""
        if self.cursor.block is not None and self.cursor.index is None:
            self.turn_off() if self.is_pointing else self.action_leave()

    def caret_left(self) -> None:
        """Show the keys that matter after the caret is gone."""
        self.post(CursorMoved(self._hints() if self.mode else None))

    def _show(self) -> None:
        self.renderer.add_marks(self.cursor)
        block, index = self.cursor.block, self.cursor.index
        if block is not None and index is not None:
            # the beginning of a block that is too high, or not painted
            top, bottom = self.scroller.in_view
            is_painted = block.hides_its_rows or block.painter is not None
            end = block.height if is_painted else block.gap + bottom - top
            self.scroller.show_rows(index, max(block.gap - 1, 0), end)
        self.post(CursorMoved(None if self.is_pointing else self._hints()))

    def _hints(self) -> str:
        block = self.cursor.block
        if self.caret.caret is not None:
            return "caret"
        if block is None or block.kind is BlockKind.ERROR:
            return "message"
        if block.kind is BlockKind.USER:
            return "question"
        if _runs(block):
            return "running"
        return "foldable" if _folds(block) else "answer"

    action_step = go_through

    def action_edge(self, direction: int) -> None:
        """Go to the first or the last message."""
        self.cursor.edge(direction)
        self._show()

    async def action_code(self, direction: int) -> None:
        """Go to the next code block of the answer."""
        # Brings the Markdown painters, which no first screen needs.
        from ollm_tui.tui.transcript.code_blocks import CodeSteps

        block, index = await self._painted_message()
        if block is None or index is None:
            return
        self.cursor.code = self.cursor.code or CodeSteps(block)
        code_block = self.cursor.code.step(direction)
        if code_block is not None:
            first, end = code_block.first, code_block.end
            self.scroller.show_rows(index, block.lead + first, block.lead + end)
        elif not self.cursor.code.count:
            is_drawn = not self.painting.lacks(index)
            self.post(KeyRefused(_NO_CODE if is_drawn else "This message is still being drawn"))
        self.renderer.redraw()

    async def _painted_message(self) -> tuple[Block | None, int | None]:
        """The message under the cursor and its index; code is found only in painted rows."""
        if (index := self.cursor.index) is not None:
            await self.painting.paint_block(index)
        return self.cursor.block, self.cursor.index

    async def action_copy(self) -> None:
        """Copy the code block, or the message, as it came."""
        code = self.cursor.code
        if code is None or not code.is_on:
            if (block := self.cursor.block) is not None:
                self.post(CopyRequested(block.source.text))
            return
        await self._painted_message()
        # Never the whole message in place of a part that was chosen.
        text = code.text
        refusal = KeyRefused("This code block is still being drawn")
        self.post(refusal if text is None else CopyRequested(text))

    def action_fold(self) -> None:
        """Fold or unfold the message."""
        block = self.cursor.block
        if block is None or not _folds(block):
            self.post(KeyRefused("Only thinking, tools, JSON and long messages fold"))
            return
        self.folding.toggle(block.id)
        self._show()

    def action_cancel(self) -> None:
        """Ask that the tool under the cursor is cancelled."""
        block = self.cursor.block
        if block is None or not _runs(block):
            self.post(KeyRefused("Only a tool that runs can be cancelled"))
        else:
            self.post(CancelRequested(block.id))

    def action_edit(self) -> None:
        """Put the user's message into the input, to be sent in other words."""
        block = self.cursor.block
        if block is None or block.kind is not BlockKind.USER:
            self.post(KeyRefused("Only your own messages can be edited"))
        elif self.edit(block.id):
            self.action_leave()

    def action_again(self) -> None:
        """Ask the question of this message once more."""
        question = self.cursor.question()
        if question is None:
            self.post(KeyRefused("There is no question here"))
        else:
            self.post(RetryRequested(question.id))

    def action_branch(self, act: BranchAct) -> None:
        """Ask for another branch at this message, or to delete or copy this one."""
        if (block := self.cursor.block) is not None:
            self.post(BranchRequested(act, block.id))

    def action_mark(self, act: MarkAct = "toggle") -> None:
        """Mark the message, or go to another one that is marked."""
        if (block := self.cursor.block) is not None:
            self.post(MarkRequested(act, block.id))

    def put_on(self, block_id: str) -> None:
        """Put the cursor on the message of a block."""
        self._move_to(block_id, is_pointing=False)

    def point_at(self, block_id: str) -> None:
        """Show which message is meant; the keys stay with the input."""
        self._move_to(block_id, is_pointing=self.mode is None)

    def _move_to(self, block_id: str, *, is_pointing: bool) -> None:
        self.is_pointing = is_pointing
        self.cursor.block, self.cursor.code = self.caret.block_list.block(block_id), None
        self._show()

    async def action_select(self) -> None:
        """Put the caret where the message begins."""
        index = self.cursor.index
        if index is None:
            return
        if await self.caret.put(index):
            self.post(CursorMoved(self._hints()))
        else:
            self.post(KeyRefused("No text to select"))

    def action_leave(self, typed: Typed | None = None) -> None:
        """Go back to the input, and type there what was typed here."""
        self.turn_off()
        self.leave(typed)


def _runs(block: Block) -> bool:
    return block.kind is BlockKind.TOOL and not block.finished


def _folds(block: Block) -> bool:
    return block.has_header or block.kind in {BlockKind.TOOL, BlockKind.TREE}
