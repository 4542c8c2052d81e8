"""Painters for a search: their rows stay as they are while they are searched."""

from typing import Final

from ollm_tui.tui.transcript.block import Block, BlockKind
from ollm_tui.tui.transcript.painters.painter import Painter
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.painters.tool_call import MOST_OUTPUT, ToolPainter
from ollm_tui.tui.transcript.search.needle import Needle
from ollm_tui.tui.transcript.source import TextSource, ToolSource

_MOST_SIFTED: Final = 262_144
"""A source longer than this is painted without asking whether that can be of use."""
_AS_GIVEN: Final = frozenset({BlockKind.USER, BlockKind.THINKING, BlockKind.ANSWER})
"""What shows its source and nothing else."""


class SearchPainters:
    """Lends a block's own painter only when that has nothing left to do.

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
        """False only where painting the block would be of no use."""
        if not needle:
            return False
        source = block.source
        if isinstance(source, ToolSource):
            painter = source.painter(self._canvas)
            if isinstance(painter, ToolPainter):
                painter.set_fold("folded")
            painter.work(0.0)
            return needle.may_be_in(f"{painter.row(0).text}\n{source.output[:MOST_OUTPUT]}")
        if block.kind not in _AS_GIVEN or source.size > _MOST_SIFTED:
            return True
        return needle.may_be_in(source.text)

    def painter(self, index: int, block: Block) -> Painter:
        """A painter that was given all the block says now, which it may still have to paint."""
        kept = self._growing.pop(index, None)
        if isinstance(block.source, TextSource) and not block.finished:
            return self._grown(index, block, block.source, kept)
        own, canvas = block.painter, block.canvas
        is_open = block.is_painted and not isinstance(own, ToolPainter)
        if own is not None and is_open and canvas and canvas.width == self._canvas.width:
            return own
        painter = block.source.painter(self._canvas)
        if isinstance(painter, ToolPainter):
            painter.set_fold("open")
        return painter

    def _grown(
        self, index: int, block: Block, source: TextSource, kept: tuple[Block, Painter, int] | None
    ) -> Painter:
        if kept is None or kept[0] is not block:
            painter, size = source.painter(self._canvas), source.size
        else:
            _block, painter, size = kept
        if size < source.size:
            painter.append(source.text[size:])
        self._growing[index] = block, painter, source.size
        return painter
