"""Open the database whatever its state: new, ours, older, newer, damaged, or out of reach.

    no file           -> made, private to its owner
    ours              -> used; an older one is copied and brought up to date
    newer than this   -> read, never written
    damaged, foreign  -> moved aside with its journals, a fresh one takes its place
    out of reach      -> memory: the program works and says that nothing is saved

All of it happens under one lock, so that programs that start together do not get into each
other's way. Blocking: runs in the database's thread.
"""

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import NotRegularError, why_unreadable
from ollm_tui.store.faults import is_damage, translated
from ollm_tui.store.files import (
    identity,
    make_file,
    make_folder,
    move_aside,
    require_files,
    tighten,
)
from ollm_tui.store.instances import Instances
from ollm_tui.store.migrate import (
    APPLICATION_ID,
    Migration,
    application_id,
    migrate,
    schema_version,
)

logger = logging.getLogger(__name__)

BUSY_S: Final = 10.0
"""How long a statement waits for other programs before it fails."""
OPENING_S: Final = 10.0
CHECKED_BYTES: Final = 32 * 1024 * 1024
"""Up to this size every page is looked at when opening; larger files show damage when it is met."""
SAFE_WAL: Final = (3, 51, 3)
"""Before it, several writers could damage a database in write-ahead mode."""
_TABLES: Final = frozenset({"conversations", "messages"})


class Damaged(Exception):
    """The file is no database of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An open connection, and what a person should know about it."""

    connection: sqlite3.Connection
    version: int
    writable: bool = True
    file: tuple[int, int] | None = None
    """Which file it is, so that one in its place is noticed; None in memory."""
    notice: str | None = None


def open_connection(path: Path, steps: Sequence[Migration], instances: Instances) -> Opened:
    """Open the database; what cannot be opened is replaced by one in memory."""
    try:
        require_files(path)
    except NotRegularError as error:
        return _in_memory(steps, f"Not saved: {path}: {why_unreadable(error)}.", path)
    try:
        make_folder(path.parent)
        with instances.opening(OPENING_S):
            opened = _open_or_replace(path, steps, instances)
            if opened.writable:
                instances.join()
            return opened
    except sqlite3.Error as error:
        return _in_memory(steps, translated(error, path, "saved").message, path)
    except TimeoutError as error:
        return _in_memory(steps, f"Not saved: {error}.", path)
    except OSError as error:
        return _read_only_or_memory(path, steps, error)


def _open_or_replace(path: Path, steps: Sequence[Migration], instances: Instances) -> Opened:
    if not path.exists():
        move_aside(path)  # journals without their database would be thrown away by SQLite
        make_file(path)
        return _open_file(path, steps)
    try:
        return _open_file(path, steps)
    except Damaged as damage:
        if instances.others():
            return _in_memory(steps, f"Not saved: {damage}, and is in use elsewhere.", path)
        aside = move_aside(path)
        logger.warning("%s: %s; moved to %s", path, damage, aside)
    make_file(path)
    opened = _open_file(path, steps)
    notice = f"The file of saved chats was damaged. It was kept as {aside} and a new one was begun."
    return Opened(
        connection=opened.connection, version=opened.version, file=opened.file, notice=notice
    )


def _open_file(path: Path, steps: Sequence[Migration]) -> Opened:
    tighten(path)
    connection = _connect(str(path))
    try:
        try:
            version = _examine(connection, path)
            if version > steps[-1].number:
                return _newer(connection, version, steps[-1].number, path)
            migrate(connection, steps, path)
            _configure(connection)
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise Damaged("the file is damaged") from error
            raise
    except BaseException:
        connection.close()
        raise
    return Opened(connection=connection, version=steps[-1].number, file=identity(path))


def _connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=BUSY_S, isolation_level=None, uri=uri)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _configure(connection: sqlite3.Connection) -> None:
    mode = "WAL" if sqlite3.sqlite_version_info >= SAFE_WAL else "TRUNCATE"
    try:
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
    except sqlite3.OperationalError:  # another program has it open in the other mode
        logger.info("The journal mode stays as it is while the database is in use")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")


def _examine(connection: sqlite3.Connection, path: Path) -> int:
    """Give the schema's version.

    Raises:
        Damaged: it is broken, or not ours.
    """
    owner, version = application_id(connection), schema_version(connection)
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    tables = {name for (name,) in rows}
    if (owner, version) == (0, 0) and not tables:
        return 0
    if owner != APPLICATION_ID or version < 1 or not tables >= _TABLES:
        raise Damaged("the file is damaged or belongs to another program")
    if path.stat().st_size <= CHECKED_BYTES:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise Damaged("the file is damaged")
    return version


def _newer(connection: sqlite3.Connection, version: int, known: int, path: Path) -> Opened:
    connection.execute("PRAGMA query_only = ON")
    notice = (
        f"The saved chats are of a newer version of this program (format {version}, this one"
        f" knows {known}). They can be read; nothing is saved until the program is updated."
    )
    return Opened(
        connection=connection, version=version, writable=False, file=identity(path), notice=notice
    )


def _read_only_or_memory(path: Path, steps: Sequence[Migration], error: OSError) -> Opened:
    """Read chats from a folder that cannot be written."""
    reason = f"{path.parent} cannot be written: {error.strerror or error}"
    try:
        connection = _connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return _in_memory(steps, f"Not saved: {reason}.", path)
    try:
        connection.execute("PRAGMA query_only = ON")
        version = _examine(connection, path)
    except (Damaged, sqlite3.Error, OSError):
        version = 0
    if not version:
        connection.close()
        return _in_memory(steps, f"Not saved: {reason}.", path)
    notice = f"Saved chats can be read, but nothing is saved: {reason}."
    return Opened(
        connection=connection, version=version, writable=False, file=identity(path), notice=notice
    )


def _in_memory(steps: Sequence[Migration], notice: str, path: Path) -> Opened:
    logger.warning("%s: %s", path, notice)
    connection = _connect(":memory:")
    migrate(connection, steps, None)
    _configure(connection)
    return Opened(connection=connection, version=steps[-1].number, writable=True, notice=notice)
