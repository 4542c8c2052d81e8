"""The file of the index: its tables, and how it is opened, made and thrown away.

Texts are kept compressed: FTS5 needs them to forget a message, and results show parts of them. The
words are in a table for each `SHARD` of messages, so that a search for the newest messages with a
frequent word looks through few of them, and a deletion rewrites few.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import is_there, require_regular
from ollm_tui.dataclass import dataclass
from ollm_tui.store.faults import is_damage
from ollm_tui.store.files import make_file, tighten

FORMAT: Final = 2
SHARD: Final = 1 << 16
"""Messages, by their number, whose words are in one table."""
BUSY_S: Final = 5.0
_ENDINGS: Final = ("", "-journal", "-wal", "-shm")
_VECTORS: Final = """
CREATE TABLE vectors (number INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE vector_blocks (number INTEGER PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE vector_model (name TEXT NOT NULL);
CREATE TABLE to_embed (number INTEGER PRIMARY KEY);
"""
"""The vectors of messages, the model that made them, and the messages that wait for one."""
_SCHEMA: Final = """
CREATE TABLE chats (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  title TEXT NOT NULL,
  revision INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL
);
CREATE TABLE messages (
  number INTEGER PRIMARY KEY,
  chat INTEGER NOT NULL,
  id TEXT NOT NULL,
  role TEXT NOT NULL,
  model TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL
);
CREATE INDEX messages_by_chat ON messages (chat);
CREATE TABLE texts (number INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE shards (number INTEGER PRIMARY KEY, has_deleted INTEGER NOT NULL DEFAULT 0);
"""


class NoIndex(Exception):
    """There is no index that can be used; the text is a sentence about the reason."""


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Where the chats and their index are."""

    chats: Path

    @property
    def index(self) -> Path:
        """The file of the index."""
        return self.chats.with_name(f"{self.chats.stem}-search.db")

    @property
    def lock(self) -> Path:
        """The file that is locked by the program that writes the index."""
        return self.chats.with_name(f"{self.chats.stem}-search.lock")

    @property
    def embedding_lock(self) -> Path:
        """The file that is locked by the program that makes the vectors."""
        return self.chats.with_name(f"{self.chats.stem}-similar.lock")


def has_fts5() -> bool:
    """Return whether the SQLite of this Python can search texts."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text)")
        except sqlite3.OperationalError:
            return False
    return True


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open chats or an index for reading, in any thread.

    Raises:
        OSError: it does not exist, or is not a file.
        sqlite3.Error: it cannot be opened.
    """
    require_regular(path.stat())
    connection = sqlite3.connect(
        _read_only(path), timeout=BUSY_S, isolation_level=None, uri=True, check_same_thread=False
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    return connection


def open_for_comparing(place: IndexPlace) -> sqlite3.Connection:
    """Open the index for reading, with the chats as the schema `saved`.

    Raises:
        OSError, sqlite3.Error: as `open_for_reading`.
    """
    connection = open_for_reading(place.index)
    try:
        connection.execute("ATTACH ? AS saved", (_read_only(place.chats),))
    except BaseException:
        connection.close()
        raise
    return connection


def _read_only(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"


def open_index(path: Path) -> sqlite3.Connection:
    """Open the index for writing, and make it anew if it is damaged or of an older format.

    Only for the program that holds the lock.

    Raises:
        NoIndex: it is of a newer version of this program.
        OSError: it cannot be made.
        sqlite3.Error: it cannot be opened.
    """
    if is_there(path):
        require_regular(path.stat())
        connection = None
        try:
            connection = _connect(path)
            version = _version(connection)
            if version == 1:
                _add_vectors(connection)
                version = FORMAT
            if version == FORMAT:
                return connection
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            version = 0
        if connection is not None:
            connection.close()
        if version > FORMAT:
            raise NoIndex("The search index is of a newer version of this program.")
    return _make(path)


def check_format(connection: sqlite3.Connection) -> None:
    """Require that an index that was opened for reading can be understood.

    Raises:
        NoIndex: it is of another format, or not complete yet.
    """
    if _version(connection) != FORMAT:
        raise NoIndex("The search index is of another version of this program.")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of a block, or nothing if it raises.

    Raises:
        sqlite3.Error: it cannot be written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def remove_index(path: Path) -> None:
    """Delete the index; it is made again from the chats."""
    for ending in _ENDINGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


def words_table(shard: int) -> str:
    """Return the name of the table with the words of a shard."""
    return f"words_{int(shard)}"


def make_shard(connection: sqlite3.Connection, shard: int) -> None:
    """Create the table for the words of a shard."""
    # The text is folded before it comes here. Nothing is ranked, so sizes are not needed.
    connection.execute(
        f"CREATE VIRTUAL TABLE {words_table(shard)} USING fts5 (text, content='', columnsize=0,"
        " prefix='2 3', tokenize='unicode61 remove_diacritics 0')"
    )
    connection.execute("INSERT INTO shards (number) VALUES (?)", (shard,))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _connect(path: Path) -> sqlite3.Connection:
    tighten(path)
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA cache_size = -16000")
        # One program writes at a time, and what a crash takes is indexed again. Some file systems
        # have no shared memory: SQLite then keeps the other mode.
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _add_vectors(connection: sqlite3.Connection) -> None:
    """Bring an index of format 1 up to date: it has words only."""
    with transaction(connection):
        for statement in _VECTORS.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO to_embed SELECT number FROM messages")
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def _make(path: Path) -> sqlite3.Connection:
    remove_index(path)
    make_file(path)
    connection = _connect(path)
    try:
        with transaction(connection):
            for statement in (_SCHEMA + _VECTORS).split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.close()
        raise
    return connection
