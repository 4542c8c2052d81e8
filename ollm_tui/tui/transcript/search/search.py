"""A search through a transcript, in slices: from the view to the oldest, then the newer ones.

Folded thinking and folded output of tools are searched as if they were open. A block is painted
for the search alone, unless all its rows are there anyway; so nothing that sleeps is woken.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters import (
    MAX_OUTPUT_LENGTH,
    Canvas,
    Painter,
    ToolPainter,
    TreePainter,
    TreeSource,
)
from ollm_tui.tui.transcript.block import Block, BlockKind, TextSource, ToolSource
from ollm_tui.tui.transcript.search.matches import Matches, Needle, search_rows

_MAX_SIFTED: Final = 262_144  # a source longer than this is painted without a look at its text
_AS_GIVEN: Final = frozenset({BlockKind.USER, BlockKind.THINKING, BlockKind.ANSWER})
"""Blocks that show their source and nothing else."""
Direction: TypeAlias = Literal[-1, 1]
OLDER: Final[Direction] = -1
ANYWHERE: Final = 1 << 31
"""A row below all others."""
_STEP_S = 0.004


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
        growing = ((index, self._searched[index]) for index in self._growing)
        return [*(index for index, searched in growing if searched and searched.is_stale), *new]

    @property
    def total(self) -> int:
        """The number of all known matches."""
        return sum(self._counts)

    def rank(self, index: int, number: int) -> int:
        """The rank of a match, counted from the newest."""
        return sum(self._counts[index:]) - number


class SearchPainters:
    """Painters whose rows stay as they are while they are searched.

    A block that grows gets one of the search's own, which is given what is new each time: the
    block's may gain and lose rows between two slices, and what it paints is the transcript's to
    measure.
    """

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._growing: dict[int, tuple[Block, Painter, int]] = {}

    def cut(self, count: int) -> None:
        """Forget all but the first `count` blocks."""
        for index in [index for index in self._growing if index >= count]:
            del self._growing[index]

    def may_show(self, block: Block, needle: Needle) -> bool:
        """False only if the painted block cannot have a match."""
        if not needle:
            return False
        source = block.source
        if isinstance(source, ToolSource):
            painter = replace(source, fold="folded").painter(self._canvas)
            painter.work(0.0)
            return needle.may_be_in(
                f"{painter.rows.row(0).text}\n{source.output[:MAX_OUTPUT_LENGTH]}"
            )
        if block.kind not in _AS_GIVEN or source.size > _MAX_SIFTED:
            return True
        return needle.may_be_in(source.text)

    def painter(self, index: int, block: Block) -> Painter:
        """A painter that was given all the text of the block, which it may still have to paint."""
        kept = self._growing.pop(index, None)
        source = block.source
        if isinstance(source, TextSource) and not block.finished:
            if kept is None or kept[0] is not block:
                kept = block, source.painter(self._canvas), source.size
            _block, painter, size = kept
            if size < source.size:
                painter.append(source.text[size:])
            self._growing[index] = block, painter, source.size
            return painter
        own, canvas = block.painter, block.canvas
        is_open = block.is_painted and not isinstance(own, ToolPainter | TreePainter)
        if own is not None and is_open and canvas and canvas.width == self._canvas.width:
            return own
        if isinstance(source, ToolSource):
            source = replace(source, fold="open")
        if isinstance(source, TreeSource):
            source = source.unfolded()
        return source.painter(self._canvas)


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of matches found so far."""

    rank: int | None
    """The rank of the current match, 1 for the newest; None without one."""
    total: int
    is_done: bool
    """Whether everything has been searched."""

    def __str__(self) -> str:
        """Name the current match and the number of matches: `3 of 17+` while searching."""
        more = "" if self.is_done else "+"
        if self.rank is not None:
            return f"{self.rank:,} of {self.total:,}{more}"
        if self.total:
            return f"{self.total:,}{more} found"
        return "no matches" if self.is_done else "searching…"


@dataclass(frozen=True, slots=True)
class _Move:
    """On the way to a match: the block to look in next."""

    direction: Direction
    index: int
    number: int | None
    """The match of that block to go to, if it has so many; None for the nearest."""
    row: int | None = None
    """The nearest match is one that begins above this row."""
    left: int = 0
    """Blocks that may still be searched in."""


