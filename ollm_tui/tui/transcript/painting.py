"""The painting of a transcript: what is in view is painted, in slices, at most once a frame."""

import asyncio
from asyncio import TimerHandle
from collections.abc import Callable
from time import monotonic
from typing import Final

import anyio.lowlevel
from textual.widget import Widget

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.painters import Canvas
from ollm_tui.tui.transcript.block import Block, TextSource
from ollm_tui.tui.transcript.block_list import BlockList
from ollm_tui.tui.transcript.paint_queue import PaintQueue
from ollm_tui.tui.transcript.scroller import Scroller

FRAME_S = 1 / 30
"""Most time that a painting of streamed text waits for those before it."""
SHARE = 0.1
"""The share of the time that paintings may take, but for the first `BURST_S`."""
FAST_SHARE = 0.03
"""The same while text comes so fast that nobody reads its words one by one."""
FAST_S = 0.006
"""The time between two pieces of such text, of which each has all that came since the last."""
BURST_S = 0.01
"""How long paintings may take at once after a rest: the first words are not to wait."""
SLICE_S = 0.008
"""Most time one painting may take before keys get their turn."""
PAUSE_S = 0.003
YIELD_S = 0.02
"""How long painting waits for what is typed: a frame of the screen, and some."""
MAX_YIELD_S = 0.1
"""Most time without any painting while the user goes on typing."""
MAX_WAIT_S = 0.3
"""Most time a key waits for rows that it needs."""
NEAR_ROWS = 1500
"""Rows on each side of the view that are painted while nothing else is to do."""
_LOOK_AGAIN: Final = 8  # rows the view has to move before its surroundings are looked at again


@dataclass(slots=True, eq=False)
class FrameBudget:
    """How much of the time paintings have taken, and how long the next one waits for that."""

    _saved_s: float = BURST_S
    """How long paintings may take at once; negative after a costly one."""
    _saved_at: float = 0.0
    _share: float = SHARE
    _changed_at: float = 0.0

    def note_change(self, now: float) -> None:
        """Note that there is more to paint."""
        self._save(now)
        self._share = FAST_SHARE if now - self._changed_at < FAST_S else SHARE
        self._changed_at = now

    def wait_s(self, now: float) -> float:
        """Return how long to wait, so that all paintings together take no more than their share."""
        self._save(now)
        return min(max(-self._saved_s / self._share, 0.0), FRAME_S)

    def spend(self, began: float, ended: float) -> None:
        """Note a painting; the longest delays the next one by no more than `FRAME_S`."""
        self._save(began)
        self._saved_s = max(self._saved_s - (ended - began), -self._share * FRAME_S)
        self._saved_at = ended

    def _save(self, now: float) -> None:
        self._saved_s = min(self._saved_s + self._share * (now - self._saved_at), BURST_S)
        self._saved_at = now


