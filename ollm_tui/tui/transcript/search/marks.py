"""The matches of a search, laid over the rows that are in view."""

from collections.abc import Iterator
from typing import Final

from ollm_tui.tui.transcript.block import MARGIN, Block
from ollm_tui.tui.transcript.painters.rows import Row
from ollm_tui.tui.transcript.painters.tool_call import PEEK_ROWS
from ollm_tui.tui.transcript.rendering import Span
from ollm_tui.tui.transcript.search.index import Looked
from ollm_tui.tui.transcript.search.matches import Letters
from ollm_tui.tui.transcript.search.search import Search
from ollm_tui.tui.transcript.source import ToolSource

FOUND: Final = "transcript--found"
CURRENT: Final = "transcript--found-current"


class SearchMarks:
    """All matches in one look, the current one in another."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterator[Span]:
        """The matches in a row, as far as they are known."""
        looked = self._search.index.get(index)
        place = offset - block.lead
        if looked is None or looked.matches is None or looked.block is not block or place < 0:
            return
        if block.canvas is None or block.canvas.width != self._search.width:
            return
        if not shows_row(block, place):
            return
        text, letters = row.text, Letters(row.text)
        for number, start, end in looked.matches.in_row(place, row.gutter, len(text)):
            if looked.is_stale and not self._still_there(looked, number, text[start:end]):
                continue
            start, end = letters.whole(start, end)
            name = CURRENT if self._search.current == (index, number) else FOUND
            yield MARGIN + start, MARGIN + end, name

    def _still_there(self, looked: Looked, number: int, text: str) -> bool:
        """In a row of a block that grows, is this a match, or may it be a part of one?"""
        matches, needle = looked.matches, self._search.needle
        if matches is None:
            return False
        (first, _low), (last, _high) = matches[number]
        if first != last:
            return True
        return needle.pattern.fullmatch(needle.comparable(text)) is not None


def shows_row(block: Block, row: int) -> bool:
    """Is this row of the open block shown as it is now?"""
    source = block.source
    if not isinstance(source, ToolSource):
        return not block.hides_its_rows
    # A row more than a peek has the remark that there is more.
    return row == 0 or source.fold == "open" or (source.fold == "peek" and row <= PEEK_ROWS)
