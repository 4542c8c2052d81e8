"""Rows of a view that have changed or moved, written straight to the terminal.

Textual draws a widget by composing everything that shares its rows, which was two fifths of what an
answer cost. Rows that nothing covers need none of that: their strips are finished. When the view
scrolls, the terminal moves the rows that stay in view, and only the others are written.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Spacing
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.graphics import terminal_pictures

_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_T = TypeVar("_T")
_NO_STYLE: Final = Style()
_NO_COLOR: Final = Color.default()
_NO_GUTTER: Final = Spacing()
_NOTHING: Final = ""
"""A cell that the terminal has made by moving rows; never equal to one that is drawn."""


@dataclass(frozen=True, slots=True)
class _BarState:
    """What the look of a scrollbar depends on, beside its style."""

    total: int
    window: int
    top: int


@dataclass(eq=False)
class RowWriter:
    """Draws rows of a view that were marked since the last `flush`."""

    _view: ScrollView
    _strips: Callable[[Iterable[int]], list[Strip]]
    """Returns rows of the view, counted from its top."""
    _changed: list[tuple[int, int]] = field(default_factory=list)
    _moved: int = 0
    _soon: asyncio.Handle | None = None
    _bar_state: _BarState | None = None
    _bar_style: object = None
    _bar_rich_style: Style = _NO_STYLE
    _bar_drawn: dict[Segment, str] = field(default_factory=dict)
    """What draws the kinds of cells of a scrollbar in that style: few, by eighths of a cell."""
    _bar_last: tuple[_BarState, list[str]] | None = None
    _layers: object = None
    _free_region: Region | None = None
    """Where the view's rows are on the terminal, if nothing covers any of them."""
    _drawn: list[Strip | None] = field(default_factory=list)
    """What the terminal shows in each row, as far as it was written from here."""
    _drawn_in: Region | None = None

    def mark(self, first: int, end: int) -> None:
        """Draw rows with the next `flush`; they are counted from the beginning of the text."""
        if first < end:
            self._changed.append((first, end))

    def mark_moved(self, rows: int) -> None:
        """Take note that the view shows what is so many rows further down, or up if negative."""
        self._moved += rows

    @property
    def is_due(self) -> bool:
        """Whether something that was marked is not drawn yet."""
        return self._soon is not None

    def forget(self, y: int) -> None:
        """Take note that Textual draws a row of the view."""
        if y < len(self._drawn):
            self._drawn[y] = None

    def show(self) -> None:
        """Have all that was marked drawn, once the caller is done with what it changes."""
        if self._where() is None:
            self.flush()
        elif self._soon is None:
            self._soon = asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Draw what was marked: at once, or with Textual's next frame if the view is covered."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        view = self._view
        top, height = view.scroll_offset.y, view.size.height
        changed = [(first - top, end - top) for first, end in self._changed]
        moved, before = self._moved, self._bar_state
        now = _BarState(view.virtual_size.height, height, top)
        if not changed and not moved and now == before:
            return
        self._changed, self._moved, self._bar_state = [], 0, now
        if now != before:
            self._update_bar(now)
        region = self._where()
        if region is None:
            self._leave_to_textual(changed, moved, is_bar_new=now != before)
            return
        if view._repaint_regions or before is None or before.window != height:
            # Textual was to draw some of the rows, which may be others by now
            view._exchange_repaint_regions()
            changed, moved, before = [(0, height)], 0, None
        if self._draw_older():
            changed, moved, before = [(0, height)], 0, None
        # Textual keeps the strips that it has drawn
        if moved:
            view._styles_cache.clear()
        else:
            spans = (Region(0, first, region.width, end - first) for first, end in changed)
            view._styles_cache.set_dirty(*spans)
        self._write(region, changed, moved, before, now)

    # Drawn by Textual

    def _draw_older(self) -> bool:
        """Draw what waits elsewhere on the screen, such as the state of the answer.

        Nothing that is shown may be older than the rows. Returns whether Textual may have drawn the
        view as well, whose rows then are where they belong already.
        """
        view, screen = self._view, self._view.screen
        waiting = screen._dirty_widgets
        if not waiting or screen._layout_required or screen._scroll_required:
            return False
        own = {view, view.vertical_scrollbar, *view.ancestors}
        is_drawn = screen._repaint_required or not own.isdisjoint(waiting)
        screen._on_timer_update()
        return is_drawn

    def _update_bar(self, state: _BarState) -> None:
        bar = self._view.vertical_scrollbar
        bar.set_reactive(ScrollBar.window_virtual_size, state.total)
        bar.set_reactive(ScrollBar.window_size, state.window)
        bar.set_reactive(ScrollBar.position, float(state.top))
        # what `refresh` does, but for having the bar drawn
        bar._layout_cache.clear()
        bar._set_dirty()

    def _leave_to_textual(
        self, changed: list[tuple[int, int]], moved: int, *, is_bar_new: bool
    ) -> None:
        view = self._view
        self._drawn = []
        if is_bar_new:
            view.vertical_scrollbar.refresh()
        if moved:
            view.refresh(view.size.region)
            return
        for first, end in changed:
            low, high = max(first, 0), min(end, view.size.height)
            if low < high:
                view.refresh(Region(0, low, view.size.width, high - low))

    # Drawn from here

    def _where(self) -> Region | None:
        """Return where the rows are on the terminal, or None if only Textual can draw them."""
        view, app = self._view, self._view.app
        if app.is_headless or app.is_inline or app._driver is None or app._batch_count:
            return None
        if not app._running or app._closing or app._closed or not view.is_attached:
            return None
        if app.screen is not view.screen:
            return None
        if view.styles.tint.a or view.styles.gutter != _NO_GUTTER:
            return None
        pictures = terminal_pictures(app)
        if pictures is not None and pictures.draws_pixels:
            # they neither move with the text nor are they sent again for a row that stays
            return None
        layers = view.screen._compositor.layers_visible
        if layers is not self._layers:
            self._layers, self._free_region = layers, self._uncovered(layers)
        region = self._free_region
        return region if region is not None and region.height == view.size.height else None

    def _uncovered(self, layers: list[list[tuple[Any, Region, Region]]]) -> Region | None:
        region = self._view.scrollable_content_region
        if region.y < 0 or region.bottom > len(layers):
            return None
        for y in region.line_range:
            for widget, shown, _ in layers[y]:
                if widget is self._view:
                    if not shown.contains_region(region):
                        return None
                    break
                if shown.overlaps(region):
                    return None
            else:
                return None
        return region

    def _write(
        self,
        region: Region,
        changed: list[tuple[int, int]],
        moved: int,
        before: _BarState | None,
        now: _BarState,
    ) -> None:
        height, parts = region.height, list[str]()
        if before is None or region != self._drawn_in or len(self._drawn) != height:
            self._drawn, self._drawn_in = [None] * height, region
        if before == now:
            old_bar = bar = [_NOTHING] * height
        else:
            before_bar, bar = self._bar_cells(before or now, now)
            old_bar = [_NOTHING] * height if before is None else before_bar
        if moved and self._can_move(region, moved):
            parts.append(_move(region, moved))
            old_bar = _shifted(old_bar, moved, _NOTHING)
            self._drawn = _shifted(self._drawn, moved, None)
            changed.append((height - moved, height) if moved > 0 else (0, -moved))
        elif moved:
            changed = [(0, height)]
        rows = {y for first, end in changed for y in range(max(first, 0), min(end, height))}
        lines = self._lines(rows, region.width)
        for y in range(height):
            if line := lines.get(y):
                parts.append(f"\x1b[{region.y + y + 1};{region.x + 1}H{line}")
            if old_bar[y] != bar[y]:
                place = "" if line else f"\x1b[{region.y + y + 1};{region.right + 1}H"
                parts.append(place + bar[y])
        if parts:
            self._send(parts)

    def _lines(self, rows: Iterable[int], width: int) -> dict[int, str]:
        """Return what draws each of the rows that do not look as they are drawn already."""
        new: dict[int, Strip] = {}
        for y, row in zip(rows, self._strips(rows), strict=True):
            strip = row.adjust_cell_length(width)
            if strip is not self._drawn[y] and strip != self._drawn[y]:
                self._drawn[y] = new[y] = strip
        return dict(zip(new, self._rendered(new.values()), strict=True))

    def _rendered(self, strips: Iterable[Strip]) -> list[str]:
        """Return what draws each strip, in the colours that the app's filters leave."""
        view = self._view
        for line_filter in view.get_line_filters():
            background = view.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        return [strip.render(view.app.console) for strip in strips]

    def _bar_cells(self, *states: _BarState) -> list[list[str]]:
        """Return what draws each cell of the scrollbar, from the top, for each state."""
        bar = self._view.vertical_scrollbar
        if not self._view.scrollbar_size_vertical:
            return [[""] * state.window for state in states]
        look: Any = bar.render()
        style = look.style, tuple(self._view.get_line_filters())
        if style != self._bar_style:
            self._bar_style, self._bar_drawn, self._bar_last = style, {}, None
            self._bar_rich_style = bar.rich_style
        return [self._bar_cells_in(state, look.style) for state in states]

    def _bar_cells_in(self, state: _BarState, style: Style) -> list[str]:
        if self._bar_last is not None and self._bar_last[0] == state:
            return self._bar_last[1]
        segments = ScrollBarRender.render_bar(
            size=state.window,
            virtual_size=state.total,
            window_size=state.window if state.window < state.total else 0,
            position=state.top,
            back_color=style.bgcolor or _NO_COLOR,
            bar_color=style.color or _NO_COLOR,
        ).segments
        cells: list[str] = []
        above: Segment | None = None
        for cell in segments:
            if cell is above:  # to look a cell up costs more: its style is hashed and compared
                cells.append(cells[-1])
                continue
            if cell not in self._bar_drawn:
                whole = Segment(cell.text, self._bar_rich_style + (cell.style or _NO_STYLE))
                self._bar_drawn[cell] = self._rendered([Strip([whole])])[0]
            cells.append(self._bar_drawn[cell])
            above = cell
        self._bar_last = state, cells
        return cells

    def _can_move(self, region: Region, rows: int) -> bool:
        """Whether the terminal can move the rows: only whole lines."""
        view = self._view
        end = region.right + view.scrollbar_size_vertical
        is_whole = region.x == 0 and end == view.app.size.width
        return abs(rows) < region.height and is_whole

    def _send(self, parts: list[str]) -> None:
        app = self._view.app
        cursor = app.screen.outer_size.clamp_offset(app.cursor_position)
        app._previous_cursor_position = cursor
        parts.append(f"\x1b[{cursor.y + 1};{cursor.x + 1}H")
        if app._sync_available:
            parts = [_BEGIN_FRAME, *parts, _END_FRAME]
        if app._driver is not None:
            app._driver.write("".join(parts))
            app._driver.flush()


def _shifted(rows: list[_T], by: int, blank: _T) -> list[_T]:
    """Return what rows show that moved up by so many, or down if negative."""
    new = [blank] * abs(by)
    return rows[by:] + new if by > 0 else new + rows[:by]


def _move(region: Region, rows: int) -> str:
    """Return what moves the lines of a region up by so many rows, or down if negative."""
    act = f"{rows}M" if rows > 0 else f"{-rows}L"
    top = region.y + 1
    return f"\x1b[{top};{region.bottom}r\x1b[{top};1H\x1b[{act}\x1b[r"
