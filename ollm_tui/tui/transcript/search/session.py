"""A search that is open: its line, its worker, its marks, and the view that follows it."""

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.dataclass import dataclass
from ollm_tui.tui.painters import PEEK_ROWS, Row, TreeSource
from ollm_tui.tui.transcript.block import MARGIN, Block, ToolSource
from ollm_tui.tui.transcript.rendering import Span
from ollm_tui.tui.transcript.search.matches import Letters, Needle
from ollm_tui.tui.transcript.search.search import ANYWHERE, Direction, Search, Tally

if TYPE_CHECKING:
    from textual.widget import Widget
    from textual.worker import Worker

    from ollm_tui.tui.transcript.search.bar import SearchBar
    from ollm_tui.tui.transcript.transcript import Transcript

SLICE_S: Final = 0.008
"""Most time that searching may take before keys get their turn."""
PAUSE_S: Final = 0.002
LOOK_AGAIN_S: Final = 0.2
"""How often an open search checks whether the chat has changed."""
SHOWN_S: Final = 0.1
"""How often a number that only grows is shown."""
FOUND: Final = "transcript--found"
CURRENT: Final = "transcript--found-current"


class TranscriptSearch:
    """A search from the key that opens the line to the one that closes it."""

    def __init__(self, transcript: "Transcript", bar: "SearchBar") -> None:
        """Search in a transcript; `close` gives the focus back to the widget that has it now."""
        self._folding = transcript.folding
        self._painting = transcript.painting
        self._blocks = transcript.block_list
        self._scroller = transcript.scroller
        self._renderer = transcript.renderer
        self._tables = transcript.tables
        self._bar = bar
        self._back: Widget | None = bar.screen.focused
        self._search: Search | None = None
        self._marks: SearchMarks | None = None
        self._worker: Worker[None] | None = None
        self._changed = anyio.Event()
        self._origin: tuple[int, int] = (0, 0)
        self._origin_block: Block | None = None
        self._shown: tuple[Tally, tuple[int, int] | None] | None = None
        self._goes = True
        self._shown_at = self._followed_at = 0.0

    @property
    def has_focus(self) -> bool:
        """Whether keys go to the line."""
        return self._bar.has_focus_within

    @property
    def text(self) -> str:
        """The text that is searched for."""
        return self._search.needle.text if self._search is not None else ""

    @property
    def tally(self) -> Tally | None:
        """The state of the search; None while there is nothing to search for."""
        return self._search.tally if self._search is not None else None

    def open(self, text: str) -> None:
        """Show the line and begin."""
        self._bar.ask(text)
        self.seek(self._bar.text)
        self._worker = self._bar.run_worker(self._run, group="search", exclusive=True)

    def close(self) -> None:
        """Hide the line and remove the marks; the view stays where it is."""
        if self._worker is not None:
            self._worker.cancel()
        self._set_search(None)
        self._scroller.release_row()
        if self._back is not None and self._back.is_attached and self._back.focusable:
            self._bar.screen.set_focus(self._back)
        else:
            self._bar.screen.focus_next("Composer")
        self._bar.hide()

    # The needle

    def seek(self, text: str) -> None:
        """Search for another text, from where the user left the view."""
        if text == self.text and self._search is not None:
            return
        if not (self._scroller.holds_row and self._has_origin):
            self._begin_at(self._lowest_in_view())
        canvas, needle = self._blocks.canvas, Needle(text)
        if canvas is None or not needle:
            self._set_search(None)
        else:
            search = Search(needle, self._blocks.blocks, canvas)
            search.begin(*self._origin)
            self._set_search(search)
        self._changed.set()

    def _set_search(self, search: Search | None) -> None:
        if self._marks is not None:
            self._renderer.remove_marks(self._marks)
        self._search, self._shown, self._marks = search, None, None
        self._goes = True
        if search is not None:
            self._marks = SearchMarks(search)
            self._renderer.add_marks(self._marks, is_lowest=True)
        else:
            self._bar.say("")

    def step(self, direction: Direction) -> None:
        """Go to an older or a newer match, now or as soon as one is found."""
        if self._search is not None:
            self._goes = True
            self._search.step(direction)
            self._show()
            self._begin_at(self._here())
            self._changed.set()

    # Looking

    async def _run(self) -> None:
        while True:
            if self._look():
                await anyio.sleep(PAUSE_S)
                continue
            with anyio.move_on_after(LOOK_AGAIN_S):
                await self._changed.wait()
            self._changed = anyio.Event()

    def _look(self) -> bool:
        search, canvas = self._search, self._blocks.canvas
        if search is None or canvas is None:
            return False
        if not search.is_for(canvas):
            search.repaint(canvas)
            # who has scrolled away wants to stay there
            self._goes = self._scroller.holds_row
            self._shown = None
        now = monotonic()
        if now - self._followed_at > LOOK_AGAIN_S:
            self._followed_at = now
            search.follow()
        more = search.work(now + SLICE_S)
        self._show()
        return more

    def _show(self) -> None:
        search = self._search
        if search is None:
            return
        shown = search.tally, search.current if search.position else None
        if shown == self._shown:
            return
        before, now = self._shown, monotonic()
        is_same_match = before is not None and before[1] == shown[1]
        if is_same_match and not shown[0].is_done and now - self._shown_at < SHOWN_S:
            return
        self._shown, self._shown_at = shown, now
        self._bar.say(str(shown[0]))
        if shown[1] is not None and not is_same_match and self._goes:
            self._go()
        self._renderer.redraw()

    # The view

    def _go(self) -> None:
        current = self._search.position if self._search is not None else None
        if current is None or current[0] >= len(self._blocks):
            return
        index, row = current
        block = self._blocks.blocks[index]
        if not shows_row(block, row):
            self._folding.toggle(block.id, only_open=True)
        self._painting.show_row(index, block.lead + row)
        self._tables.show(block.row(block.lead + row), self._search.column if self._search else 0)

    def _begin_at(self, origin: tuple[int, int]) -> None:
        """Start the next search there."""
        blocks = self._blocks.blocks
        self._origin = origin
        self._origin_block = blocks[origin[0]] if origin[0] < len(blocks) else None

    @property
    def _has_origin(self) -> bool:
        """Whether the block where the next search starts is still there."""
        blocks, index = self._blocks.blocks, self._origin[0]
        return index < len(blocks) and blocks[index] is self._origin_block

    def _lowest_in_view(self) -> tuple[int, int]:
        """The block at the lower edge, and the painter's row below that edge."""
        if not self._blocks.blocks:
            return 0, 0
        index, offset = self._blocks.find(self._scroller.in_view[1] - 1)
        block = self._blocks.blocks[index]
        is_last = offset >= block.height - 1
        return index, ANYWHERE if is_last else max(offset - block.lead + 1, 0)

    def _here(self) -> tuple[int, int]:
        """The current match as a start for the next search, which finds it again."""
        current = self._search.position if self._search is not None else None
        if current is not None:
            return current[0], current[1] + 1
        return self._origin if self._has_origin else self._lowest_in_view()


