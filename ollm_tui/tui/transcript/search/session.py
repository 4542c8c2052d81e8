"""A search that is open: its line, its worker, its marks, and the view that follows it."""

from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.tui.transcript.block import Block
from ollm_tui.tui.transcript.search.bar import SearchBar, tally_line
from ollm_tui.tui.transcript.search.marks import SearchMarks, shows_row
from ollm_tui.tui.transcript.search.needle import Needle
from ollm_tui.tui.transcript.search.search import ANYWHERE, Direction, Search, Tally

if TYPE_CHECKING:
    from textual.widget import Widget
    from textual.worker import Worker

    from ollm_tui.tui.transcript.reader import NavigableTranscript

SLICE_S: Final = 0.008
"""Most time that looking may take before keys get their turn."""
PAUSE_S: Final = 0.002
LOOK_AGAIN_S: Final = 0.2
"""How often an open search looks whether the chat has changed."""
SAID_S: Final = 0.1
"""How often a number that only grows is written."""


class TranscriptSearch:
    """From the key that opens the line to the one that closes it."""

    def __init__(self, view: "NavigableTranscript", bar: SearchBar) -> None:
        self._view = view
        self._bar = bar
        self._back: Widget | None = view.screen.focused
        self._search: Search | None = None
        self._marks: SearchMarks | None = None
        self._worker: Worker[None] | None = None
        self._changed = anyio.Event()
        self._origin: tuple[int, int] = (0, 0)
        self._origin_block: Block | None = None
        self._shown: tuple[Tally, tuple[int, int] | None] | None = None
        self._goes = True
        self._shown_at = 0.0
        self._followed_at = 0.0

    @property
    def has_focus(self) -> bool:
        """Do keys go to the line?"""
        return self._bar.has_focus_within

    @property
    def text(self) -> str:
        """What is searched for."""
        return self._search.needle.text if self._search is not None else ""

    @property
    def tally(self) -> Tally | None:
        """How the search stands; None while there is nothing to look for."""
        return self._search.tally if self._search is not None else None

    def open(self, text: str) -> None:
        """Show the line and begin."""
        self._bar.ask(text)
        self.seek(self._bar.text)
        self._worker = self._view.run_worker(self._run, group="search", exclusive=True)

    def ask(self, text: str) -> None:
        """Let another needle be written."""
        self._bar.ask(text or None)

    def close(self) -> None:
        """Take the line and the marks away; the view stays where it is."""
        if self._worker is not None:
            self._worker.cancel()
        self._set_search(None)
        self._view.release_row()
        if self._back is not None and self._back.is_attached and self._back.focusable:
            self._view.screen.set_focus(self._back)
        else:
            self._view.screen.focus_next("Composer")
        self._bar.hide()

    # The needle

    def seek(self, text: str) -> None:
        """Search for another text, from where the person left the view."""
        if text == self.text and self._search is not None:
            return
        if not (self._view.holds_row and self._has_origin):
            self._begin_at(self._lowest_in_view())
        canvas, needle = self._view.canvas, Needle(text)
        if canvas is None or not needle:
            self._set_search(None)
        else:
            search = Search(needle, self._view.shelf.blocks, canvas)
            search.begin(*self._origin)
            self._set_search(search)
        self._changed.set()

    def _set_search(self, search: Search | None) -> None:
        if self._marks is not None:
            self._view.marks.remove(self._marks)
        self._search, self._shown, self._marks = search, None, None
        self._goes = True
        if search is not None:
            self._marks = SearchMarks(search)
            self._view.marks.insert(0, self._marks)
        else:
            self._bar.say("")
        self._view.refresh()

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
        search, canvas = self._search, self._view.canvas
        if search is None or canvas is None:
            return False
        if not search.is_for(canvas):
            search.repaint(canvas)
            # who has scrolled away wants to stay there
            self._goes = self._view.holds_row
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
        shown = search.tally, search.current if search.place else None
        if shown == self._shown:
            return
        before, now = self._shown, monotonic()
        is_same_match = before is not None and before[1] == shown[1]
        if is_same_match and not shown[0].is_done and now - self._shown_at < SAID_S:
            return
        self._shown, self._shown_at = shown, now
        self._bar.say(tally_line(shown[0]))
        if shown[1] is not None and not is_same_match and self._goes:
            self._go()
        self._view.refresh()

    # The view

    def _go(self) -> None:
        place = self._search.place if self._search is not None else None
        if place is None or place[0] >= len(self._view.shelf):
            return
        index, row = place
        block = self._view.shelf.blocks[index]
        if not shows_row(block, row):
            self._view.toggle_fold(block.id, only_open=True)
        self._view.show_row(index, block.lead + row)

    def _begin_at(self, place: tuple[int, int]) -> None:
        """Let the next needle be looked for from there."""
        blocks = self._view.shelf.blocks
        self._origin = place
        self._origin_block = blocks[place[0]] if place[0] < len(blocks) else None

    @property
    def _has_origin(self) -> bool:
        """Is the block still there that the next needle is looked for from?"""
        blocks, index = self._view.shelf.blocks, self._origin[0]
        return index < len(blocks) and blocks[index] is self._origin_block

    def _lowest_in_view(self) -> tuple[int, int]:
        """The block at the lower edge, and the painter's row below that edge."""
        view = self._view
        if not view.shelf.blocks:
            return 0, 0
        index, offset = view.shelf.find(view.scroll_offset.y + view.size.height - 1)
        return index, _row_below(view.shelf.blocks[index], offset)

    def _here(self) -> tuple[int, int]:
        """The current match, as a place to begin at; it is found again itself."""
        place = self._search.place if self._search is not None else None
        if place is not None:
            return place[0], place[1] + 1
        return self._origin if self._has_origin else self._lowest_in_view()


def _row_below(block: Block, offset: int) -> int:
    is_last = offset >= block.height - 1
    return ANYWHERE if is_last else max(offset - block.lead + 1, 0)
