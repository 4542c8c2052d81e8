"""Whole chats as records: every message of the tree with what the tables keep of it.

Records leave the store for an export, and enter it with an import. A chat that enters twice adds
nothing the second time: its messages are known by their ids.
"""

import sqlite3
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.message import Message
from ollm_tui.store.database import Database
from ollm_tui.store.options_json import (
    options_to_json,
    settings_from_json,
    settings_of,
    settings_to_json,
)
from ollm_tui.store.rows import ConversationSettings, MessageState, column, decoded, encoded
from ollm_tui.store.statements import restore_path
from ollm_tui.store.tags import tags_column, usable_tags

TitleBy: TypeAlias = Literal["question", "model", "person"]
TITLE_AUTHORS: Final[Mapping[str, TitleBy]] = {author: author for author in get_args(TitleBy)}
_AT_ONCE: Final = 500
"""Parameters of one statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRecord:
    """One message of the tree."""

    id: str
    parent_id: str | None
    message: Message
    state: MessageState = "complete"
    created_ms: int
    updated_ms: int
    model: str | None = None
    """The model that answered."""
    settings: ConversationSettings | None = None
    """The settings of its branch from here on, if they changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRecord:
    """A chat with all its messages."""

    id: str
    title: str
    title_by: TitleBy
    created_ms: int
    updated_ms: int
    settings: ConversationSettings
    leaf_id: str | None
    """The end of the branch that was continued last."""
    messages: tuple[MessageRecord, ...]
    """Each behind the one that it follows."""
    tags: tuple[str, ...] = ()
    is_pinned: bool = False
    is_archived: bool = False

    def branch(self, leaf_id: str | None = None) -> "ChatRecord":
        """Return the chat with the messages of one branch alone, by default of the active one."""
        by_id = {one.id: one for one in self.messages}
        end = leaf_id if leaf_id in by_id else self.leaf_id
        if end not in by_id and self.messages:
            end = self.messages[-1].id
        path: list[MessageRecord] = []
        while end is not None and (one := by_id.pop(end, None)) is not None:
            path.append(one)
            end = one.parent_id
        return replace(self, leaf_id=path[0].id if path else None, messages=tuple(reversed(path)))


@dataclass(frozen=True, slots=True)
class Added:
    """What the import of one chat changed."""

    is_new: bool
    """Whether the store did not have the chat."""
    messages: int
    """Number of messages that were added."""


def in_order(messages: Iterable[MessageRecord]) -> tuple[MessageRecord, ...]:
    """Return messages with each behind the one that it follows.

    A message that follows none of them begins a branch of its own, and so does the first of those
    that follow each other in a circle.
    """
    by_id: dict[str, MessageRecord] = {}
    for one in messages:
        by_id.setdefault(one.id, one)
    ordered: dict[str, MessageRecord] = {}
    for start in by_id.values():
        waiting: list[MessageRecord] = []
        on_path: set[str] = set()
        at: MessageRecord | None = start
        while at is not None and at.id not in ordered and at.id not in on_path:
            waiting.append(at)
            on_path.add(at.id)
            at = by_id.get(at.parent_id or "")
        if waiting and (at is None or at.id not in ordered):
            waiting[-1] = replace(waiting[-1], parent_id=None)
        ordered.update((one.id, one) for one in reversed(waiting))
    return tuple(ordered.values())


