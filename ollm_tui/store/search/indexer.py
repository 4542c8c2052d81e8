"""Bring the index up to date with the chats, in slices that are each complete.

What has changed is read from the chats themselves: each has a revision. So nothing is lost when the
program is killed, or when another version of it has saved chats: the next pass continues. Blocking.
"""

import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.private_file import open_lock, try_lock
from ollm_tui.dataclass import dataclass
from ollm_tui.store.search.embedding_queue import VectorWriter, enqueue, forget_vector
from ollm_tui.store.search.index_file import (
    SHARD,
    IndexPlace,
    make_shard,
    open_for_comparing,
    open_for_reading,
    open_index,
    remove_index,
    transaction,
    words_table,
)
from ollm_tui.store.search.texts import text_of
from ollm_tui.store.search.words import indexed_text

SLICE_S: Final = 0.1
SLICE_ROWS: Final = 500
_PAGE: Final = 1000
_UNFINISHED: Final = -1
"""The revision of a chat whose messages are not all indexed, or of which one still grows."""

# The plus keeps SQLite from an index of the list of chats, which has another order.
_CHANGED: Final = """
SELECT c.number, c.id, c.title, c.revision, c.updated_ms FROM saved.conversations AS c
LEFT JOIN chats AS k ON k.number = c.number
WHERE c.number > ? AND c.number <= ? AND +c.deleted_ms IS NULL
  AND (c.id, c.title, c.revision, c.updated_ms) IS NOT (k.id, k.title, k.revision, k.updated_ms)
"""
_GONE: Final = """
SELECT k.number FROM chats AS k LEFT JOIN saved.conversations AS c ON c.number = k.number
WHERE k.number > ? AND k.number <= ? AND (c.id IS NOT k.id OR c.deleted_ms IS NOT NULL)
"""
ChatRow: TypeAlias = tuple[int, str, str, int, int]
"""Number, id, title, revision and time of the last change."""


@dataclass(slots=True)
class Changes:
    """The chats that are to be indexed again or forgotten."""

    changed: list[ChatRow]
    gone: list[int]


