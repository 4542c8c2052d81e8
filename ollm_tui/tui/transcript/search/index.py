"""What a search knows so far: the matches of each block it has looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.search.matches import Matches


@dataclass(frozen=True, slots=True)
class Looked:
    """One block as it was when it was looked at."""

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
    """By block index; blocks are only ever added and cut off at the end."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._looked: list[Looked | None] = []
        self._counts: list[int] = []
        self._growing: set[int] = set()

    def __len__(self) -> int:
        return len(self._looked)

    def get(self, index: int) -> Looked | None:
        """What is known of a block; None when it was not looked at."""
        return self._looked[index] if index < len(self._looked) else None

    def put(self, index: int, looked: Looked) -> bool:
        """Take note of a block; False when it is no longer there."""
        if index >= len(self) or self._blocks[index] is not looked.block:
            return False
        self._looked[index] = looked
        self._counts[index] = len(looked.matches or ())
        if looked.finished:
            self._growing.discard(index)
        else:
            self._growing.add(index)
        return True

    def clear(self) -> None:
        """Know nothing."""
        self._blocks.clear()
        self._looked.clear()
        self._counts.clear()
        self._growing.clear()

    def kept(self, blocks: Sequence[Block]) -> int:
        """How many of its blocks are still there; what stands behind them now are others."""
        count = min(len(self), len(blocks))
        while count and self._blocks[count - 1] is not blocks[count - 1]:
            count -= 1
        return count

    def follow(self, blocks: Sequence[Block]) -> list[int]:
        """Forget blocks that are gone; gives those that are new or have changed."""
        count = self.kept(blocks)
        del self._blocks[count:], self._looked[count:], self._counts[count:]
        self._growing = {index for index in self._growing if index < count}
        new = range(count, len(blocks))
        self._blocks += blocks[count:]
        self._looked += [None] * len(new)
        self._counts += [0] * len(new)
        changed = [index for index in self._growing if self._is_stale(index)]
        return [*changed, *new]

    def _is_stale(self, index: int) -> bool:
        looked = self._looked[index]
        return looked is not None and looked.is_stale

    def count(self, index: int) -> int:
        """How many matches are known in a block."""
        return self._counts[index] if index < len(self._counts) else 0

    @property
    def total(self) -> int:
        """All matches that are known."""
        return sum(self._counts)

    def rank(self, index: int, number: int) -> int:
        """Which match this is, counted from the newest."""
        return sum(self._counts[index + 1 :]) + self.count(index) - number
