"""Removing for good what was deleted, from the saved chats and from a copy of them.

Each function with a connection runs inside a transaction of its caller.
"""

import shutil
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

SLICE: Final = 200
"""Messages that are purged in one transaction."""
_BELOW: Final = (
    "INSERT INTO temp.gone WITH RECURSIVE below (id) AS ("
    " SELECT m.id FROM temp.purged AS p JOIN main.messages AS m ON m.id = p.id"
    " UNION SELECT m.id FROM temp.purged AS p JOIN main.messages AS m ON m.conversation_id = p.id"
    " UNION SELECT m.id FROM below JOIN main.messages AS m ON m.parent_id = below.id)"
    " SELECT id FROM below"
)
_SHOW_WHAT_IS_LEFT: Final = (
    "UPDATE main.conversations SET leaf_id = (SELECT m.id FROM main.messages AS m"
    " WHERE m.conversation_id = conversations.id AND NOT EXISTS"
    " (SELECT 1 FROM main.messages AS after WHERE after.parent_id = m.id)"
    " ORDER BY m.number DESC LIMIT 1) WHERE leaf_id IN (SELECT id FROM temp.gone)"
)
_REMOVE_EMPTY: Final = (
    "DELETE FROM main.conversations WHERE id IN (SELECT id FROM temp.purged) OR"
    " (id IN (SELECT id FROM temp.touched) AND NOT EXISTS"
    " (SELECT 1 FROM main.messages WHERE conversation_id = conversations.id))"
)


def marked_ids(connection: sqlite3.Connection, before_ms: int) -> frozenset[str]:
    """Return the ids of the chats and messages that were deleted before a time."""
    rows = connection.execute(
        "SELECT message_id FROM deleted_messages WHERE deleted_ms < :before"
        " UNION SELECT id FROM conversations WHERE deleted_ms < :before"
        " UNION SELECT m.id FROM conversations AS c JOIN messages AS m"
        " ON m.conversation_id = c.id WHERE c.deleted_ms < :before",
        {"before": before_ms},
    )
    return frozenset(one for (one,) in rows)


def marked_chats(connection: sqlite3.Connection, before_ms: int) -> frozenset[str]:
    """Return the ids of the chats that were deleted before a time."""
    rows = connection.execute("SELECT id FROM conversations WHERE deleted_ms < ?", (before_ms,))
    return frozenset(one for (one,) in rows)


def changes_folder(path: Path) -> Path:
    """Return where it is kept what tools changed in the chats of a file, a folder for each."""
    return path.with_name("changes")


def states_folder(path: Path) -> Path:
    """Return where engines keep what they have read of the chats of a file, a folder for each."""
    return path.with_name("states")


def remove_changes(path: Path, chats: Collection[str]) -> None:
    """Remove what was kept of what tools changed in chats that are gone; blocks."""
    _remove_folders(changes_folder(path), chats)


def remove_states(path: Path, chats: Collection[str]) -> None:
    """Remove what engines keep of chats that are deleted, whole or in part; blocks."""
    folder = states_folder(path)
    _remove_folders(folder, chats)
    with suppress(OSError):
        for part in folder.glob("*.part"):
            if part.name.partition(".")[0] in chats:
                part.unlink(missing_ok=True)


def _remove_folders(parent: Path, chats: Collection[str]) -> None:
    with suppress(OSError):
        for folder in parent.iterdir():
            if folder.name in chats:
                shutil.rmtree(folder, ignore_errors=True)


def purge_slice(connection: sqlite3.Connection, before_ms: int) -> int:
    """Remove some of what was deleted before a time for good; return the number of rows, or 0.

    Leaves go first, so that the file is whole after each slice.
    """
    messages = connection.execute(
        "SELECT m.number FROM deleted_messages AS d JOIN messages AS m ON m.id = d.message_id"
        " WHERE d.deleted_ms < ? ORDER BY m.depth DESC LIMIT ?",
        (before_ms, SLICE),
    ).fetchall()
    if messages:
        return _remove(connection, messages)
    chat = connection.execute(
        "SELECT id FROM conversations WHERE deleted_ms < ? LIMIT 1", (before_ms,)
    ).fetchone()
    if chat is None:
        return 0
    messages = connection.execute(
        "SELECT number FROM messages WHERE conversation_id = ? ORDER BY depth DESC LIMIT ?",
        (*chat, SLICE),
    ).fetchall()
    connection.execute("UPDATE conversations SET leaf_id = NULL WHERE id = ?", chat)
    if not messages:
        connection.execute("DELETE FROM conversations WHERE id = ?", chat)
    return _remove(connection, messages) or 1


def _remove(connection: sqlite3.Connection, numbers: Sequence[tuple[int]]) -> int:
    connection.executemany("DELETE FROM messages WHERE number = ?", numbers)
    return len(numbers)


def note_purged(connection: sqlite3.Connection, ids: Collection[str]) -> bool:
    """Keep the ids of purged chats and messages for this connection; return whether one is there.

    The schema may be an older one, without marks of deletions.
    """
    for table in ("purged", "gone", "touched"):
        connection.execute(f"CREATE TEMP TABLE {table} (id TEXT PRIMARY KEY) WITHOUT ROWID")
    connection.executemany("INSERT INTO temp.purged VALUES (?)", [(one,) for one in ids])
    held = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM main.messages"
        " WHERE id IN (SELECT id FROM temp.purged)"
        " OR conversation_id IN (SELECT id FROM temp.purged)) OR EXISTS"
        " (SELECT 1 FROM main.conversations WHERE id IN (SELECT id FROM temp.purged))"
    ).fetchone()
    return bool(held[0])


def remove_purged(connection: sqlite3.Connection) -> None:
    """Remove the noted chats and messages, what follows them, and chats that are then empty."""
    connection.execute(_BELOW)
    connection.execute(
        "INSERT INTO temp.touched SELECT DISTINCT conversation_id FROM main.messages"
        " WHERE id IN (SELECT id FROM temp.gone)"
    )
    connection.execute("DELETE FROM main.messages WHERE id IN (SELECT id FROM temp.gone)")
    connection.execute(_SHOW_WHAT_IS_LEFT)
    connection.execute(_REMOVE_EMPTY)
