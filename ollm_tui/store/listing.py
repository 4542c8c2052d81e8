"""The list of chats: its order from an index, the rows in view, and what the user marks.

An order is the numbers of all chats that are chosen; rows are read for a few of them. So a list of
any length costs what its numbers cost.
"""

import json
import sqlite3
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.branches import ChatWatch
from ollm_tui.store.database import Database, Work
from ollm_tui.store.rows import (
    SUMMARY,
    TITLE_LENGTH,
    ConversationSummary,
    StoredMessage,
    column,
    decoded,
    summary_of,
)
from ollm_tui.store.tags import tags_column, tags_of

ChatSort: TypeAlias = Literal["changed", "created", "title", "model", "messages", "size"]
_ORDERS: Final[Mapping[ChatSort, str]] = {
    "changed": "updated_ms DESC",
    "created": "created_ms DESC",
    "title": "folded(title) ASC",
    "model": "folded(coalesce(model, '')) ASC",
    "messages": "total_messages DESC",
    "size": "size_bytes DESC",
}
CHAT_SORTS: Final = tuple(_ORDERS)
_TURNED: Final = {"ASC": "DESC", "DESC": "ASC"}
_LAST: Final = 3
"""Messages of a preview that are the last ones of the branch."""
_MAX_STEPS: Final = 2000
"""How far a preview goes back to the first message."""
_MAX_PREVIEWED: Final = 100_000
"""Bytes of a message that a preview reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFilter:
    """Which chats are listed."""

    words: tuple[str, ...] = ()
    """Texts, in lower case, that must all be in the title, the model or the tags."""
    models: tuple[str, ...] = ()
    """Parts of the model's name, in lower case, that it must all have."""
    tags: tuple[str, ...] = ()
    after_ms: int | None = None
    before_ms: int | None = None
    is_pinned: bool = False
    """Whether only pinned chats are listed."""
    is_archived: bool = False
    """Whether the archived chats are listed, and the others are not."""
    is_deleted: bool = False
    """Whether the deleted chats are listed, archived or not, and the others are not."""


@dataclass(frozen=True, slots=True)
class ChatPreview:
    """The first message of the branch that was shown last, and its last ones."""

    messages: tuple[StoredMessage, ...] = ()
    left_out: int = 0
    """Number of messages between the first and the last ones."""


def order_chats(
    connection: sqlite3.Connection,
    chosen: ChatFilter,
    sort: ChatSort = "changed",
    *,
    is_turned: bool = False,
) -> "array[int]":
    """Return the numbers of the chats that are chosen, the pinned ones first.

    Of deleted chats none is first, and `changed` is when they were deleted.
    """
    connection.create_function("folded", 1, str.casefold, deterministic=True)
    conditions, values = ["deleted_ms IS NULL", "is_archived = ?"], [int(chosen.is_archived)]
    if chosen.is_deleted:
        conditions, values = ["deleted_ms IS NOT NULL"], []
    if chosen.is_pinned:
        conditions.append("is_pinned = 1")
    for sign, moment in ((">=", chosen.after_ms), ("<", chosen.before_ms)):
        if moment is not None:
            conditions.append(f"updated_ms {sign} ?")
            values.append(moment)
    if chosen.words or chosen.models or chosen.tags:
        connection.create_function("is_chosen", 3, partial(_is_chosen, chosen))
        conditions.append("is_chosen(title, coalesce(model, ''), tags)")
    is_by_deletion = chosen.is_deleted and sort == "changed"
    order = "deleted_ms DESC" if is_by_deletion else _ORDERS[sort]
    expression, _, direction = order.rpartition(" ")
    first = "" if chosen.is_deleted else "is_pinned DESC, "
    direction = _TURNED[direction] if is_turned else direction
    rows = connection.execute(
        f"SELECT number FROM conversations WHERE {' AND '.join(conditions)}"
        f" ORDER BY {first}{expression} {direction}, updated_ms DESC, number DESC",
        values,
    )
    return array("q", (number for (number,) in rows))


def _is_chosen(chosen: ChatFilter, title: str, model: str, tags: str) -> bool:
    name = model.casefold()
    text = f"{title.casefold()} {name} {tags}"
    return (
        all(word in text for word in chosen.words)
        and all(part in name for part in chosen.models)
        and all(f" {tag} " in tags for tag in chosen.tags)
    )


def read_rows(
    connection: sqlite3.Connection, numbers: Sequence[int], *, is_deleted: bool = False
) -> dict[int, ConversationSummary]:
    """Return some chats by their numbers, or some deleted ones, without those that are gone."""
    rows = connection.execute(
        f"SELECT {SUMMARY} FROM json_each(?) AS n CROSS JOIN conversations AS c"
        " ON c.number = n.value LEFT JOIN messages AS m ON m.id = c.leaf_id"
        f" WHERE (c.deleted_ms IS NOT NULL) = {is_deleted:d}",
        (json.dumps(list(numbers)),),
    )
    summaries = (summary_of(row) for row in rows)
    return {one.number: one for one in summaries}