class Search:
    """One needle in one list of blocks, painted for one canvas."""

    def __init__(self, needle: Needle, blocks: Sequence[Block], canvas: Canvas) -> None:
        self.needle = needle
        self.index = SearchIndex()
        self.current: tuple[int, int] | None = None
        """Index of a block and number of a match in it."""
        self._blocks = blocks
        self.canvas = replace(canvas, highlights=False)
        self._painters = SearchPainters(self.canvas)
        self._todo: deque[int] = deque()
        self._running: dict[int, tuple[Block, Iterator[SearchedBlock | None]]] = {}
        self._move: _Move | None = None

    # What is asked

    @property
    def tally(self) -> Tally:
        """The number of matches and the current one."""
        current = self.current
        rank = None if current is None or self.position is None else self.index.rank(*current)
        is_done = not self._todo and not self._running
        return Tally(rank, self.index.total, is_done)

    @property
    def column(self) -> int:
        """Where the current match begins in its row."""
        if self.position is None or self.current is None:
            return 0
        index, number = self.current
        searched = self.index.get(index)
        matches = searched.matches if searched is not None else None
        return matches[number][0][1] if matches is not None else 0

    @property
    def position(self) -> tuple[int, int] | None:
        """The current match: index of the block, and row of its painter."""
        if self.current is None or self.current[0] >= len(self._blocks):
            return None
        index, number = self.current
        searched = self.index.get(index)
        if searched is None or searched.block is not self._blocks[index]:
            return None
        if searched.matches is None or number >= len(searched.matches):
            return None
        return index, searched.matches[number][0][0]

    # What is wanted

    def begin(self, index: int, row: int) -> None:
        """Go to the newest match above a row, and search on from there to the oldest."""
        self.index.follow(self._blocks)
        count = len(self._blocks)
        index = min(index, count - 1)
        self._todo = deque([*range(index, -1, -1), *range(count - 1, index, -1)])
        self._running.clear()
        self.current = None
        self._move = _Move(OLDER, index, None, row, count) if count else None

    def step(self, direction: Direction) -> None:
        """Go to the next older or newer match, wrapping around the ends."""
        self.follow()
        count = len(self._blocks)
        if self._move is not None or not count:
            return
        index, number = self.current or (count - 1 if direction == OLDER else 0, None)
        number = None if number is None else number + direction
        self._move = _Move(direction, index, number, left=count)
        self._follow_move()

    def repaint(self, canvas: Canvas) -> None:
        """Search everything again for another canvas, the current match first."""
        self.follow()
        current = self.current
        self.canvas = replace(canvas, highlights=False)
        self._painters = SearchPainters(self.canvas)
        self.index = SearchIndex()
        self.begin(*((current[0], 0) if current else (len(self._blocks), ANYWHERE)))
        if current is not None and self._move is not None:
            self._move = replace(self._move, number=current[1])

    def is_for(self, canvas: Canvas) -> bool:
        """Whether the results are for this canvas."""
        return self.canvas == replace(canvas, highlights=False)

    def follow(self) -> None:
        """Adopt blocks that were added, changed or removed."""
        there = self.index.kept(self._blocks)
        changed = self.index.follow(self._blocks)
        self._painters.cut(there)
        count = len(self._blocks)
        self._running = {
            index: running
            for index, running in self._running.items()
            if index < count and self._blocks[index] is running[0]
        }
        kept = [index for index in self._todo if index < count]
        waiting = {*kept, *self._running}
        new = [index for index in changed if index not in waiting]
        self._todo = deque([*reversed(new), *kept])
        if self.current is not None and self.current[0] >= there:
            self.current = None
        if self._move is not None and self._move.index >= there:
            self._move = None

    # Looking

    def work(self, deadline: float) -> bool:
        """Search until the deadline (of `time.monotonic`); True when there is more to do."""
        if len(self._blocks) != len(self.index):
            self.follow()
        while True:
            index = self._next()
            if index is None:
                return False
            self._search_on(index, min(monotonic() + _STEP_S, deadline))
            if monotonic() >= deadline:
                return True

    def _next(self) -> int | None:
        """The index of the block to search now."""
        index = self._follow_move()
        if index is not None:
            return index
        if self._running:
            return next(iter(self._running))
        while self._todo:
            index = self._todo.popleft()
            searched = self.index.get(index)
            if searched is None or searched.is_stale:
                return index
        return None

    def _search_on(self, index: int, deadline: float) -> None:
        block = self._blocks[index]
        if index not in self._running:
            self._running[index] = block, self._search_block(index, block)
        for searched in self._running[index][1]:
            if searched is not None:
                del self._running[index]
                if not self.index.put(index, searched):
                    self.follow()
                return
            if monotonic() >= deadline:
                return

    def _search_block(self, index: int, block: Block) -> Iterator[SearchedBlock | None]:
        size, finished = block.source.size, block.finished
        if not self._painters.may_show(block, self.needle):
            yield SearchedBlock(block, size, finished, None)
            return
        painter = self._painters.painter(index, block)
        while painter.work(monotonic() + _STEP_S):
            yield None
        for matches in search_rows(painter, self.needle):
            if matches is not None:
                yield SearchedBlock(block, size, finished, matches if len(matches) else None)
                return
            yield None

    # Moving

    def _follow_move(self) -> int | None:
        """Go on to the wanted match; returns a block that must be searched first."""
        while self._move is not None:
            move = self._move
            if move.index >= len(self._blocks):
                self._move = None
                break
            searched = self.index.get(move.index)
            if searched is None:
                return move.index
            number = _chosen(move, searched)
            if number is not None:
                self.current, self._move = (move.index, number), None
            elif move.left:
                index = (move.index + move.direction) % len(self._blocks)
                self._move = _Move(move.direction, index, None, left=move.left - 1)
            else:
                self._move = None
        return None


def _chosen(move: _Move, searched: SearchedBlock) -> int | None:
    """The match of a block at which a move ends; None if it goes on."""
    matches = searched.matches
    if matches is None:
        return None
    if move.row is not None:
        before = matches.before_row(move.row) if move.number is None else move.number + 1
        return min(before, len(matches)) - 1 if before else None
    if move.number is not None:
        return move.number if 0 <= move.number < len(matches) else None
    return len(matches) - 1 if move.direction == OLDER else 0
