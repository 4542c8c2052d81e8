"""The cursor that goes over the messages of a transcript."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ollm_tui.tui.transcript.block import MARGIN, Block, BlockKind
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.marks import Span
from ollm_tui.tui.transcript.painters.rows import Row

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.code_steps import CodeSteps

STOPS = frozenset(
    {BlockKind.USER, BlockKind.ANSWER, BlockKind.THINKING, BlockKind.TOOL, BlockKind.ERROR}
)
"""What somebody said or did; remarks and figures are passed over."""
BAR = "transcript--cursor"


class MessageCursor:
    """On one block, or off; drawn as a bar in the margin."""

    def __init__(self, shelf: BlockList) -> None:
        self._shelf = shelf
        self.block: Block | None = None
        self.code: CodeSteps | None = None
        """The code block of the answer that was gone to."""

    @property
    def index(self) -> int | None:
        """Where its block stands; None when it is off or the block is gone."""
        block = self.block
        return (
            self._shelf.index(block.id) if block is not None and block.id in self._shelf else None
        )

    def step(self, direction: int) -> bool:
        """Go to the next message in a direction, from nowhere to the newest; False without one."""
        index = self.index
        if index is None:
            return self._take(range(len(self._shelf) - 1, -1, -1))
        end = -1 if direction < 0 else len(self._shelf)
        return self._take(range(index + direction, end, direction))

    def edge(self, direction: int) -> bool:
        """Go to the first or the last message."""
        indexes = range(len(self._shelf))
        return self._take(indexes if direction < 0 else reversed(indexes))

    def _take(self, indexes: "range | Iterator[int]") -> bool:
        for index in indexes:
            block = self._shelf.blocks[index]
            if block.kind in STOPS and block.height:
                self.block, self.code = block, None
                return True
        return False

    def question(self) -> Block | None:
        """The message of one's own that is under the cursor, or the one it answers."""
        index = self.index
        above = () if index is None else reversed(self._shelf.blocks[: index + 1])
        return next((block for block in above if block.kind is BlockKind.USER), None)

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterator[Span]:
        """Mark all rows of the block but the gap above, those of the code block more broadly."""
        del index, row
        if block is self.block and offset >= block.gap:
            yield 0, MARGIN if self.code is not None and self.code.has_row(offset) else 1, BAR
