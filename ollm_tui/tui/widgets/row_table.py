"""A table with one row a line below a fixed head; a row costs nothing until it comes into view."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

INDENT: Final = 2
"""Cells before the first column, for the sign of a row."""
GAP: Final = 2
"""Cells between two columns."""


class TableColumn(Protocol):
    """A column that has its width."""

    @property
    def head(self) -> str:
        """The name of the column."""

    @property
    def width(self) -> int:
        """Its width in cells."""

    def placed(self, text: str) -> str:
        """Cut or fill a text to its width."""


ColumnT = TypeVar("ColumnT", bound=TableColumn)


class RowTable(ScrollView, Generic[ColumnT], can_focus=False):
    """Shows rows by their index, one of which is marked; the screen handles the keys.

    A subclass says what is in a row and what becomes of a click. Its looks are component classes of
    the form `row-table--quiet`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"row-table--{look}" for look in ("head", "quiet", "marked")
    }
    DEFAULT_CSS = """
    RowTable {
        height: 1fr; background: transparent; color: $foreground; overflow-x: hidden;
        scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        & .row-table--head { color: $text-primary; text-style: bold; }
        & .row-table--quiet { color: $text-muted; }
        & .row-table--marked {
            background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        &:ansi .row-table--quiet { text-style: dim; }
        &:ansi .row-table--marked { text-style: reverse; }
        &:nocolor .row-table--marked { text-style: reverse; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.columns: list[ColumnT] = []
        self._index = 0
        self._strips: dict[tuple[int, bool], Strip] = {}
        self._looks: dict[tuple[str, bool], Style] = {}

    # What a subclass shows

    @property
    @abstractmethod
    def row_count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def _columns_for(self, width: int) -> list[ColumnT]:
        """The columns that fit a width."""

    @abstractmethod
    def _order_sign(self, column: ColumnT) -> str:
        """An arrow behind the head of the column that is sorted by."""

    @abstractmethod
    def _cells(self, index: int, *, is_marked: bool) -> Iterable[tuple[str, str]] | None:
        """The sign of a row, then the text of each column, with their looks; None if it is empty.

        Other colours than its own would be unreadable on the background of the mark.
        """

    @abstractmethod
    def _mark_moved(self) -> None:
        """Another row is marked."""

    @abstractmethod
    def _chosen(self, index: int) -> None:
        """A row was clicked twice."""

    @abstractmethod
    def _head_clicked(self, column: ColumnT) -> None:
        """The head of a column was clicked."""

    # The mark

    def move(self, steps: int) -> None:
        """Move the mark by rows, up to the ends."""
        self.mark_row(self._index + steps)

    def move_page(self, pages: int) -> None:
        """Move the mark by pages."""
        self.move(pages * max(1, self._rows_seen - 1))

    def mark_row(self, index: int) -> None:
        """Mark the row nearest to `index`."""
        index = self._clamped(index)
        if index != self._index and self.row_count:
            before, self._index = self._index, index
            for row in (before, index):
                self.refresh_lines(row + 1, 1)
            self._mark_moved()
        self._show_mark()

    def _show_rows(self, index: int | None, depth: int) -> None:
        """Show other rows, and mark one or the nearest to the last mark.

        The mark stays `depth` rows below the top of the view, as far as there is room.
        """
        self._index = self._clamped(self._index if index is None else index)
        self._lay_out()
        if index is not None:
            self.scroll_to(y=max(0, index - depth), animate=False, immediate=True)
        self._show_mark()

    @property
    def _depth(self) -> int:
        return self._index - self.scroll_offset.y

    def _clamped(self, index: int) -> int:
        return max(0, min(index, self.row_count - 1))

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
        self.columns = self._columns_for(max(1, width - INDENT - 1))
        self.virtual_size = Size(width, self.row_count + 1)
        self._repaint()

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def _look(self, name: str, *, is_marked: bool = False) -> Style:
        style = self._looks.get((name, is_marked))
        if style is None:
            style = self.rich_style
            if name:
                style += self.get_component_rich_style(f"row-table--{name}")
            if is_marked:
                style += self.get_component_rich_style("row-table--marked")
            self._looks[name, is_marked] = style
        return style

    def render_line(self, y: int) -> Strip:
        """Paint the head or a row."""
        width = self.scrollable_content_region.width
        if y == 0:
            return self._head(width)
        index = self.scroll_offset.y + y - 1
        if index >= self.row_count:
            return Strip.blank(width, self.rich_style)
        is_marked = index == self._index
        strip = self._strips.get((index, is_marked))
        if strip is None:
            strip = self._strips[index, is_marked] = self._row(index, width, is_marked=is_marked)
        return strip

    def _head(self, width: int) -> Strip:
        look = self._look("head")
        segments = [Segment(" " * INDENT, look)]
        for column in self.columns:
            head = column.placed(column.head + self._order_sign(column))
            segments.append(Segment(head + " " * GAP, look))
        return Strip(segments).adjust_cell_length(width, look)

    def _row(self, index: int, width: int, *, is_marked: bool) -> Strip:
        base = self._look("", is_marked=is_marked)
        cells = self._cells(index, is_marked=is_marked)
        if cells is None:
            return Strip.blank(width, base)
        (sign, look), *others = cells
        segments = [Segment(sign.ljust(INDENT), self._look(look, is_marked=is_marked))]
        for text, look in others:
            segments.append(Segment(text, self._look(look, is_marked=is_marked)))
            segments.append(Segment(" " * GAP, base))
        return Strip(segments).adjust_cell_length(width, base)

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """Mark the clicked row; a double click chooses it, a click on the head sorts."""
        event.stop()
        if event.y == 0:
            self._click_head(event.x - INDENT)
            return
        index = self.scroll_offset.y + event.y - 1
        if index < self.row_count:
            self.mark_row(index)
            if event.chain == 2:
                self._chosen(index)

    def _click_head(self, x: int) -> None:
        end = 0
        for column in self.columns:
            end += column.width + GAP
            if x < end:
                self._head_clicked(column)
                return


def order_sign(*, is_descending: bool) -> str:
    """Return the arrow behind the head of the column that is sorted by."""
    return " ▼" if is_descending else " ▲"