def read_preview(
    connection: sqlite3.Connection, conversation_id: str, *, is_deleted: bool = False
) -> ChatPreview:
    """Return the beginning and the end of the branch that was shown last."""
    path = connection.execute(
        "WITH RECURSIVE path (number, parent_id, depth) AS ("
        " SELECT m.number, m.parent_id, m.depth FROM conversations AS c JOIN messages AS m"
        " ON m.id = c.leaf_id WHERE c.id = :id AND (c.deleted_ms IS NOT NULL) = :is_deleted"
        " UNION ALL SELECT m.number, m.parent_id, m.depth FROM path JOIN messages AS m"
        " ON m.id = path.parent_id AND m.depth < path.depth)"
        " SELECT number FROM path LIMIT :most",
        {"id": conversation_id, "is_deleted": int(is_deleted), "most": _MAX_STEPS},
    ).fetchall()
    numbers = [number for (number,) in reversed(path)]
    shown = numbers if len(numbers) <= _LAST + 1 else [numbers[0], *numbers[-_LAST:]]
    messages = connection.execute(
        "SELECT m.id, m.role, m.state, CASE WHEN length(CAST(m.body AS BLOB)) <= ? THEN m.body"
        " ELSE '' END FROM json_each(?) AS n CROSS JOIN messages AS m ON m.number = n.value"
        " ORDER BY n.key",
        (_MAX_PREVIEWED, json.dumps(shown)),
    )
    return ChatPreview(tuple(decoded(*row) for row in messages), len(numbers) - len(shown))


def count_tags(connection: sqlite3.Connection) -> Counter[str]:
    """Return how many chats have each tag."""
    rows = connection.execute(
        "SELECT tags FROM conversations WHERE deleted_ms IS NULL AND tags <> ''"
    )
    return Counter(tag for (tags,) in rows for tag in tags.split())


def tagged_chats(connection: sqlite3.Connection, tags: Collection[str]) -> list[int]:
    """Return the numbers of the chats that have all of some tags."""
    conditions = " AND ".join("instr(tags, ?)" for _tag in tags)
    rows = connection.execute(
        f"SELECT number FROM conversations WHERE deleted_ms IS NULL AND {conditions}",
        [f" {tag} " for tag in tags],
    )
    return [number for (number,) in rows]


class ChatListing:
    """The chats as a list; `ConversationStore.listing` is one. All raise `AIError` on failure."""

    def __init__(self, database: Database, save_first: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._save_first = save_first

    async def order(
        self,
        chosen: ChatFilter | None = None,
        sort: ChatSort = "changed",
        *,
        is_turned: bool = False,
    ) -> Sequence[int]:
        """Return the numbers of the chats that are chosen, the pinned ones first."""
        await self._save_first()
        return await self._database.read(
            partial(order_chats, chosen=chosen or ChatFilter(), sort=sort, is_turned=is_turned)
        )

    async def rows(
        self, numbers: Sequence[int], *, is_deleted: bool = False
    ) -> Mapping[int, ConversationSummary]:
        """Return some chats by their numbers, or some deleted ones, without those that are gone."""
        return await self._database.read(partial(read_rows, numbers=numbers, is_deleted=is_deleted))

    async def preview(self, conversation_id: str, *, is_deleted: bool = False) -> ChatPreview:
        """Return the beginning and the end of a chat; nothing of one that no longer exists."""
        return await self._database.read(
            partial(read_preview, conversation_id=conversation_id, is_deleted=is_deleted)
        )

    async def tags(self) -> Mapping[str, int]:
        """Return all tags, each with the number of its chats."""
        return await self._database.read(count_tags)

    async def pin(self, conversation_id: str, is_pinned: bool = True) -> None:
        """Have a chat listed first, or no longer."""
        await self._set(conversation_id, "is_pinned", int(is_pinned))

    async def archive(self, conversation_id: str, is_archived: bool = True) -> None:
        """Take a chat out of the list without deleting it, or put it back."""
        await self._set(conversation_id, "is_archived", int(is_archived))

    async def tag(self, conversation_id: str, tags: Sequence[str]) -> None:
        """Give a chat these tags and no others."""
        await self._set(conversation_id, "tags", tags_column(tags_of(tags)))

    async def title_by_model(self, conversation_id: str, title: str, watch: ChatWatch) -> bool:
        """Set the title that a model made; the user's own stays. Return whether it was set."""
        title = (column(title) or "").strip()[:TITLE_LENGTH]
        async with watch.lock:
            is_set = await self._changes(
                "UPDATE conversations SET title = ?, title_by = 'model', revision = revision + 1"
                " WHERE id = ? AND title_by = 'question' AND deleted_ms IS NULL",
                (title, conversation_id),
            )
            if is_set:
                watch.title = title
        return is_set

    async def _set(self, conversation_id: str, name: str, value: int | str) -> None:
        await self._save_first()
        statement = f"UPDATE conversations SET {name} = ? WHERE id = ? AND deleted_ms IS NULL"
        if not await self._changes(statement, (value, conversation_id)):
            raise AIError(ErrorCode.BAD_REQUEST, "There is no such chat; it may have been deleted.")

    async def _changes(self, statement: str, values: Sequence[int | str]) -> bool:
        work: Work[bool] = partial(_has_changed, statement=statement, values=values)
        return await self._database.write(work)


def _has_changed(
    connection: sqlite3.Connection, statement: str, values: Sequence[int | str]
) -> bool:
    return connection.execute(statement, values).rowcount > 0
