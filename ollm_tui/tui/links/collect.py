"""All links of a text, found by painting it out of sight: exactly those that can be clicked."""

from time import monotonic

import anyio.lowlevel

from ollm_tui.tui.transcript.painters.links import FoundLink, links_of
from ollm_tui.tui.transcript.painters.markdown import MarkdownPainter
from ollm_tui.tui.transcript.painters.rows import Canvas, Palette

SLICE_S = 0.008
_WIDTH = 400
"""Cells: few lines are wrapped, and no table of sense is cut."""
_ROWS_AT_ONCE = 2_000


async def links_in(markdown: str) -> list[FoundLink]:
    """Each address once, where it first stands; keys get their turn meanwhile."""
    painter = MarkdownPainter(Canvas(_WIDTH, Palette()))
    painter.append(markdown)
    painter.finish()
    while painter.work(monotonic() + SLICE_S):
        await anyio.lowlevel.checkpoint()
    found: dict[str, FoundLink] = {}
    first = 0
    while first < painter.rows.row_count:
        end = min(first + _ROWS_AT_ONCE, painter.rows.row_count)
        while end < painter.rows.row_count and painter.rows.row(end).join is not None:
            end += 1
        for link in links_of(painter.rows.row(number) for number in range(first, end)):
            found.setdefault(link.address, link)
        first = end
        await anyio.lowlevel.checkpoint()
    return list(found.values())
