"""From one code block of an answer to the next."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.painters.code_blocks import CodeBlock, Painted, code_blocks, code_text


@runtime_checkable
class _HasSections(Protocol):
    def sections(self) -> Iterator[Painted]: ...


class CodeSteps:
    """The code block of one answer that is gone to; None before the first and after the last."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._seen: tuple[object, object, int] | None = None
        self._found: list[CodeBlock] = []
        self._at: int | None = None

    @property
    def _blocks(self) -> list[CodeBlock]:
        """All of them now: an answer may grow, or be painted again at another width."""
        seen = self._block.painter, self._block.canvas, self._block.row_count
        if seen != self._seen:
            self._seen = seen
            self._found = list(blocks_of(self._block))
        return self._found

    @property
    def count(self) -> int:
        """How many the answer has."""
        return len(self._blocks)

    @property
    def is_on(self) -> bool:
        """Is it on a code block, whether or not that one is painted now?"""
        return self._at is not None

    @property
    def current(self) -> CodeBlock | None:
        """Where it is."""
        blocks, at = self._blocks, self._at
        return blocks[at] if at is not None and at < len(blocks) else None

    def step(self, direction: int) -> CodeBlock | None:
        """Go to the next one; past the last, and before the first, to the whole answer again."""
        places = [None, *range(self.count)]
        at = 0 if self.current is None or self._at is None else self._at + 1
        self._at = places[(at + direction) % len(places)]
        return self.current

    @property
    def text(self) -> str | None:
        """Its source."""
        found = self.current
        return None if found is None else code_text(self._block.source.text, found)

    def has_row(self, offset: int) -> bool:
        """Does it have this row of the block?"""
        found = self.current
        return found is not None and found.first <= offset - self._block.lead < found.end


def blocks_of(block: Block) -> Iterator[CodeBlock]:
    """The code blocks of what a block shows now."""
    if isinstance(block.painter, _HasSections):
        yield from code_blocks(block.painter.sections())


def code_at(block: Block, offset: int) -> str | None:
    """The source of the code block that has a row of a block."""
    place = offset - block.lead
    for found in blocks_of(block):
        if found.first <= place < found.end:
            return code_text(block.source.text, found)
    return None