def read_record(connection: sqlite3.Connection, conversation_id: str) -> ChatRecord | None:
    """Return a chat with all its messages, or None if it does not exist."""
    row = connection.execute(
        "SELECT title, title_by, created_ms, updated_ms, model, system_prompt, options, leaf_id,"
        " tags, is_pinned, is_archived"
        " FROM conversations WHERE id = ? AND deleted_ms IS NULL",
        (conversation_id,),
    ).fetchone()
    if row is None:
        return None
    title, title_by, created_ms, updated_ms, model, system_prompt, options, leaf_id, *marks = row
    tags, is_pinned, is_archived = marks
    messages = connection.execute(
        "SELECT id, parent_id, role, state, body, created_ms, updated_ms, model, settings"
        " FROM messages WHERE conversation_id = ? AND id NOT IN"
        " (SELECT message_id FROM deleted_messages WHERE conversation_id = ?) ORDER BY number",
        (conversation_id, conversation_id),
    )
    return ChatRecord(
        id=conversation_id,
        title=title,
        title_by=TITLE_AUTHORS.get(title_by, "question"),
        created_ms=created_ms,
        updated_ms=updated_ms,
        settings=settings_of(model, system_prompt, options),
        leaf_id=leaf_id,
        messages=in_order(_message_record(*message) for message in messages),
        tags=tuple(tags.split()),
        is_pinned=bool(is_pinned),
        is_archived=bool(is_archived),
    )


def _message_record(
    message_id: str,
    parent_id: str | None,
    role: str,
    state: str,
    body: str,
    *others: str | int | None,
) -> MessageRecord:
    created_ms, updated_ms, model, settings = others
    stored = decoded(message_id, role, state, body)
    return MessageRecord(
        id=message_id,
        parent_id=parent_id,
        message=stored.message,
        state="interrupted" if stored.state == "streaming" else stored.state,
        created_ms=int(created_ms or 0),
        updated_ms=int(updated_ms or 0),
        model=str(model) if model is not None else None,
        settings=settings_from_json(str(settings)) if settings is not None else None,
    )


def add_records(connection: sqlite3.Connection, records: Sequence[ChatRecord]) -> list[Added]:
    """Add chats, or what is missing of those that are there; existing messages stay as they are.

    Deleted chats and messages are restored.
    """
    return [_add_record(connection, record) for record in records]


def _add_record(connection: sqlite3.Connection, record: ChatRecord) -> Added:
    depths = _depths(connection, record.id)
    ids = _own_ids(connection, record, depths)
    leaf = _known_leaf(record, ids)
    row = connection.execute(
        "SELECT leaf_id, deleted_ms FROM conversations WHERE id = ?", (record.id,)
    ).fetchone()
    if row is None:
        _insert_conversation(connection, record, leaf)
    added = _restore(connection, record.id, [*ids.values()])
    for one in record.messages:
        own_id = ids[one.id]
        parent = ids.get(one.parent_id or "")
        if own_id in depths:
            continue
        depths[own_id] = depths.get(parent or "", 0) + 1
        _insert_message(connection, record.id, replace(one, id=own_id, parent_id=parent), depths)
        added += 1
    was_deleted = row is not None and row[1] is not None
    if row is not None and (added or was_deleted):
        continues = row[0] in _path_of(record, ids)
        connection.execute(
            "UPDATE conversations SET revision = revision + 1, updated_ms = max(updated_ms, ?),"
            " leaf_id = ?, deleted_ms = NULL WHERE id = ?",
            (record.updated_ms, leaf if continues else row[0], record.id),
        )
    return Added(row is None or was_deleted, added)


def _restore(connection: sqlite3.Connection, conversation_id: str, messages: Sequence[str]) -> int:
    """Restore what is deleted of some messages; return how many are."""
    deleted = {
        message_id
        for (message_id,) in connection.execute(
            "SELECT message_id FROM deleted_messages WHERE conversation_id = ?", (conversation_id,)
        )
    }
    restored = [one for one in messages if one in deleted]
    for one in restored:
        restore_path(connection, one)
    return len(restored)


def _depths(connection: sqlite3.Connection, conversation_id: str) -> dict[str, int]:
    return dict(
        connection.execute(
            "SELECT id, depth FROM messages WHERE conversation_id = ?", (conversation_id,)
        ).fetchall()
    )


