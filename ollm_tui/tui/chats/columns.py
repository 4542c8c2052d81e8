"""The columns of the chats screen: what each shows, how it sorts, which ones fit a width; pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.chat_words import shown_model, shown_tags, shown_title, when
from ollm_tui.store.listing import ChatSort
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.tui.widgets import GAP, fit

ChatView: TypeAlias = Literal["chats", "archive", "deleted"]
"""Which chats are listed."""
_MIN_TITLE_WIDTH: Final = 22


@dataclass(frozen=True, slots=True)
class ChatColumn:
    """One column."""

    head: str
    width: int
    text: Callable[[ConversationSummary, int], str]
    """Returns the cell of a chat at a time in milliseconds."""
    sort: ChatSort | None = None
    """What the list sorts by when this column is chosen."""
    is_right: bool = False
    look: str = "quiet"
    """The end of the component class."""

    def placed(self, text: str) -> str:
        """Cut or fill a text to the width of the column."""
        return fit(text, self.width, is_right=self.is_right)


_TITLE: Final = ChatColumn(
    "Title", _MIN_TITLE_WIDTH, lambda chat, _now: shown_title(chat.title), "title", look=""
)
_TAGS: Final = ChatColumn("Tags", 11, lambda chat, _now: shown_tags(chat.tags), look="tag")
_MODEL: Final = ChatColumn("Model", 17, lambda chat, _now: shown_model(chat.model), "model")
_MESSAGES: Final = ChatColumn(
    "Messages", 10, lambda chat, _now: f"{chat.total_messages:,}", "messages", is_right=True
)
_SIZE: Final = ChatColumn(
    "Size", 7, lambda chat, _now: size_text(chat.size_bytes), "size", is_right=True
)
_CHANGED: Final = ChatColumn(
    "Changed", 11, lambda chat, now_ms: when(chat.updated_ms, now_ms), "changed", is_right=True
)
_CREATED: Final = ChatColumn(
    "Created", 11, lambda chat, now_ms: when(chat.created_ms, now_ms), "created", is_right=True
)
_DELETED: Final = ChatColumn(
    "Deleted",
    11,
    lambda chat, now_ms: when(chat.deleted_ms or 0, now_ms),
    "changed",
    is_right=True,
)
COLUMNS: Final = (_TITLE, _TAGS, _MODEL, _MESSAGES, _SIZE, _CREATED, _CHANGED)
_FIRST_TO_STAY: Final = (_TITLE, _CHANGED, _MODEL, _TAGS, _MESSAGES, _SIZE, _CREATED)
"""The columns by importance: the last ones are left out first."""


def columns_for(width: int, *, is_deleted: bool = False) -> list[ChatColumn]:
    """Return the columns that fit, in order; the title takes the rest of the width.

    Of deleted chats the last one says when they were deleted.
    """
    kept = list(_FIRST_TO_STAY)
    while len(kept) > 1 and _width_of(kept) > width:
        kept.pop()
    columns = [column for column in COLUMNS if column in kept]
    title = max(1, _TITLE.width + width - _width_of(columns))
    shown = {_TITLE: replace(_TITLE, width=title)} | ({_CHANGED: _DELETED} if is_deleted else {})
    return [shown.get(one, one) for one in columns]


def _width_of(columns: Sequence[ChatColumn]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


@dataclass(frozen=True, slots=True)
class ChatOrder:
    """What the list is sorted by."""

    sort: ChatSort = "changed"
    is_turned: bool = False
    """Whether the order is reversed."""

    @property
    def is_descending(self) -> bool:
        """Whether the largest or the latest comes first."""
        return (self.sort not in {"title", "model"}) != self.is_turned

    @property
    def turned(self) -> "ChatOrder":
        """The same column in the other direction."""
        return ChatOrder(self.sort, not self.is_turned)

    def next(self, columns: Sequence[ChatColumn]) -> "ChatOrder":
        """Return the order of the next visible column, from the last one to the first."""
        sorts = [column.sort for column in columns if column.sort is not None]
        place = sorts.index(self.sort) + 1 if self.sort in sorts else 0
        return ChatOrder(sorts[place % len(sorts)])
