"""What a search has found so far: the matches of each block it has searched."""

from collections.abc import Sequence
from dataclasses import dataclass

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.search.matches import Matches


@dataclass(frozen=True, slots=True)
class SearchedBlock:
    """One block as it was when it was searched."""

    block: Block
    size: int
    finished: bool
    matches: Matches | None
    """None where there are none."""

    @property
    def is_stale(self) -> bool:
        """Has the block changed since?"""
        return self.block.finished is not self.finished or self.block.source.size != self.size


class SearchIndex:
    """Results by block index; blocks are only ever added and removed at the end."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._searched: list[SearchedBlock | None] = []
        self._counts: list[int] = []
        self._growing: set[int] = set()

    def __len__(self) -> int:
        return len(self._searched)

    def get(self, index: int) -> SearchedBlock | None:
        """The result for a block; None if it was not searched."""
        return self._searched[index] if index < len(self._searched) else None

    def put(self, index: int, searched: SearchedBlock) -> bool:
        """Store the result for a block; False if the block was removed."""
        if index >= len(self) or self._blocks[index] is not searched.block:
            return False
        self._searched[index] = searched
        self._counts[index] = len(searched.matches or ())
        if searched.finished:
            self._growing.discard(index)
        else:
            self._growing.add(index)
        return True

    def clear(self) -> None:
        """Forget all results."""
        self._blocks.clear()
        self._searched.clear()
        self._counts.clear()
        self._growing.clear()

    def kept(self, blocks: Sequence[Block]) -> int:
        """The number of blocks that are still there; those after them are new."""
        count = min(len(self), len(blocks))
        while count and self._blocks[count - 1] is not blocks[count - 1]:
            count -= 1
        return count

    def follow(self, blocks: Sequence[Block]) -> list[int]:
        """Forget removed blocks and return the indexes of new or changed ones."""
        count = self.kept(blocks)
        del self._blocks[count:], self._searched[count:], self._counts[count:]
        self._growing = {index for index in self._growing if index < count}
        new = range(count, len(blocks))
        self._blocks += blocks[count:]
        self._searched += [None] * len(new)
        self._counts += [0] * len(new)
        changed = [index for index in self._growing if self._is_stale(index)]
        return [*changed, *new]

    def _is_stale(self, index: int) -> bool:
        searched = self._searched[index]
        return searched is not None and searched.is_stale

    def count(self, index: int) -> int:
        """The number of known matches in a block."""
        return self._counts[index] if index < len(self._counts) else 0

    @property
    def total(self) -> int:
        """The number of all known matches."""
        return sum(self._counts)

    def rank(self, index: int, number: int) -> int:
        """The rank of a match, counted from the newest."""
        return sum(self._counts[index + 1 :]) + self.count(index) - number
