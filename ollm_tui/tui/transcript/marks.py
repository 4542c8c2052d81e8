"""What is laid over finished rows, such as matches of a search: nothing is painted again for it."""

from collections.abc import Iterable
from typing import Protocol

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.painters.rows import Row

Span = tuple[int, int, str]
"""First and last code point of the strip (the margin counts) and a component class."""


class Marks(Protocol):
    """Says what of a row stands out."""

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterable[Span]:
        """The marked parts of one row, in order; `offset` is its place in that block."""
        ...
