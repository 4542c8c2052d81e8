"""A caret in painted rows: always at a position in text that exists, never in a gutter."""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from rich.cells import cell_len, split_graphemes
from textual.geometry import Offset
from textual.selection import Selection

from ollm_tui.tui.painters import BLANK, Row, at_cell
from ollm_tui.tui.transcript.block import MARGIN, Block
from ollm_tui.tui.transcript.block_list import address, unpacked
from ollm_tui.tui.transcript.rendering import Span

CaretMove: TypeAlias = Literal[
    "left", "right", "word_left", "word_right", "line_start", "line_end",
    "up", "down", "page_up", "page_down", "top", "bottom",
]  # fmt: skip
CARET: Final = "transcript--caret"
_WORD: Final = re.compile(r"\w+")
_FAR: Final = 1 << 31


class Caret:
    """A position (code point of the strip, packed address), and the start of a selection."""

    def __init__(self, blocks: Sequence[Block], paint: Callable[[int], Awaitable[None]]) -> None:
        """Walk over blocks; `paint` makes the rows of a block, as far as time allows."""
        self._blocks = blocks
        self._paint = paint
        self.position = Offset(MARGIN, 0)
        """The position in the form that selections have."""
        self._began: Offset | None = None
        self._is_marking = False
        self._cell: int | None = None
        """The column that up and down keep to."""

    @property
    def address(self) -> tuple[int, int]:
        """The block's index and the row in it."""
        return unpacked(self.position.y)

    @property
    def selection(self) -> Selection | None:
        """What is selected; None without a start, or if it is empty."""
        if self._began is None or self._began == self.position:
            return None
        return Selection.from_offsets(self._began, self.position)

    def toggle_mark(self) -> None:
        """Start a selection here that every move extends, or end it."""
        self._is_marking = not self._is_marking
        self._began = self.position if self._is_marking else None

    async def start(self, index: int) -> bool:
        """Go to the first row of a block's text, or the nearest; False where there is no text."""
        await self._paint(index)
        above = self._blocks[index].lead - 1
        row = await self._next(index, above, 1) or await self._next(index, above + 1, -1)
        if row is not None:
            self._go(row, 0)
        return row is not None

    async def move(self, move: CaretMove, *, extends: bool = False, page: int = 1) -> None:
        """Move; `extends` selects on the way, and `page` is the number of rows of a page."""
        await self._find_again()
        if not self._is_marking:
            self._began = (self._began or self.position) if extends else None
        rows = {"up": -1, "down": 1, "page_up": -page, "page_down": page}
        if move in rows:
            await self._rows(rows[move])
        elif move == "top":
            await self._edge(0, -1, 1)
        elif move == "bottom":
            await self._edge(len(self._blocks) - 1, _FAR, -1)
        else:
            await self._along(move)

    async def _find_again(self) -> None:
        """Find the row again, which may have lost its painter or have changed."""
        index, offset = self.address
        await self._paint(index)
        offset = min(offset, max(self._height(index) - 1, 0))
        if not _holds_text(self._row_at((index, offset))):
            near = await self._next(index, offset, -1) or await self._next(index, offset, 1)
            index, offset = near or (index, offset)
        row = self._row_at((index, offset))
        if (x := self.position.x) not in _positions(row) or (index, offset) != self.address:
            self._go((index, offset), x - MARGIN)

    # Along a row

    async def _along(self, move: CaretMove) -> None:
        self._cell = None
        x, is_left = self.position.x, move in {"left", "word_left"}
        positions = _positions(self._row)
        match move:
            case "line_start":
                x = positions[0]
            case "line_end":
                x = positions[-1]
            case "left" | "word_left" if x > positions[0]:
                stops = positions if move == "left" else _word_starts(self._row, positions)
                x = max((position for position in stops if position < x), default=positions[0])
            case "right" | "word_right" if x < positions[-1]:
                stops = positions if move == "right" else _word_starts(self._row, positions)
                x = min((position for position in stops if position > x), default=positions[-1])
            case _:
                target = await self._next(*self.address, -1 if is_left else 1)
                if target is not None:
                    self._go(target, len(self._row_at(target).text) if is_left else 0)
                return
        self.position = Offset(x, self.position.y)

    # From row to row

    async def _rows(self, count: int) -> None:
        if self._cell is None:
            self._cell = cell_len(self._row.text[: self.position.x - MARGIN])
        cell, at = self._cell, self.address
        for _ in range(abs(count)):
            target = await self._next(*at, 1 if count > 0 else -1)
            if target is None:
                break
            at = target
        self._go(at, at_cell(self._row_at(at).text, cell))
        self._cell = cell

    async def _edge(self, index: int, offset: int, direction: int) -> None:
        self._cell = None
        await self._paint(index)
        target = await self._next(index, min(offset, self._height(index)), direction)
        if target is not None:
            self._go(target, 0 if direction > 0 else len(self._row_at(target).text))

    async def _next(self, index: int, offset: int, direction: int) -> tuple[int, int] | None:
        """The nearest row above or below that can have text."""
        while True:
            offset += direction
            while not 0 <= offset < self._height(index):
                index += direction
                if not 0 <= index < len(self._blocks):
                    return None
                await self._paint(index)
                offset = 0 if direction > 0 else self._height(index) - 1
            if _holds_text(self._row_at((index, offset))):
                return index, offset

    def _go(self, row_address: tuple[int, int], point: int) -> None:
        positions = _positions(self._row_at(row_address))
        before = [position for position in positions if position <= MARGIN + point]
        self.position = Offset(max(before, default=positions[0]), address(*row_address))
        self._cell = None

    @property
    def _row(self) -> Row:
        return self._row_at(self.address)

    def _row_at(self, row_address: tuple[int, int]) -> Row:
        index, offset = row_address
        return self._blocks[index].row(offset) if index < len(self._blocks) else BLANK

    def _height(self, index: int) -> int:
        """The number of rows of a block that are painted, not only estimated."""
        if index >= len(self._blocks):  # it was taken away while another was painted
            return 0
        block = self._blocks[index]
        if block.hides_its_rows or block.painter is None:
            return block.lead
        return min(block.lead + block.painter.rows.row_count, block.height)

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterator[Span]:
        """Mark the character after the caret."""
        del block
        if (index, offset) == self.address:
            after = (position for position in _positions(row) if position > self.position.x)
            yield self.position.x, next(after, self.position.x + 1), CARET


def _holds_text(row: Row) -> bool:
    """Whether a row can have text; rows of mere decoration are skipped."""
    return not row.aside and (not row.text or len(row.text) > row.gutter)


def _positions(row: Row) -> list[int]:
    """All positions in a row, from the end of its gutter to the end of its text."""
    starts = [start for start, _end, _size in split_graphemes(row.text)[0] if start >= row.gutter]
    return [MARGIN + start for start in (*starts, len(row.text))]


def _word_starts(row: Row, positions: Sequence[int]) -> list[int]:
    starts = {MARGIN + word.start() for word in _WORD.finditer(row.text)}
    return [position for position in positions if position in starts]
