"""A scrolling view of painted rows: what is looked at is painted, in slices, once a frame."""

import asyncio
from asyncio import TimerHandle
from time import monotonic

import anyio.lowlevel
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from ollm_tui.tui.transcript.block import MARGIN
from ollm_tui.tui.transcript.hold import Hold
from ollm_tui.tui.transcript.paint_queue import PaintQueue
from ollm_tui.tui.transcript.painters.palette import Canvas
from ollm_tui.tui.transcript.rendering import StripView
from ollm_tui.tui.transcript.styles import palette_from

FRAME_S = 1 / 30
"""Least time between two paintings of streamed text."""
SLICE_S = 0.008
"""Most time one painting may take before keys get their turn."""
PAUSE_S = 0.003
WAY_S = 0.02
"""How long painting waits for what somebody typed: a frame of the screen, and some."""
LONGEST_WAY_S = 0.1
"""Most time without any painting while somebody types on and on."""
MOST_WAIT_S = 0.3
"""Most time a key waits for rows that it needs."""
WIDEST = 100
"""The text measure on a wide screen."""
NEAR_ROWS = 1500
"""Rows on each side of the view that are painted while nothing else is to do."""
_LOOK_AGAIN = 8
"""Rows the view has to move before its surroundings are looked at again."""
_NARROWEST = 12


