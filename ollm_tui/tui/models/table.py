"""The table of models, painted line by line; only visible rows cost anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.models.columns import GAP, Column, Sorting, columns_for
from ollm_tui.tui.models.entry import ModelEntry

_INDENT: Final = 2
"""Cells before the first column."""


class ModelTable(ScrollView, can_focus=False):
    """Shows entries below a fixed head; the screen handles the keys."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"model-table--{look}"
        for look in ("head", "quiet", "good", "fair", "bad", "current", "marked")
    }
    DEFAULT_CSS = """
    ModelTable {
        height: 1fr; background: transparent; color: $foreground; overflow-x: hidden;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        & .model-table--head { color: $text-primary; text-style: bold; }
        & .model-table--quiet { color: $text-muted; }
        & .model-table--good { color: $text-success; }
        & .model-table--fair { color: $text-warning; }
        & .model-table--bad { color: $text-error; }
        & .model-table--current { text-style: bold; }
        & .model-table--marked {
            background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        &:ansi .model-table--quiet { text-style: dim; }
        &:ansi .model-table--marked { text-style: reverse; }
        &:nocolor .model-table--marked { text-style: reverse; }
    }
    """

    @dataclass
    class Marked(Message):
        """Another model is marked, or none."""

        entry: ModelEntry | None

    @dataclass
    class Chosen(Message):
        """A model was clicked twice."""

        entry: ModelEntry

    @dataclass
    class HeadClicked(Message):
        """The head of a column was clicked."""

        column: Column

    def __init__(self) -> None:
        super().__init__()
        self._entries: Sequence[ModelEntry] = ()
        self._current: str | None = None
        self._sorting: Sorting | None = None
        self._has_fit = False
        self._index = 0
        self.columns: list[Column] = []
        self._strips: dict[tuple[int, bool], Strip] = {}
        self._looks: dict[str, Style] = {}

    # What is shown

    def show(
        self,
        entries: Sequence[ModelEntry],
        sorting: Sorting | None,
        *,
        mark: ModelRef | None,
        has_fit: bool = False,
    ) -> None:
        """Show entries and mark one, or the one nearest to the last mark.

        The mark stays on its row of the screen, as far as there is room.
        """
        before = self.marked
        depth = self._index - self.scroll_offset.y
        self._entries, self._sorting = entries, sorting
        self._has_fit = has_fit
        index = next((i for i, entry in enumerate(entries) if entry.ref == mark), None)
        self._index = index if index is not None else self._clamped(self._index)
        self._lay_out()
        if index is not None:
            self.scroll_to(y=max(0, index - depth), animate=False, immediate=True)
        self._show_mark()
        if (self.marked and self.marked.ref) != (before and before.ref):
            self.post_message(self.Marked(self.marked))

    def show_current(self, address: str | None) -> None:
        """Show which model is in use, by its address."""
        if address != self._current:
            self._current = address
            self._repaint()

    @property
    def marked(self) -> ModelEntry | None:
        """The entry that keys act on, or None if the table is empty."""
        return self._entries[self._index] if self._index < len(self._entries) else None

    def move(self, steps: int) -> None:
        """Move the mark by rows, up to the ends."""
        self.mark_row(self._index + steps)

    def move_page(self, pages: int) -> None:
        """Move the mark by pages."""
        self.move(pages * max(1, self._rows_seen - 1))

    def mark_row(self, index: int) -> None:
        """Mark the row nearest to `index`."""
        index = self._clamped(index)
        if index != self._index and self._entries:
            before, self._index = self._index, index
            for row in (before, index):
                self.refresh_lines(row + 1, 1)
            self.post_message(self.Marked(self.marked))
        self._show_mark()

    def _clamped(self, index: int) -> int:
        return max(0, min(index, len(self._entries) - 1))

    @property
    def _rows_seen(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def _show_mark(self) -> None:
        top, rows = self.scroll_offset.y, self._rows_seen
        if self._index < top:
            self.scroll_to(y=self._index, animate=False, immediate=True)
        elif self._index >= top + rows:
            self.scroll_to(y=self._index - rows + 1, animate=False, immediate=True)

    # Painting

    def on_resize(self) -> None:
        """Choose the columns for the new width."""
        self._lay_out()
        self._show_mark()

    def notify_style_update(self) -> None:
        """Repaint for a new theme."""
        super().notify_style_update()
        self._looks.clear()
        self._strips.clear()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self.columns = columns_for(max(1, width - _INDENT - 1), has_fit=self._has_fit)
        self.virtual_size = Size(width, len(self._entries) + 1)
        self._repaint()

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def _look(self, name: str, *, is_marked: bool = False) -> Style:
        style = self._looks.get(f"{name}{is_marked}")
        if style is None:
            style = self.rich_style
            if name:
                style += self.get_component_rich_style(f"model-table--{name}")
            if is_marked:
                style += self.get_component_rich_style("model-table--marked")
            self._looks[f"{name}{is_marked}"] = style
        return style

    def render_line(self, y: int) -> Strip:
        """Paint the head or an entry."""
        width = self.scrollable_content_region.width
        if y == 0:
            return self._head(width)
        index = self.scroll_offset.y + y - 1
        if index >= len(self._entries):
            return Strip.blank(width, self.rich_style)
        is_marked = index == self._index
        strip = self._strips.get((index, is_marked))
        if strip is None:
            strip = self._row(self._entries[index], width, is_marked=is_marked)
            self._strips[index, is_marked] = strip
        return strip

    def _head(self, width: int) -> Strip:
        look = self._look("head")
        segments = [Segment(" " * _INDENT, look)]
        for column in self.columns:
            sorting = self._sorting
            mark = ""
            if sorting and sorting.column == column.id:
                mark = " ▼" if sorting.is_descending else " ▲"
            segments.append(Segment(column.placed(column.head + mark) + " " * GAP, look))
        return Strip(segments).adjust_cell_length(width, look)

    def _row(self, entry: ModelEntry, width: int, *, is_marked: bool) -> Strip:
        base = self._look("", is_marked=is_marked)
        is_current = str(entry.ref) == self._current
        segments = [Segment("▸ " if is_current else " " * _INDENT, base)]
        for column in self.columns:
            # other colours would be unreadable on the background of the mark
            look = "" if is_marked else column.look(entry)
            if column.id == "name":
                look = "current" if is_current else ""
            style = self._look(look, is_marked=is_marked)
            segments += [Segment(column.cell(entry), style), Segment(" " * GAP, base)]
        return Strip(segments).adjust_cell_length(width, base)

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Mark the clicked row; a double click chooses it, a click on the head sorts."""
        event.stop()
        if event.y == 0:
            self._head_clicked(event.x - _INDENT)
            return
        index = self.scroll_offset.y + event.y - 1
        if index >= len(self._entries):
            return
        self.mark_row(index)
        if event.chain == 2:
            self.post_message(self.Chosen(self._entries[index]))

    def _head_clicked(self, x: int) -> None:
        end = 0
        for column in self.columns:
            end += column.width + GAP
            if x < end:
                self.post_message(self.HeadClicked(column))
                return