def _own_ids(
    connection: sqlite3.Connection, record: ChatRecord, own: Collection[str]
) -> dict[str, str]:
    """Return the ids that the messages get: other ones where another chat has them already."""
    wanted = [one.id for one in record.messages if one.id not in own]
    taken: set[str] = set()
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        marks = ",".join("?" * len(some))
        taken.update(
            message_id
            for (message_id,) in connection.execute(
                f"SELECT id FROM messages WHERE id IN ({marks})", some
            )
        )
    return {
        one.id: str(uuid.uuid5(uuid.NAMESPACE_OID, f"{record.id}/{one.id}"))
        if one.id in taken
        else one.id
        for one in record.messages
    }


def _known_leaf(record: ChatRecord, ids: Mapping[str, str]) -> str | None:
    """Return the active end, or the newest message if the record names none that it has."""
    leaf = ids.get(record.leaf_id or "")
    if leaf is None and record.messages:
        leaf = ids[record.messages[-1].id]
    return leaf


def _path_of(record: ChatRecord, ids: Mapping[str, str]) -> set[str]:
    return {ids[one.id] for one in record.branch().messages}


def _insert_conversation(
    connection: sqlite3.Connection, record: ChatRecord, leaf: str | None
) -> None:
    model = column(record.settings.model)
    connection.execute(
        "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, model, provider,"
        " system_prompt, options, leaf_id, tags, is_pinned, is_archived)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id,
            column(record.title),
            record.title_by,
            record.created_ms,
            record.updated_ms,
            model,
            model.partition("://")[0] if model and "://" in model else None,
            column(record.settings.system_prompt),
            options_to_json(record.settings),
            leaf,
            tags_column(usable_tags(record.tags)),
            record.is_pinned,
            record.is_archived,
        ),
    )


def _insert_message(
    connection: sqlite3.Connection,
    conversation_id: str,
    one: MessageRecord,
    depths: Mapping[str, int],
) -> None:
    # The body comes as UTF-8: Python would encode a long one in one go, which blocks all threads.
    connection.execute(
        "INSERT INTO messages (id, conversation_id, parent_id, depth, role, state, writer, model,"
        " created_ms, updated_ms, settings, body)"
        " VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, CAST(? AS TEXT))",
        (
            one.id,
            conversation_id,
            one.parent_id,
            depths[one.id],
            column(one.message.role),
            "interrupted" if one.state == "streaming" else one.state,
            column(one.model),
            one.created_ms,
            one.updated_ms,
            settings_to_json(one.settings) if one.settings is not None else None,
            encoded(one.message),
        ),
    )


class Records:
    """The chats of a store as records; `ConversationStore.records` is one."""

    def __init__(self, database: Database, save_first: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._save_first = save_first

    async def read(self, conversation_id: str) -> ChatRecord | None:
        """Return a chat with all its messages, or None if it does not exist.

        Raises:
            AIError: it cannot be read.
        """
        await self._save_first()
        return await self._database.read(partial(read_record, conversation_id=conversation_id))

    async def add(self, records: Sequence[ChatRecord]) -> list[Added]:
        """Add chats in one transaction; they are on the disk when this returns.

        What is there already stays as it is: only chats and messages with new ids are added.

        Raises:
            AIError: none of them was added.
        """
        return await self._database.write(partial(add_records, records=records))

    async def matching(self, part: str, most: int = 2) -> list[str]:
        """Return the ids of chats that contain a part of an id, the newest first.

        Raises:
            AIError: they cannot be read.
        """
        await self._save_first()
        return await self._database.read(partial(_matching, part=part, most=most))


def _matching(connection: sqlite3.Connection, part: str, most: int) -> list[str]:
    rows = connection.execute(
        "SELECT id FROM conversations WHERE instr(id, ?) AND deleted_ms IS NULL"
        " ORDER BY id = ? DESC, updated_ms DESC, number DESC LIMIT ?",
        (part, part, most),
    )
    return [conversation_id for (conversation_id,) in rows]