@dataclass(eq=False)
class PaintScheduler:
    """Paints the blocks that change in view, and those that come into view."""

    _view: Widget
    _block_list: BlockList
    _queue: PaintQueue
    _scroller: Scroller
    _clear_selection: Callable[[], None]
    """Called when rows move, which may be selected."""
    _frame_timer: TimerHandle | None = None
    _painted_at: float = 0.0
    _budget: FrameBudget = field(default_factory=FrameBudget)
    _way_until: float = 0.0
    _looked_at: tuple[Canvas, int, int, int] | None = None

    @property
    def busy(self) -> bool:
        """Whether anything is still to be painted."""
        return self._frame_timer is not None or bool(self._queue)

    # What has changed

    def add(self, block: Block) -> None:
        """Put a block at the end and paint it soon; a finished text has no rows until it is seen.

        Raises:
            ValueError: there is a block with its id.
        """
        canvas, is_text = self._block_list.canvas, isinstance(block.source, TextSource)
        if is_text and block.finished and canvas is not None:
            block.estimate(canvas)
            self._block_list.add(block)
            self._show_soon(is_last=True)
        else:
            self._block_list.add(block)
            self.changed(block)

    def changed(self, block: Block, *, is_last: bool = False) -> None:
        """Paint a block soon if it grows or has rows; any other waits until it is in view.

        Its last change is painted with the next turn of the event loop.
        """
        index = self._block_list.index(block.id)
        block.is_painted = False
        if block.painter is not None or not block.finished:
            self._queue.put(index)
        else:
            self._queue.drop(index)
            self.estimate(block)
        self._show_soon(is_last=is_last)

    def _show_soon(self, *, is_last: bool) -> None:
        now = monotonic()
        self._budget.note_change(now)
        self.wake()
        if is_last and self._frame_timer is not None and self._frame_timer.when() > now:
            self._frame_timer.cancel()
            self._paint_in(0.0)

    def refresh_look(self, index: int) -> None:
        """Paint a block that says nothing new, but looks different."""
        self._queue.put(index, is_new=False)
        self.wake()

    def estimate(self, block: Block) -> None:
        """Guess the height of a block that has no rows."""
        if self._block_list.canvas is not None and block.painter is None:
            block.estimate(self._block_list.canvas)
            self._block_list.measure(self._block_list.index(block.id))

    def folded(self, block: Block) -> None:
        """Adopt a block's height after its rows have come or gone without any painting."""
        index = self._block_list.index(block.id)
        self._looked_at = None
        self._block_list.measure(index)
        self.rows_moved(self._block_list.start(index))

    def rows_moved(self, first: int) -> None:
        """Show rows that have moved from `first` on."""
        if self._block_list.canvas is not None and self._view.is_attached:
            self._clear_selection()
            self._looked_at = None
            self._scroller.show_change(first, None)
            self.wake()

    def cut(self, count: int) -> None:
        """Remove all but the first `count` blocks."""
        self._block_list.cut(count)
        self._queue.cut(count)
        self._scroller.let_go(forced=True)

    # Frames

    def yield_to_input(self) -> None:
        """Let something else be drawn before the next slice is painted."""
        self._way_until = monotonic() + YIELD_S

    def wake(self) -> None:
        """Paint soon, the later the more the last paintings cost; no timer runs while idle."""
        if self._frame_timer is None and self._block_list.canvas is not None:
            self._paint_in(self._budget.wait_s(monotonic()))

    def _paint_in(self, seconds: float) -> None:
        # Textual's own timer never fires if the loop is held up for as long while it starts, and a
        # message to the view takes further turns of the loop.
        self._frame_timer = asyncio.get_running_loop().call_later(seconds, self._paint_frame)

    def _paint_frame(self) -> None:
        self._frame_timer = None
        now = monotonic()
        if now < self._way_until and now < self._painted_at + MAX_YIELD_S:
            self._paint_in(self._way_until - now)
        elif self._view.is_running and self._view.is_attached:
            try:
                self.paint_slice()
            except Exception as error:  # noqa: BLE001 - the loop would only log it; the app ends
                self._view.app._handle_exception(error)

    def paint_slice(self) -> None:
        """Paint for as long as keys may wait, and show what has changed."""
        if self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None
        canvas, scroller = self._block_list.canvas, self._scroller
        if canvas is None:
            return
        began = monotonic()
        scroller.show_height()
        in_view = scroller.in_view
        self._look_around(canvas, *in_view)
        scroller.keep_place()
        changed = self._queue.work(canvas, in_view, monotonic() + SLICE_S)
        self._painted_at = monotonic()
        if changed is not None:
            scroller.mark_change(changed.first, changed.end)
        scroller.writer.flush()
        self._budget.spend(began, monotonic())
        low, high = scroller.in_view
        self._look_around(canvas, low, high)
        if self._queue:
            self._paint_in(PAUSE_S)
        else:
            scroller.let_go()
            self._queue.drop_distant_rows(low, high, 2 * NEAR_ROWS)

    async def paint_block(self, index: int) -> None:
        """Paint a block that a key needs, for as long as a key may wait."""
        canvas, until = self._block_list.canvas, monotonic() + MAX_WAIT_S
        while canvas is not None and index < len(self._block_list):
            if canvas is not self._block_list.canvas or not self._queue.lacks(canvas, index):
                break
            if monotonic() > until:
                break
            self._scroller.keep_top()
            in_view = self._scroller.in_view
            change = self._queue.work_on(index, canvas, in_view, monotonic() + SLICE_S)
            if change is not None:
                self._scroller.show_change(change.first, change.end)
            await anyio.lowlevel.checkpoint()
        self.wake()

    def lacks(self, index: int) -> bool:
        """Whether a block has rows that are not painted yet."""
        return self._block_list.canvas is None or self._queue.lacks(self._block_list.canvas, index)

    def scrolled(self) -> None:
        """Paint what has come into view."""
        if self._block_list.canvas is None:
            return
        in_view = self._scroller.in_view
        self._look_around(self._block_list.canvas, *in_view)
        if self._queue.holds_any(*in_view):
            self.paint_slice()
        elif self._queue:
            self.wake()

    def show_row(self, index: int, offset: int) -> None:
        """Scroll a row of a block into view, where it stays, and paint it."""
        if self._block_list.canvas is not None:
            self._queue.put(index, is_new=False)
            self._scroller.hold_row(index, offset)
            self.paint_slice()

    def _look_around(self, canvas: Canvas, low: int, high: int) -> None:
        """Queue what is in view or near it and has no rows yet."""
        last = self._looked_at
        moved = last is None or abs(low - last[2]) > _LOOK_AGAIN or last[3] != high - low
        if moved or last is None or last[0] is not canvas or last[1] != len(self._block_list):
            self._looked_at = canvas, len(self._block_list), low, high - low
            if self._block_list.blocks:
                self._queue.want_around(canvas, low, high, NEAR_ROWS)
