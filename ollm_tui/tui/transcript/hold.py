"""A place of the text that stays where it is in the view while rows come and go around it."""

from dataclasses import dataclass, replace

from ollm_tui.tui.transcript.block import exact_row
from ollm_tui.tui.transcript.block_list import BlockList


@dataclass(frozen=True, slots=True)
class Hold:
    """A block, a place in it, and how many rows of the view are above that."""

    index: int
    place: tuple[int, int, int]
    below: int = 0
    lasts: bool = False
    """Also when everything is painted, and at the end of the transcript."""

    @classmethod
    def of(cls, shelf: BlockList, index: int, row: int) -> "Hold":
        """Hold what stands in a row at the top of the view."""
        return cls(index, shelf.blocks[index].anchor(row))

    @classmethod
    def at(cls, index: int, row: int, below: int) -> "Hold":
        """Hold a row that may not be painted yet."""
        return cls(index, exact_row(row), below, lasts=True)

    def in_text(self, shelf: BlockList) -> "Hold":
        """The same place, so that it outlives painting at another width."""
        if not self.lasts:
            return self
        block = shelf.blocks[self.index]
        return replace(self, place=block.anchor(min(block.locate(self.place), block.height - 1)))

    def top(self, shelf: BlockList) -> int:
        """The number of the row that must be the first in view."""
        block = shelf.blocks[self.index]
        row = min(block.locate(self.place), max(block.height - 1, 0))
        return shelf.start(self.index) + row - self.below
