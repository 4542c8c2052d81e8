"""Which blocks wait to be painted, in what order, and which may drop their rows again."""

from time import monotonic

from ollm_tui.tui.painters import Canvas, Change
from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.block_list import BlockList

LONG_ROWS = 1000
"""A block with more rows takes several frames."""


class PaintQueue:
    """Waiting blocks by index; the one put in last is painted first."""

    def __init__(self, block_list: BlockList) -> None:
        self._block_list = block_list
        self._waiting: dict[int, None] = {}
        self._with_rows: dict[int, None] = {}
        self._grown: set[int] = set()
        self._dropped_at = (0, 0)
        self.is_growing = False
        """Whether the last work showed something new, not only rows that came into view."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, index: int, *, is_new: bool = True) -> None:
        """Let a block be painted before all others; `is_new` if its text has grown."""
        self._waiting.pop(index, None)
        self._waiting[index] = None
        if is_new:
            self._grown.add(index)

    def drop(self, index: int) -> None:
        """Let a block wait until it comes into view."""
        self._waiting.pop(index, None)
        self._grown.discard(index)

    def cut(self, count: int) -> None:
        """Forget all but the first `count` blocks."""
        for queue in (self._waiting, self._with_rows):
            for index in [index for index in queue if index >= count]:
                del queue[index]
        self._grown = {index for index in self._grown if index < count}

    @property
    def lowest(self) -> int:
        """The index of the first waiting block; the number of blocks if none waits."""
        return min(self._waiting, default=len(self._block_list))

    def holds_any(self, low: int, high: int) -> bool:
        """Whether a block that has one of these rows waits."""
        return any(
            self._block_list.start(index) < high and self._block_list.start(index + 1) > low
            for index in self._waiting
        )

    def want_around(self, canvas: Canvas, low: int, high: int, rows: int) -> None:
        """Queue what has no rows for the canvas: in view first, then within `rows` of it."""
        waiting, blocks = self._waiting, self._block_list.blocks
        wanted = [
            index
            for index in self._block_list.around(low, high, rows)
            if index in waiting or _needs_paint(blocks[index], canvas)
        ]
        others = waiting.keys() - wanted
        self._waiting = dict.fromkeys([*sorted(others), *reversed(wanted)])

    def work(self, canvas: Canvas, view: tuple[int, int], deadline: float) -> Change | None:
        """Let waiting blocks paint until the deadline and return the rows that look different.

        Blocks that lack only the look of long pieces come after all others.
        """
        change: Change | None = None
        self.is_growing = False
        newest_first = list(reversed(self._waiting))
        for index in sorted(newest_first, key=self._is_refining):
            block_change = self.work_on(index, canvas, view, deadline)
            if block_change is not None:
                change = block_change if change is None else change.merge(block_change)
            if monotonic() > deadline:
                break
        return change

    def _is_refining(self, index: int) -> bool:
        painter = self._block_list.blocks[index].painter
        return painter is not None and painter.refining

    def lacks(self, canvas: Canvas, index: int) -> bool:
        """Whether a block has rows that are not painted yet."""
        is_waiting = index in self._waiting and not self._is_refining(index)
        return is_waiting or _needs_paint(self._block_list.blocks[index], canvas)

    def waits(self, index: int) -> bool:
        """Whether a block still needs work, if only on its look."""
        return index in self._waiting

    def work_on(
        self, index: int, canvas: Canvas, view: tuple[int, int], deadline: float
    ) -> Change | None:
        """Let one block paint until the deadline and return the rows that look different."""
        block = self._block_list.blocks[index]
        self.is_growing |= index in self._grown
        top, bottom = (row - self._block_list.start(index) for row in view)
        at_end = view[1] >= self._block_list.total and bottom > 0 > top - block.height
        if block.painter is None and at_end and block.row_count > LONG_ROWS:
            # At the end of the chat, rows are shown as they come, not an empty space for them.
            block.settle()
        painter = block.paint_for(canvas, top)
        self._with_rows[index] = None
        block.is_painted = not painter.work(deadline)
        if not block.is_painted:
            self._waiting.setdefault(index)
        else:
            self._waiting.pop(index, None)
            self._grown.discard(index)
        if index not in self._waiting or self._is_refining(index):
            block.settle()
        painted = painter.rows.take_change()
        difference = self._block_list.measure(index)
        if painted is None and not difference:
            return None
        start, first = self._block_list.start(index), painted.first if painted else 0
        if difference or painted is None or painted.end is None:
            return Change(start + (block.lead + first if first else 0), None)
        return Change(start + block.lead + first, start + block.lead + painted.end)

    def drop_distant_rows(self, low: int, high: int, rows: int) -> None:
        """Drop the rows of finished blocks that are further away than `rows`."""
        if (
            abs(low - self._dropped_at[0]) < rows // 4
            and len(self._with_rows) < self._dropped_at[1] + 100
        ):
            return
        for index in list(self._with_rows):
            start, end = self._block_list.start(index), self._block_list.start(index + 1)
            block = self._block_list.blocks[index]
            if (end < low - rows or start > high + rows) and block.finished:
                block.sleep()
                del self._with_rows[index]
        self._dropped_at = low, len(self._with_rows)


def _needs_paint(block: Block, canvas: Canvas) -> bool:
    is_painted = block.painter is not None and block.canvas is canvas
    return not is_painted and not block.hides_its_rows
