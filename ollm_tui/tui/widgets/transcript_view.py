"""A scrolling view of painted rows: strips, following the end, selection."""

from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.tui.widgets.painters.painter import Offsets
from ollm_tui.tui.widgets.painters.palette import Canvas
from ollm_tui.tui.widgets.painters.rows import BLANK, Row
from ollm_tui.tui.widgets.transcript_block import MARGIN, Block
from ollm_tui.tui.widgets.transcript_palette import COMPONENTS, PREFIX, palette_from
from ollm_tui.tui.widgets.transcript_strips import copied, draw, restyled, word_around

if TYPE_CHECKING:
    from textual.timer import Timer

FRAME_S = 1 / 30
"""Least time between two paintings of streamed text."""
SLICE_S = 0.012
"""Most time one painting may take before keys get their turn."""
PAUSE_S = 0.003
WIDEST = 100
"""The text measure on a wide screen."""
_NARROWEST = 12
_CACHED_STRIPS = 1024
_MARKER = " ↓ new output "
"""Shown in the last row while the view is pinned above new text."""


class RowView(ScrollView, can_focus=False):
    """Shows the rows of blocks; all positions are (code point, row) of the whole content."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)

    pinned = var(False, init=False)
    """The user has scrolled away from the end: the view stays where it is."""
    unseen = var(False, init=False)
    """Something was added below while pinned."""

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

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._blocks: list[Block] = []
        self._offsets = Offsets()
        self._busy: dict[Block, int] = {}
        self._canvas: Canvas | None = None
        self._frame_timer: Timer | None = None
        self._painted_at = 0.0
        self._placing = False
        self._anchor: tuple[int, tuple[int, int, int]] | None = None
        self._strips: dict[Row, Strip] = {}

    @property
    def busy(self) -> bool:
        """Is anything still to be painted?"""
        return bool(self._busy)

    # Painting

    def _wake(self) -> None:
        """Paint soon, but not more often than the frame rate; nothing runs while nothing waits."""
        if self._frame_timer is None and self._canvas is not None:
            wait = self._painted_at + FRAME_S - monotonic()
            self._frame_timer = self.set_timer(max(wait, 0.001), self._paint_slice)

    def _paint_slice(self) -> None:
        self._frame_timer = None
        canvas = self._canvas
        if canvas is None:
            return
        self._keep_place()
        deadline = monotonic() + SLICE_S
        first, end = self._work(canvas, deadline)
        self._painted_at = monotonic()
        if first is not None:
            self._show_change(first, end)
        if self._busy:
            self._frame_timer = self.set_timer(PAUSE_S, self._paint_slice)
        else:
            self._anchor = None

    def _work(self, canvas: Canvas, deadline: float) -> tuple[int | None, int | None]:
        """Let the newest busy blocks paint; return the changed rows (end None: all below)."""
        first: int | None = None
        end: int | None = 0
        for block, index in reversed(self._busy.items()):
            if block.canvas is not canvas:
                self._restyle(block, index, canvas)
            if not block.painter.work(deadline):
                self._done(block)
            change = block.painter.take_change()
            if change is not None:
                start = self._offsets.start(index)
                low, high = self._changed_rows(block, index, change.first, change.end)
                first = start + low if first is None else min(first, start + low)
                end = None if high is None or end is None else max(end, start + high)
            if monotonic() > deadline:
                break
        for block in [block for block in self._busy if self._busy[block] < 0]:
            del self._busy[block]
        return first, end

    def _done(self, block: Block) -> None:
        self._busy[block] = -1

    def _changed_rows(
        self, block: Block, index: int, first: int, end: int | None
    ) -> tuple[int, int | None]:
        before = self._offsets.start(index + 1) - self._offsets.start(index)
        self._offsets.set(index, block.height)
        if before != block.height or end is None:
            return (block.lead + first if before and first else 0), None
        return block.lead + first, block.lead + end

    def _restyle(self, block: Block, index: int, canvas: Canvas) -> None:
        top = self.scroll_offset.y - self._offsets.start(index)
        block.restyle(canvas, top, top + self.size.height)

    def _show_change(self, first: int, end: int | None) -> None:
        """Repaint the changed rows that are in view."""
        total = self._offsets.total
        if total != self.virtual_size.height:
            self._set_height(total)
        self._place()
        if end is None:
            end = max(total, self.scroll_offset.y + self.size.height)
        top = self.scroll_offset.y
        low, high = max(first, top), min(end, top + self.size.height)
        if low < high:
            self.refresh_lines(low, high - low)
        if self.pinned and top >= self.max_scroll_y:
            self.pinned = False
        if self.pinned and end >= top + self.size.height:
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
        if not self.pinned or self._anchor is not None or not self._blocks:
            return
        index, row = self._offsets.find(self.scroll_offset.y)
        if any(0 <= each <= index for each in self._busy.values()):
            self._anchor = index, self._blocks[index].anchor(row)

    def _place(self) -> None:
        """Go on showing the end, or what was at the top."""
        if not self.pinned:
            self._scroll_rows(self.max_scroll_y)
        elif self._anchor is not None:
            index, anchor = self._anchor
            self._scroll_rows(self._offsets.start(index) + self._blocks[index].locate(anchor))

    def _scroll_rows(self, row: int) -> None:
        if row == self.scroll_y:
            return
        self._placing = True
        self.scroll_y = row
        self.scroll_target_y = row
        self._placing = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling away from the end pins the view; reaching the end lets it follow again."""
        super().watch_scroll_y(old_value, new_value)
        if not self._placing:
            self._anchor = None
            self.pinned = round(new_value) < self.max_scroll_y

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
        canvas = Canvas(width, palette)
        if canvas == self._canvas:
            self._place()
            return
        self._strips.clear()
        self._canvas = canvas
        if self._blocks and self.text_selection is not None:
            self.screen.clear_selection()
        self._busy = dict(self._newest_in_view())
        self._paint_slice()
        self.refresh()

    def _keep_everything(self) -> None:
        if self.pinned and self._anchor is None and self._blocks:
            index, row = self._offsets.find(self.scroll_offset.y)
            self._anchor = index, self._blocks[index].anchor(row)

    def _newest_in_view(self) -> Iterable[tuple[Block, int]]:
        """All blocks, those in view last: the last are painted first."""
        if not self._blocks:
            return
        low = self._offsets.find(self.scroll_offset.y)[0]
        high = self._offsets.find(self.scroll_offset.y + self.size.height)[0]
        for index in (*range(low), *range(high + 1, len(self._blocks)), *range(low, high + 1)):
            yield self._blocks[index], index

    def _partial_style(self, name: str) -> Style:
        return self.get_component_rich_style(name, partial=True)

    # Strips

    def render_line(self, y: int) -> Strip:
        """One row of the view, from the finished strips."""
        number = self.scroll_offset.y + y
        canvas, width = self._canvas, self.size.width
        if canvas is None:
            return Strip.blank(width, self.rich_style)
        strip = self._strip(number, canvas)
        selection = self.text_selection
        span = None if selection is None else selection.get_span(number)
        if span is not None and number < self._offsets.total:
            strip = self._selected(strip, number, span)
        if self.unseen and y == self.size.height - 1:
            strip = self._marked(strip)
        return strip

    def _strip(self, number: int, canvas: Canvas) -> Strip:
        width = self.size.width
        found = self.row_at(number)
        if found is None or found[0] is BLANK:
            return Strip.blank(width, canvas.palette.text)
        row, block = found
        strip = self._strips.get(row)
        if strip is None:
            if len(self._strips) >= _CACHED_STRIPS:
                self._strips.clear()
            strip = self._strips[row] = draw(row, block.margin(row, canvas.palette), canvas, width)
        return strip

    def row_at(self, number: int) -> tuple[Row, Block] | None:
        """The row with this number in the whole content, and its block."""
        if not 0 <= number < self._offsets.total:
            return None
        index, offset = self._offsets.find(number)
        return self._blocks[index].row(offset), self._blocks[index]

    def _marked(self, strip: Strip) -> Strip:
        style = self.get_component_rich_style(PREFIX + "marker-new")
        left = max(self.size.width - len(_MARKER) - 1, 0)
        marker = Strip([Segment(_MARKER[: self.size.width], style)])
        return Strip.join([strip.crop(0, left), marker, strip.crop(left + marker.cell_length)])

    # Selection

    def _selected(self, strip: Strip, number: int, span: tuple[int, int]) -> Strip:
        found = self.row_at(number)
        if found is None:
            return strip
        start, end = span
        length = MARGIN + len(found[0].text)
        start = max(start, MARGIN + found[0].gutter)
        end = length if end < 0 else min(end, length)
        if start >= end:
            return strip
        style = self.screen.get_component_rich_style("screen--selection")
        return Strip(restyled(strip, start, end, style), strip.cell_length)

    def text_place(self, x: int, y: int) -> Offset:
        """The place in the text (code point, row) at a cell of the view."""
        number = min(self.scroll_offset.y + y, max(self._offsets.total - 1, 0))
        found = self.row_at(number)
        text = "" if found is None else found[0].text
        position = 0
        for start, _end, size in split_graphemes(text)[0]:
            if position + size > x - MARGIN:
                return Offset(start + min(x, MARGIN), number)
            position += size
        return Offset(len(text) + min(x, MARGIN), number)

    def select_around(self, x: int, y: int, *, words: bool) -> None:
        """Select the word at a cell of the view, or the line with all its rows."""
        place = self.text_place(x, y)
        found = self.row_at(place.y)
        if found is None:
            return
        if words:
            start, end = word_around(found[0].text, place.x - MARGIN)
            chosen = Selection(Offset(MARGIN + start, place.y), Offset(MARGIN + end, place.y))
        else:
            chosen = self._line_around(place.y)
        self.screen.selections = {self: chosen}

    def _line_around(self, number: int) -> Selection:
        first = last = number
        while (found := self.row_at(first)) is not None and found[0].join is not None:
            first -= 1
        while (found := self.row_at(last + 1)) is not None and found[0].join is not None:
            last += 1
        end = self.row_at(last)
        length = 0 if end is None else len(end[0].text)
        return Selection(Offset(0, first), Offset(MARGIN + length, last))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: gutters left out, soft-wrapped rows joined."""
        total = self._offsets.total
        start = 0 if selection.start is None else max(selection.start.y, 0)
        end = total - 1 if selection.end is None else min(selection.end.y, total - 1)
        return copied(
            (found[0], span)
            for number in range(start, end + 1)
            if (found := self.row_at(number)) and (span := selection.get_span(number))
        ), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Show the selection; the strips themselves stay as they are."""
        del selection
        self.refresh()
