"""The blocks of a transcript in order, and where each one's rows are.

A row's *number* counts all rows from the top and changes whenever something above grows. Its
*address* (block index, row in the block) stays; selections have it packed into one integer.
"""

from collections.abc import Iterator
from itertools import takewhile, zip_longest

from ollm_tui.tui.painters import Canvas, Offsets, Row, row_cells
from ollm_tui.tui.transcript.block import Block, BlockKind, ToolSource

_BITS = 32
_ANSWERS = {BlockKind.ANSWER, BlockKind.TREE}


def address(index: int, offset: int) -> int:
    """Pack a block's index and a row in it."""
    return index << _BITS | offset


def unpacked(packed: int) -> tuple[int, int]:
    """The block's index and the row in it."""
    return packed >> _BITS, packed & ((1 << _BITS) - 1)


class BlockList:
    """Blocks by id, by index and by row."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.canvas: Canvas | None = None
        """What the rows are painted for; None before the view has a size."""
        self.shift = 0
        """How many cells wide rows are moved to the left."""
        self._by_id: dict[str, int] = {}
        self._offsets = Offsets()

    def __len__(self) -> int:
        return len(self.blocks)

    def __contains__(self, block_id: object) -> bool:
        return block_id in self._by_id

    def index(self, block_id: str) -> int:
        """The index of a block.

        Raises:
            KeyError: there is none with this id.
        """
        return self._by_id[block_id]

    def block(self, block_id: str) -> Block:
        """The block with an id; raises KeyError like `index`."""
        return self.blocks[self._by_id[block_id]]

    def last_answer_text(self) -> str | None:
        """The text of the newest answer that has any."""
        answers = (block for block in reversed(self.blocks) if block.kind in _ANSWERS)
        return next((text for block in answers if (text := block.source.text)), None)

    def calls_of_turn(self) -> list[ToolSource]:
        """The calls of tools since the newest question, in order."""
        turn = takewhile(lambda block: block.kind is not BlockKind.USER, reversed(self.blocks))
        return [one.source for one in turn if isinstance(one.source, ToolSource)][::-1]

    def add(self, block: Block) -> int:
        """Put a block at the end and return its index.

        Raises:
            ValueError: there is one with this id.
        """
        if block.id in self._by_id:
            raise ValueError(f"the transcript already has a block {block.id}")
        index = self._by_id[block.id] = len(self.blocks)
        self.blocks.append(block)
        self._offsets.append(block.height)
        return index

    def cut(self, count: int) -> list[Block]:
        """Keep the first `count` blocks and return the others."""
        removed = self.blocks[count:]
        for block in removed:
            del self._by_id[block.id]
            self._offsets.pop()
        del self.blocks[count:]
        return removed

    def measure(self, index: int) -> int:
        """Adopt a block's height and return the difference to the last one."""
        height = self.blocks[index].height
        before = self._offsets.length(index)
        self._offsets.set(index, height)
        return height - before

    def estimate_all(self, canvas: Canvas) -> None:
        """Guess the heights of all sleeping blocks for a new canvas."""
        for index, block in enumerate(self.blocks):
            if block.painter is None:
                block.estimate(canvas)
                self._offsets.set(index, block.height)

    @property
    def total(self) -> int:
        """All rows together."""
        return self._offsets.total

    def start(self, index: int) -> int:
        """The number of a block's first row."""
        return self._offsets.start(index)

    def find(self, number: int) -> tuple[int, int]:
        """The address of the row with a number, or of the nearest row."""
        index, offset = self._offsets.find(min(max(number, 0), max(self.total - 1, 0)))
        return index, offset

    def row_at(self, number: int) -> tuple[Row, Block] | None:
        """The row with a number, and its block."""
        if not 0 <= number < self.total:
            return None
        index, offset = self._offsets.find(number)
        return self.blocks[index].row(offset), self.blocks[index]

    def shift_of(self, row: Row) -> int:
        """How many cells a row is moved to the left: a wide one until its end is in view."""
        if not row.wide or self.canvas is None:
            return 0
        return max(min(self.shift, row_cells(row.segments) - self.canvas.width), 0)

    def around(self, low: int, high: int, rows: int) -> Iterator[int]:
        """Indexes of the blocks in the rows from `low` to `high`, then of those within `rows`."""
        first, last = self.find(low)[0], self.find(high)[0]
        yield from range(last, first - 1, -1)
        below = range(last + 1, self.find(high + rows)[0] + 1)
        above = range(first - 1, self.find(low - rows)[0] - 1, -1)
        for pair in zip_longest(above, below):
            yield from (index for index in pair if index is not None)