@dataclass(slots=True, eq=False)
class SearchMarks:
    """Marks all matches in one style, and the current one in another."""

    _search: Search

    def spans(self, block: Block, index: int, offset: int, row: Row) -> Iterator[Span]:
        """The known matches in a row."""
        searched = self._search.index.get(index)
        painter_row = offset - block.lead
        if searched is None or searched.matches is None or searched.block is not block:
            return
        is_same_width = block.canvas is not None and block.canvas.width == self._search.canvas.width
        if painter_row < 0 or not is_same_width or not shows_row(block, painter_row):
            return
        text, letters = row.text, Letters(row.text)
        for number, start, end in searched.matches.in_row(painter_row, row.gutter, len(text)):
            (first, _), (last, _) = searched.matches[number]
            # in a growing block it may be one no more, or part of one
            if searched.is_stale and first == last and not self._is_match(text[start:end]):
                continue
            start, end = letters.whole(start, end)
            name = CURRENT if self._search.current == (index, number) else FOUND
            yield MARGIN + start, MARGIN + end, name

    def _is_match(self, text: str) -> bool:
        needle = self._search.needle
        return needle.pattern.fullmatch(needle.comparable(text)) is not None


def shows_row(block: Block, row: int) -> bool:
    """Whether a row of the unfolded block is shown as the block is folded now."""
    source = block.source
    if isinstance(source, TreeSource):
        return source.tree is None or source.tree.is_open
    if not isinstance(source, ToolSource):
        return not block.hides_its_rows
    # A row more than a peek has the remark that there is more.
    # What is shown first of a page or a search is not the beginning of all of it.
    is_in_peek = source.fold == "peek" and row <= PEEK_ROWS and not source.is_of_the_web
    return row == 0 or source.fold == "open" or is_in_peek
