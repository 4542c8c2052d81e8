"""The messages of the index that wait for a vector, and the vectors that are there. Blocking."""

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.store.search.index_file import transaction
from ollm_tui.store.search.vectors import BLOCK, packed

_FORGOTTEN_AT_ONCE: Final = 2000
_IN_CHANGE: Final = ""
"""The name of the model while the vectors of the one before are being removed."""


@dataclass(frozen=True, slots=True)
class WaitingText:
    """A message that has no vector yet."""

    number: int
    updated_ms: int
    text: str


def waiting_texts(index: sqlite3.Connection, count: int, characters: int) -> list[WaitingText]:
    """Return the newest messages without a vector, with the first `characters` of their texts."""
    rows = index.execute(
        "SELECT m.number, m.updated_ms, t.packed FROM to_embed AS e"
        " CROSS JOIN messages AS m ON m.number = e.number"
        " CROSS JOIN texts AS t ON t.number = e.number ORDER BY e.number DESC LIMIT ?",
        (count,),
    )
    return [
        WaitingText(number, updated_ms, _beginning(text, characters))
        for number, updated_ms, text in rows
    ]


def _beginning(text: bytes, characters: int) -> str:
    some = zlib.decompressobj().decompress(text, 4 * characters)
    return some.decode(errors="ignore")[:characters]


def embedded_counts(index: sqlite3.Connection) -> tuple[int, int]:
    """Return how many messages have a vector or cannot have one, and how many there are."""
    (waiting,) = index.execute("SELECT count(*) FROM to_embed").fetchone()
    (all_messages,) = index.execute("SELECT count(*) FROM messages").fetchone()
    return max(0, all_messages - waiting), all_messages


def model_of_vectors(index: sqlite3.Connection) -> str | None:
    """Return the name of the model that made the vectors; None without one."""
    row = index.execute("SELECT name FROM vector_model").fetchone()
    return (row[0] or None) if row else None


def enqueue(index: sqlite3.Connection, number: int) -> None:
    """Have a vector made of a message."""
    index.execute("INSERT OR IGNORE INTO to_embed VALUES (?)", (number,))


def forget_vector(index: sqlite3.Connection, number: int) -> None:
    """Remove the vector of a message, or its place in the queue."""
    if index.execute("DELETE FROM vectors WHERE number = ?", (number,)).rowcount:
        _note_change(index, number // BLOCK)
    index.execute("DELETE FROM to_embed WHERE number = ?", (number,))


def _note_change(index: sqlite3.Connection, block: int) -> None:
    index.execute(
        "INSERT INTO vector_blocks VALUES (?, 1)"
        " ON CONFLICT (number) DO UPDATE SET version = version + 1",
        (block,),
    )


class VectorWriter:
    """Writes vectors; made by `writing_vectors`, which holds the lock of the index."""

    def __init__(self, index: sqlite3.Connection) -> None:
        self._index = index

    def use_model(self, name: str) -> Iterator[int]:
        """Remove the vectors of another model; yields after each slice how many were removed.

        Whatever was removed is made anew. A pass that was interrupted is continued by the next.
        """
        if model_of_vectors(self._index) == name:
            return
        with transaction(self._index):
            self._index.execute("DELETE FROM vector_model")
            self._index.execute("INSERT INTO vector_model VALUES (?)", (_IN_CHANGE,))
            self._index.execute("INSERT OR IGNORE INTO to_embed SELECT number FROM texts")
        removed = _FORGOTTEN_AT_ONCE
        while removed == _FORGOTTEN_AT_ONCE:
            with transaction(self._index):
                removed = self._index.execute(
                    "DELETE FROM vectors WHERE number IN (SELECT number FROM vectors LIMIT ?)",
                    (_FORGOTTEN_AT_ONCE,),
                ).rowcount
            yield removed
        with transaction(self._index):
            self._index.execute("UPDATE vector_blocks SET version = version + 1")
            self._index.execute("UPDATE vector_model SET name = ?", (name,))

    def store(
        self, model: str, texts: Sequence[WaitingText], vectors: Sequence[Sequence[float] | None]
    ) -> None:
        """Keep the vectors of some texts, except of messages that have changed meanwhile.

        A text without a vector is not tried again with this model.
        """
        with transaction(self._index):
            if model_of_vectors(self._index) != model:
                return
            blocks: set[int] = set()
            for text, vector in zip(texts, vectors, strict=True):
                is_same = self._index.execute(
                    "SELECT 1 FROM messages WHERE number = ? AND updated_ms = ?",
                    (text.number, text.updated_ms),
                ).fetchone()
                if is_same is None:
                    continue
                self._index.execute("DELETE FROM to_embed WHERE number = ?", (text.number,))
                if vector is not None and (blob := packed(vector)):
                    self._index.execute(
                        "INSERT OR REPLACE INTO vectors VALUES (?, ?)", (text.number, blob)
                    )
                    blocks.add(text.number // BLOCK)
            for block in blocks:
                _note_change(self._index, block)
