"""The table of chats, by their numbers in a list: only rows in view are read, and cost anything."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from textual.message import Message

from ollm_tui.dataclass import dataclass
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.tui.chats.columns import ChatColumn, ChatOrder, columns_for
from ollm_tui.tui.widgets import RowTable, order_sign

_AHEAD: Final = 20
"""Rows beside those in view that are read with them."""
_MAX_KEPT: Final = 2000
"""Rows that are kept after they have left the view."""


class ChatTable(RowTable[ChatColumn]):
    """Shows chats, whose rows it asks for when they come into view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"row-table--{look}" for look in ("tag", "open")}
    DEFAULT_CSS = """
    ChatTable {
        & .row-table--tag { color: $text-accent; }
        & .row-table--open { color: $text-success; }
    }
    """

    @dataclass
    class Marked(Message):
        """Another chat is marked, or none."""

    @dataclass
    class Chosen(Message):
        """A chat was clicked twice."""

    @dataclass
    class RowsWanted(Message):
        """Rows came into view that were not read yet."""

        numbers: Sequence[int]

    @dataclass
    class HeadClicked(Message):
        """The head of a column was clicked."""

        column: ChatColumn

    def __init__(self, current: str | None) -> None:
        super().__init__()
        self.now_ms = 0
        self._current = current
        self._order: Sequence[int] = ()
        self._sorted = ChatOrder()
        self._is_deleted = False
        self._rows: dict[int, ConversationSummary] = {}
        self._wanted: set[int] = set()

    def show(
        self,
        order: Sequence[int],
        sorted_by: ChatOrder,
        mark: int | None = None,
        *,
        is_deleted: bool = False,
    ) -> None:
        """Show chats in this order and mark one, or the row nearest to the last mark.

        All rows are read again. The mark stays on its row of the screen, as far as there is room.
        """
        depth = self._depth
        self._order, self._sorted, self._is_deleted = order, sorted_by, is_deleted
        self._wanted.clear()
        self._show_rows(_index_of(order, mark), depth)
        self._want_rows(again=True)
        self._mark_moved()

    def add_rows(self, rows: Mapping[int, ConversationSummary], asked: Sequence[int]) -> None:
        """Take rows that were read; those that no longer exist are shown as empty."""
        if len(self._rows) > _MAX_KEPT:
            self._rows.clear()
            self._wanted.clear()
        for number in asked:
            self._rows.pop(number, None)
        self._rows.update(rows)
        self._want_rows()
        self._repaint()
        if self.marked_number in asked:
            self._mark_moved()

    @property
    def marked_number(self) -> int | None:
        """The number of the chat that keys act on, or None if the table is empty."""
        return self._order[self._index] if self._index < len(self._order) else None

    @property
    def marked(self) -> ConversationSummary | None:
        """The chat that keys act on, or None if there is none or it was not read yet."""
        number = self.marked_number
        return None if number is None else self._rows.get(number)

    # Reading

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for the rows that come into view."""
        super().watch_scroll_y(old_value, new_value)
        self._want_rows()

    def on_resize(self) -> None:
        """Ask for the rows that come into view."""
        self._want_rows()

    def _want_rows(self, *, again: bool = False) -> None:
        top = self.scroll_offset.y
        seen = self._order[max(0, top - _AHEAD) : top + self._rows_seen + _AHEAD]
        known = self._wanted if again else self._wanted | self._rows.keys()
        if numbers := [number for number in seen if number not in known]:
            self._wanted.update(numbers)
            self.post_message(self.RowsWanted(numbers))

    # What is in a row

    @property
    def row_count(self) -> int:
        """The number of chats."""
        return len(self._order)

    def _columns_for(self, width: int) -> list[ChatColumn]:
        return columns_for(width, is_deleted=self._is_deleted)

    def _order_sign(self, column: ChatColumn) -> str:
        is_sorted = column.sort == self._sorted.sort
        return order_sign(is_descending=self._sorted.is_descending) if is_sorted else ""

    def _cells(self, index: int, *, is_marked: bool) -> Iterable[tuple[str, str]] | None:
        chat = self._rows.get(self._order[index])
        if chat is None:
            return None
        sign = "●" if chat.id == self._current else "★" if chat.is_pinned else ""
        return [
            (sign, "" if is_marked else "open"),
            *(
                (column.placed(column.text(chat, self.now_ms)), "" if is_marked else column.look)
                for column in self.columns
            ),
        ]

    def _mark_moved(self) -> None:
        self.post_message(self.Marked())

    def _chosen(self, index: int) -> None:
        del index  # it was marked by the first of the two clicks
        self.post_message(self.Chosen())

    def _head_clicked(self, column: ChatColumn) -> None:
        self.post_message(self.HeadClicked(column))


def _index_of(order: Sequence[int], number: int | None) -> int | None:
    try:
        return None if number is None else order.index(number)
    except ValueError:
        return None