class RowView(StripView, can_focus=False):
    """Has the rows of a shelf of blocks painted, and stays at its end or its place."""

    pinned = var(False, init=False)
    """The user has scrolled away from the end: the view stays where it is."""

    class PinnedChanged(Message):
        """The view has left or reached the end, or there is new text below it."""

        def __init__(self, view: "RowView", pinned: bool, unseen: bool) -> None:
            self.view = view
            self.pinned = pinned
            self.unseen = unseen
            super().__init__()

        @property
        def control(self) -> "RowView":
            """The transcript."""
            return self.view

    class LinkClicked(Message):
        """Somebody wants to know where a link leads."""

        def __init__(self, address: str) -> None:
            self.address = address
            """As it stands in the text: neither checked nor cleaned."""
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._queue = PaintQueue(self.shelf)
        self._frame_timer: TimerHandle | None = None
        self._painted_at = 0.0
        self._way_until = 0.0
        self._placing = False
        self._anchor: Hold | None = None
        self._looked_at: tuple[Canvas, int, int, int] | None = None

    @property
    def busy(self) -> bool:
        """Is anything still to be painted?"""
        return self._frame_timer is not None or bool(self._queue)

    # Painting

    def make_way(self) -> None:
        """Let something else be drawn before the next slice is painted."""
        self._way_until = monotonic() + WAY_S

    def _wake(self) -> None:
        """Paint soon, but not more often than the frame rate; nothing runs while nothing waits."""
        if self._frame_timer is None and self._canvas is not None:
            wait = self._painted_at + FRAME_S - monotonic()
            self._paint_in(max(wait, 0.001))

    def _paint_in(self, seconds: float) -> None:
        # Textual's own timer never fires if the loop is held up for as long while it starts.
        later = asyncio.get_running_loop().call_later
        # Textual looks up once what a method takes, but anew for every function `call_next` wraps.
        frame = events.Callback(callback=self._paint_frame)
        self._frame_timer = later(seconds, self.post_message, frame)

    def _paint_frame(self) -> None:
        now = monotonic()
        if now < self._way_until and now < self._painted_at + LONGEST_WAY_S:
            self._paint_in(self._way_until - now)
        else:
            self._paint_slice()

    def _paint_slice(self) -> None:
        if self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None
        canvas = self._canvas
        if canvas is None:
            return
        if self.shelf.total != self.virtual_size.height:
            self._show_change(min(self.shelf.total, self.virtual_size.height), None)
        self._look_around(canvas)
        self._keep_place()
        changed = self._queue.work(canvas, self._in_view, monotonic() + SLICE_S)
        self._painted_at = monotonic()
        if changed is not None:
            self._show_change(changed.first, changed.end)
        self._look_around(canvas)
        if self._queue:
            self._paint_in(PAUSE_S)
        else:
            self._let_go()
            low, high = self._in_view
            self._queue.let_sleep(low, high, 2 * NEAR_ROWS)

    async def paint_block(self, index: int) -> None:
        """Paint a block that somebody is about to go into, for as long as nobody minds."""
        canvas, until = self._canvas, monotonic() + MOST_WAIT_S
        while canvas is not None and canvas is self._canvas and index < len(self.shelf):
            if not self._queue.lacks(canvas, index) or monotonic() > until:
                break
            self._keep_everything()
            change = self._queue.work_on(index, canvas, self._in_view, monotonic() + SLICE_S)
            if change is not None:
                self._show_change(change.first, change.end)
            await anyio.lowlevel.checkpoint()
        self._wake()

    @property
    def _in_view(self) -> tuple[int, int]:
        """Numbers of the first row in view and of the first one below it."""
        top = self.scroll_offset.y
        return top, top + self.size.height

    def _look_around(self, canvas: Canvas) -> None:
        """Queue what is in view or near it and has no rows yet."""
        low, high = self._in_view
        seen = self._looked_at
        moved = seen is None or abs(low - seen[2]) > _LOOK_AGAIN or seen[3] != high - low
        if moved or seen is None or seen[0] is not canvas or seen[1] != len(self.shelf):
            self._looked_at = canvas, len(self.shelf), low, high - low
            if self.shelf.blocks:
                self._queue.want_around(canvas, low, high, NEAR_ROWS)

    def _show_change(self, first: int, end: int | None) -> None:
        """Repaint the changed rows that are in view; `end` None: all below."""
        total = self.shelf.total
        if total != self.virtual_size.height:
            self._set_height(total)
        self._place()
        top, bottom = self._in_view
        if end is None:
            end = max(total, bottom)
        low, high = max(first, top), min(end, bottom)
        if low < high:
            self.refresh_lines(low, high - low)
        if self.pinned and top >= self.max_scroll_y and not self.holds_row:
            self.pinned = False
        if self.pinned and end >= bottom and self._queue.is_growing:
            self.unseen = True

    def _set_height(self, rows: int) -> None:
        # `virtual_size` would lay out the whole screen for every new row, but only the scrollbar
        # depends on it: the widget's own size comes from its style.
        size = Size(self.size.width, rows)
        self.set_reactive(Widget.virtual_size, size)
        placing, self._placing = self._placing, True
        self._scroll_update(size)
        self._placing = placing

    # Place

    def _keep_place(self) -> None:
        """Remember what stands at the top if what is painted now may move it."""
        if self.pinned and self._anchor is None and self.shelf.blocks:
            index, _row = self.shelf.find(self.scroll_offset.y)
            if self._queue.lowest <= index:
                self._keep_everything()

    def _keep_everything(self) -> None:
        if self.pinned and self._anchor is None and self.shelf.blocks:
            index, row = self.shelf.find(self.scroll_offset.y)
            self._anchor = Hold.of(self.shelf, index, row)

    def _place(self) -> None:
        """Go on showing the end, or what was at the top."""
        if not self.pinned:
            self._scroll_rows(self.max_scroll_y)
        elif self._anchor is not None:
            row = self._anchor.top(self.shelf)
            self._scroll_rows(min(max(row, 0), self.max_scroll_y))

    def _let_go(self) -> None:
        """Nothing moves any more by itself."""
        if not self.holds_row:
            self._anchor = None

    def _scroll_rows(self, row: int) -> None:
        if row == self.scroll_y:
            return
        self._placing = True
        self.scroll_y = row
        self.scroll_target_y = row
        self._placing = False

    def follow(self) -> None:
        """Go to the end, and stay there while more comes."""
        self._anchor = None
        self.pinned = False
        if self._canvas is not None:
            self._place()
            self._wake()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling away from the end pins the view; reaching the end lets it follow again."""
        super().watch_scroll_y(old_value, new_value)
        if self._placing:
            return
        self._anchor = None
        self.pinned = round(new_value) < self.max_scroll_y
        if self._canvas is None:
            return
        self._look_around(self._canvas)
        if self._queue.holds_any(*self._in_view):
            self._paint_slice()
        elif self._queue:
            self._wake()

    def show_row(self, index: int, offset: int) -> None:
        """Scroll a row of a block into view, with some rows around it.

        There it stays, whatever is painted or added, until somebody scrolls or `release_row`.
        """
        if self._canvas is None:
            return
        self._queue.put(index, is_new=False)
        number, (top, bottom) = self.shelf.start(index) + offset, self._in_view
        height = bottom - top
        around = min(2, height // 4)
        below = number - top
        if below < around and top > 0:
            below = height // 3
        elif number >= bottom - around:
            below = height * 2 // 3
        self._anchor = Hold.at(index, offset, below)
        self.pinned = True
        self._place()
        self._paint_slice()

    @property
    def holds_row(self) -> bool:
        """Is the view where `show_row` has put it?"""
        return self._anchor is not None and self._anchor.lasts

    def release_row(self) -> None:
        """Let the view be where it is; at the end it follows again."""
        if self.holds_row:
            self._anchor = None
            self.pinned = self.scroll_offset.y < self.max_scroll_y

    def show_block(self, index: int) -> None:
        """Scroll a whole block into view; its beginning where it is too high or still sleeps."""
        block = self.shelf.blocks[index]
        is_painted = block.hides_its_rows or block.painter is not None
        end = block.height if is_painted else block.gap + self.size.height
        self.show_rows(index, max(block.gap - 1, 0), end)

    def show_rows(self, index: int, first: int, end: int) -> None:
        """Scroll rows of a block into view; the first ones where not all fit."""
        start, height = self.shelf.start(index), self.size.height
        top, bottom = self._in_view
        if start + first < top:
            self.scroll_to(y=start + first, animate=False, immediate=True)
        elif start + end > bottom:
            row = start + min(first, end - height)
            self.scroll_to(y=max(row, 0), animate=False, immediate=True)

    def watch_pinned(self, pinned: bool) -> None:
        """Tell the screen."""
        if not pinned:
            self.unseen = False
        self.post_message(self.PinnedChanged(self, pinned, self.unseen))

    def watch_unseen(self, unseen: bool) -> None:
        """Show or hide the marker."""
        self.refresh_lines(self.scroll_offset.y + self.size.height - 1)
        if unseen:
            self.post_message(self.PinnedChanged(self, self.pinned, unseen))

    # Canvas

    def on_mount(self) -> None:
        """Paint what came before the widget had a size."""
        self._update_canvas()

    def on_resize(self) -> None:
        """Paint again at the new width; what is in view comes first."""
        # The padding of a strip depends on the whole width, its rows only on the measure.
        self._strips.clear()
        self._update_canvas()

    def notify_style_update(self) -> None:
        """Paint again when the theme has changed."""
        super().notify_style_update()
        if self._canvas is not None:
            self.call_later(self._update_canvas)

    def _update_canvas(self) -> None:
        if not self.size.width or not self.is_attached:
            return
        palette = palette_from(self.get_component_rich_style, self._partial_style)
        width = min(max(self.size.width - MARGIN - 1, _NARROWEST), WIDEST)
        has_colours = not (self.app.no_color or self.app.native_ansi_color)
        canvas = Canvas(width, palette, has_colours)
        if canvas == self._canvas:
            self._place()
            self._wake()
            return
        if self._anchor is not None:
            self._anchor = self._anchor.in_text(self.shelf)
        self._keep_everything()
        self._strips.clear()
        self._canvas = canvas
        if self.shelf.blocks and self.text_selection is not None:
            self.screen.clear_selection()
        self.shelf.estimate_all(canvas)
        self._show_change(0, None)
        self._paint_slice()
        self.refresh()