class Indexer:
    """Writes the index; made by `indexing`, which holds the lock."""

    def __init__(
        self, place: IndexPlace, chats: sqlite3.Connection, index: sqlite3.Connection
    ) -> None:
        self._place = place
        self._chats = chats
        self._index = index
        self._shards = {number for (number,) in index.execute("SELECT number FROM shards")}

    def run(self) -> Iterator[int]:
        """Bring the index up to date; yields after each slice how many messages it has handled."""
        changes = self._find_changes()
        yield from self._forget(changes.gone)
        yield from self._add(changes.changed)
        yield from self._overwrite_deleted()

    def counts(self) -> tuple[int, int]:
        """Return how many messages are in the index, and how many are saved."""
        (indexed,) = self._index.execute("SELECT count(*) FROM messages").fetchone()
        (saved,) = self._chats.execute("SELECT count(*) FROM messages").fetchone()
        return indexed, saved

    def interrupt(self) -> None:
        """End what the index is doing, from another thread; the slice is undone."""
        self._index.interrupt()

    def _find_changes(self) -> Changes:
        """Compare both files in SQLite, which is much faster than comparing rows in Python."""
        changed: list[ChatRow] = []
        gone: list[int] = []
        with closing(open_for_comparing(self._place)) as both:
            for page in _pages(both, "saved.conversations"):
                changed += both.execute(_CHANGED, page)
            for page in _pages(both, "chats"):
                gone += (number for (number,) in both.execute(_GONE, page))
        changed.sort(key=lambda row: row[4], reverse=True)
        return Changes(changed, gone)

    # Forgetting

    def _forget(self, chats: Sequence[int]) -> Iterator[int]:
        for chat in chats:
            is_left = True
            while is_left:
                with transaction(self._index):
                    numbers = self._index.execute(
                        "SELECT number FROM messages WHERE chat = ? LIMIT ?", (chat, SLICE_ROWS)
                    ).fetchall()
                    for (number,) in numbers:
                        self._remove(number)
                    is_left = len(numbers) == SLICE_ROWS
                    if not is_left:
                        self._index.execute("DELETE FROM chats WHERE number = ?", (chat,))
                yield len(numbers)

    def _remove(self, number: int) -> None:
        shard = number // SHARD
        row = self._index.execute("SELECT packed FROM texts WHERE number = ?", (number,)).fetchone()
        if row is not None:
            text = indexed_text(zlib.decompress(row[0]).decode())
            table = words_table(shard)
            self._index.execute(
                f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)",
                (number, text),
            )
            self._index.execute("UPDATE shards SET has_deleted = 1 WHERE number = ?", (shard,))
            self._index.execute("DELETE FROM texts WHERE number = ?", (number,))
            forget_vector(self._index, number)
        self._index.execute("DELETE FROM messages WHERE number = ?", (number,))

    def _overwrite_deleted(self) -> Iterator[int]:
        """Remove deleted words from the file: FTS5 only marks them as deleted at first."""
        shards = self._index.execute("SELECT number FROM shards WHERE has_deleted").fetchall()
        for (shard,) in shards:
            table = words_table(shard)
            with transaction(self._index):
                self._index.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
                self._index.execute("UPDATE shards SET has_deleted = 0 WHERE number = ?", (shard,))
            yield 0
        if shards:
            self._index.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    # Adding

    def _add(self, chats: Sequence[ChatRow]) -> Iterator[int]:
        """Index chats; small ones share a slice, and a large one takes several."""
        steps = self._steps(chats)
        is_left = True
        while is_left:
            until, count = time.monotonic() + SLICE_S, 0
            with transaction(self._index):
                is_left = False
                for done in steps:
                    count += done
                    if count >= SLICE_ROWS or time.monotonic() > until:
                        is_left = True
                        break
            yield count

    def _steps(self, chats: Sequence[ChatRow]) -> Iterator[int]:
        """Index chats within transactions of the caller; yields a number of messages each time."""
        for chat in chats:
            numbers, has_growing = self._compare(chat)
            self._note_chat(chat, _UNFINISHED if numbers or has_growing else chat[3])
            yield 0
            for number, message_id in numbers:
                self._add_message(chat[0], number, message_id)
                yield 1
            if numbers and not has_growing:
                self._note_chat(chat, chat[3])

    def _note_chat(self, chat: ChatRow, revision: int) -> None:
        number, chat_id, title, _, updated_ms = chat
        self._index.execute(
            "INSERT OR REPLACE INTO chats (number, id, title, revision, updated_ms)"
            " VALUES (?, ?, ?, ?, ?)",
            (number, chat_id, title, revision, updated_ms),
        )

    def _compare(self, chat: ChatRow) -> tuple[list[tuple[int, str]], bool]:
        """Forget messages that are gone or changed, and return those to index.

        The second value tells whether one of the messages still grows.
        """
        known = set(
            self._index.execute(
                "SELECT number, id, updated_ms FROM messages WHERE chat = ?", (chat[0],)
            )
        )
        saved = self._chats.execute(
            "SELECT number, id, updated_ms, state FROM messages WHERE conversation_id = ?"
            " AND id NOT IN (SELECT message_id FROM deleted_messages WHERE conversation_id = ?)",
            (chat[1], chat[1]),
        ).fetchall()
        ended = {row[:3] for row in saved if row[3] != "streaming"}
        for number, _, _ in known - ended:
            self._remove(number)
        fresh = sorted((number, message_id) for number, message_id, _ in ended - known)
        return fresh, len(ended) < len(saved)

    def _add_message(self, chat: int, number: int, message_id: str) -> None:
        row = self._chats.execute(
            "SELECT role, coalesce(model, ''), created_ms, updated_ms, body FROM messages"
            " WHERE number = ? AND id = ?",
            (number, message_id),
        ).fetchone()
        if row is None:  # deleted meanwhile
            return
        *columns, body = row
        self._remove(number)  # SQLite gives the number of a deleted message to another one
        shard = number // SHARD
        if shard not in self._shards:
            make_shard(self._index, shard)
            self._shards.add(shard)
        self._index.execute(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, chat, message_id, *columns),
        )
        if text := text_of(body):
            packed = zlib.compress(text.encode(), 1)
            self._index.execute("INSERT INTO texts VALUES (?, ?)", (number, packed))
            self._index.execute(
                f"INSERT INTO {words_table(shard)} (rowid, text) VALUES (?, ?)",
                (number, indexed_text(text)),
            )
            enqueue(self._index, number)


def _pages(connection: sqlite3.Connection, table: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of numbers, since a program that saves waits for a statement that reads.

    Each has so many rows, whatever their numbers are, from behind the first to the second.
    """
    query = (
        "SELECT max(number) FROM"
        f" (SELECT number FROM {table} WHERE number > ? ORDER BY number LIMIT {_PAGE})"
    )
    last = -1
    while (end := connection.execute(query, (last,)).fetchone()[0]) is not None:
        yield last, end
        last = end


@contextmanager
def indexing(place: IndexPlace) -> Iterator[Indexer | None]:
    """Hold the lock of the index and yield its writer; None while another program has the lock.

    Raises:
        NoIndex: the index cannot be written by this version of the program.
        OSError: a file cannot be opened.
        sqlite3.Error: a file cannot be read or written.
    """
    with locked(place.lock) as is_ours:
        if not is_ours:
            yield None
            return
        with (
            closing(open_for_reading(place.chats)) as chats,
            closing(open_index(place.index)) as index,
        ):
            yield Indexer(place, chats, index)


@contextmanager
def writing_vectors(place: IndexPlace) -> Iterator[VectorWriter | None]:
    """Hold the lock of the index and yield what writes vectors; None while another has the lock.

    Raises:
        NoIndex, OSError, sqlite3.Error: as `indexing`.
    """
    with locked(place.lock) as is_ours:
        if not is_ours:
            yield None
            return
        with closing(open_index(place.index)) as index:
            yield VectorWriter(index)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Try to take the lock of a file, and yield whether that succeeded.

    Raises:
        OSError: the file cannot be opened.
    """
    descriptor = open_lock(path)
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def discard_index(place: IndexPlace) -> None:
    """Delete an index that is damaged; the next pass makes it anew.

    Raises:
        OSError: it cannot be deleted.
    """
    with locked(place.lock) as is_ours:
        if is_ours:
            remove_index(place.index)
