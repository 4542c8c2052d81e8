"""Marks that people set on messages, and when messages were written."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from ollm_tui.store.database import Database
from ollm_tui.store.rows import column

MARKED: Final = "marked"
"""The metadata key of a message that the user has marked."""


def set_mark(connection: sqlite3.Connection, message_id: str, *, is_marked: bool) -> bool:
    """Mark a message or take its mark away; False if it is gone or still being written."""
    query = "SELECT body FROM messages WHERE id = ? AND state != 'streaming'"
    row = connection.execute(query, (message_id,)).fetchone()
    if row is None:
        return False
    try:
        body = json.loads(row[0])
    except ValueError:
        return False
    if not isinstance(body, dict):
        return False
    metadata = body.pop("metadata", None)
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    metadata.pop(MARKED, None)
    if is_marked:
        metadata[MARKED] = True
    if metadata:
        body["metadata"] = metadata
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    connection.execute("UPDATE messages SET body = ? WHERE id = ?", (column(text), message_id))
    return True


def read_times(connection: sqlite3.Connection, conversation_id: str) -> Mapping[str, int]:
    """Return when each message of a chat was begun, in milliseconds since 1970, by its id."""
    query = "SELECT id, created_ms FROM messages WHERE conversation_id = ?"
    return dict(connection.execute(query, (conversation_id,)).fetchall())


class Marks:
    """Marks and times of saved messages; `ConversationStore.marks` is one.

    All methods raise `AIError` if the file cannot be read or written.
    """

    def __init__(self, database: Database, save_first: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._save_first = save_first

    async def set(self, message_id: str, *, is_marked: bool) -> bool:
        """Mark a message or take its mark away; False if that is impossible now."""
        await self._save_first()
        change = partial(set_mark, message_id=message_id, is_marked=is_marked)
        return await self._database.write(change)

    async def times(self, conversation_id: str) -> Mapping[str, int]:
        """Return when each message of a chat was begun, by its id."""
        await self._save_first()
        return await self._database.read(partial(read_times, conversation_id=conversation_id))
