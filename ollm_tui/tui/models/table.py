"""The table of models."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.message import Message

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.models.columns import Column, Sorting, columns_for
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.widgets import RowTable, order_sign


class ModelTable(RowTable[Column]):
    """Shows entries, and which model is in use."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"row-table--{look}" for look in ("good", "fair", "bad", "current")
    }
    DEFAULT_CSS = """
    ModelTable {
        & .row-table--good { color: $text-success; }
        & .row-table--fair { color: $text-warning; }
        & .row-table--bad { color: $text-error; }
        & .row-table--current { text-style: bold; }
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
        before, depth = self.marked, self._depth
        self._entries, self._sorting = entries, sorting
        self._has_fit = has_fit
        index = next((i for i, entry in enumerate(entries) if entry.ref == mark), None)
        self._show_rows(index, depth)
        if (self.marked and self.marked.ref) != (before and before.ref):
            self._mark_moved()

    def show_current(self, address: str | None) -> None:
        """Show which model is in use, by its address."""
        if address != self._current:
            self._current = address
            self._repaint()

    @property
    def marked(self) -> ModelEntry | None:
        """The entry that keys act on, or None if the table is empty."""
        return self._entries[self._index] if self._index < len(self._entries) else None

    # What is in a row

    @property
    def row_count(self) -> int:
        """The number of entries."""
        return len(self._entries)

    def _columns_for(self, width: int) -> list[Column]:
        return columns_for(width, has_fit=self._has_fit)

    def _order_sign(self, column: Column) -> str:
        sorting = self._sorting
        is_sorted = sorting is not None and sorting.column == column.id
        return order_sign(is_descending=sorting.is_descending) if sorting and is_sorted else ""

    def _cells(self, index: int, *, is_marked: bool) -> Iterable[tuple[str, str]]:
        entry = self._entries[index]
        is_current = str(entry.ref) == self._current
        yield "▸" if is_current else "", ""
        for column in self.columns:
            look = "" if is_marked else column.look(entry)
            if column.id == "name":
                look = "current" if is_current else ""
            yield column.cell(entry), look

    def _mark_moved(self) -> None:
        self.post_message(self.Marked(self.marked))

    def _chosen(self, index: int) -> None:
        self.post_message(self.Chosen(self._entries[index]))

    def _head_clicked(self, column: Column) -> None:
        self.post_message(self.HeadClicked(column))
