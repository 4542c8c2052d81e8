"""Open the database in any state: new, ours, older, newer, damaged, or inaccessible.

    no file           -> made, private to its owner
    ours              -> used; an older one is copied and brought up to date
    newer than this   -> read, never written
    damaged           -> what can be read goes into a fresh one, the old one is kept aside
    foreign           -> kept aside in the same way
    inaccessible      -> memory: the program works, with a notice that nothing is saved

All of it happens under one lock, so that programs that start together do not interfere.
Blocking: runs in the database's thread.
"""

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import NotRegularError, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.store.faults import is_damage, kind_of, translated
from ollm_tui.store.files import (
    Instances,
    has_content,
    identity,
    make_file,
    make_folder,
    move_aside,
    put_in_place,
    require_files,
    tighten,
)
from ollm_tui.store.migrate import (
    APPLICATION_ID,
    Migration,
    application_id,
    migrate,
    schema_version,
)
from ollm_tui.store.sqlite_pages import hides_commits, log_of

logger = logging.getLogger(__name__)

BUSY_S: Final = 10.0
"""How long a statement waits for other programs before it fails."""
OPENING_S: Final = 10.0
CHECKED_BYTES: Final = 32 * 1024 * 1024
"""Files up to this size are checked completely on opening; in larger ones damage shows later."""
LAST_VERSION: Final = 9999
"""A higher number is not a version of the schema but damage."""
SAFE_WAL: Final = (3, 51, 3)
"""Before it, several writers could damage a database in write-ahead mode."""
_TABLES: Final = frozenset({"conversations", "messages"})


class Damaged(Exception):
    """The file is damaged, or not a database of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An open connection, and a notice about it for the user."""

    connection: sqlite3.Connection
    version: int
    writable: bool = True
    file: tuple[int, int] | None = None
    """Identity of the file, by which a replacement is noticed; None in memory."""
    notice: str | None = None


def open_connection(path: Path, steps: Sequence[Migration], instances: Instances) -> Opened:
    """Open the database, or one in memory if it cannot be opened."""
    try:
        require_files(path)
    except NotRegularError as error:
        return _in_memory(steps, f"Not saved: {path}: {why_unreadable(error)}.", path)
    try:
        make_folder(path.parent)
        with instances.opening(OPENING_S):
            opened = _open_or_replace(path, steps, instances)
            if opened.file is not None:
                instances.forget_damage()
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
        left = move_aside(path)  # journals without their database: SQLite would throw them away
        if left is not None and has_content(left):
            return _fill(path, steps, left, "is gone, but not its journal")
        make_file(path)
        return _open_file(path, steps, instances)
    try:
        return _open_file(path, steps, instances)
    except Damaged as damage:
        if instances.others():
            reason = f"Not saved: {damage}, and is in use elsewhere."
            return _read_into_memory(path, steps, reason)
        return _fill(path, steps, path, "was damaged")


def _fill(path: Path, steps: Sequence[Migration], damaged: Path, what: str) -> Opened:
    """Salvage a damaged database into a new one, which replaces it."""
    # Loaded only for a damaged file.
    from ollm_tui.store.salvage import salvage

    fresh = path.with_name(f"{path.name}.part")
    fresh.unlink(missing_ok=True)
    try:
        make_file(fresh)
        with closing(_connect(str(fresh))) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            migrate(connection, steps, None)
            saved = salvage(damaged, connection)
    except (OSError, sqlite3.Error) as error:
        fresh.unlink(missing_ok=True)
        reason = f"{error}"
        if isinstance(error, sqlite3.Error):
            reason = translated(error, path, "saved").message
        notice = f"The file of saved chats {what}, and a sound copy cannot be made. {reason}"
        return _read_into_memory(path, steps, notice)
    aside = put_in_place(path, fresh) if damaged == path else damaged
    if aside is damaged:
        fresh.replace(path)
    notice = f"The file of saved chats {what}. {saved}. The old file was kept as {aside}."
    logger.warning("%s", notice)
    return replace(_open_file(path, steps, None), notice=notice)


def _read_into_memory(path: Path, steps: Sequence[Migration], notice: str) -> Opened:
    """Salvage a damaged database that cannot be replaced now into one in memory."""
    # Loaded only for a damaged file.
    from ollm_tui.store.salvage import salvage

    opened = _in_memory(steps, notice, path)
    with suppress(OSError, sqlite3.Error):
        saved = salvage(path, opened.connection)
        return replace(opened, notice=f"{notice} {saved.counts} can be read until you quit.")
    return opened


def _open_file(path: Path, steps: Sequence[Migration], instances: Instances | None) -> Opened:
    tighten(path)
    # SQLite would cut the log off at the broken frame.
    if instances is not None and not instances.others() and hides_commits(log_of(path)):
        raise Damaged("the log of the file is damaged")
    connection = _connect(str(path))
    try:
        try:
            has_damage = instances is not None and instances.has_damage()
            version = _version(connection, path, is_suspect=has_damage)
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


def _version(connection: sqlite3.Connection, path: Path, *, is_suspect: bool) -> int:
    """Return the schema's version of a writable file; SQLITE_ERROR means damage here."""
    try:
        return _examine(connection, path, is_suspect=is_suspect)
    except sqlite3.OperationalError as error:
        if kind_of(error) == sqlite3.SQLITE_ERROR:
            raise Damaged("the file is damaged") from error
        raise


def _examine(connection: sqlite3.Connection, path: Path, *, is_suspect: bool = False) -> int:
    owner, version = application_id(connection), schema_version(connection)
    try:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except UnicodeDecodeError as error:
        raise Damaged("the file is damaged") from error
    tables = {name for (name,) in rows}
    if (owner, version) == (0, 0) and not tables:
        return 0
    if owner != APPLICATION_ID or not 1 <= version <= LAST_VERSION or not tables >= _TABLES:
        raise Damaged("the file is damaged or belongs to another program")
    if is_suspect or path.stat().st_size <= CHECKED_BYTES:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise Damaged("the file is damaged")
    return version


def _newer(connection: sqlite3.Connection, version: int, known: int, path: Path) -> Opened:
    notice = (
        f"The saved chats are of a newer version of this program (format {version}, this one"
        f" knows {known}). They can be read; nothing is saved until the program is updated."
    )
    return _read_only(connection, version, path, notice)


def _read_only(connection: sqlite3.Connection, version: int, path: Path, notice: str) -> Opened:
    connection.execute("PRAGMA query_only = ON")
    return Opened(
        connection=connection, version=version, writable=False, file=identity(path), notice=notice
    )


def _read_only_or_memory(path: Path, steps: Sequence[Migration], error: OSError) -> Opened:
    """Open chats in a folder that cannot be written for reading."""
    reason = f"{path.parent} cannot be written: {error.strerror or error}"
    try:
        connection = _connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return _in_memory(steps, f"Not saved: {reason}.", path)
    try:
        connection.execute("PRAGMA query_only = ON")
        version = _examine(connection, path)
    except (Damaged, sqlite3.DatabaseError) as fault:
        connection.close()
        if isinstance(fault, Damaged) or is_damage(fault):
            return _read_into_memory(path, steps, f"Not saved: {reason}, and the file is damaged.")
        return _in_memory(steps, f"Not saved: {reason}.", path)
    except (sqlite3.Error, OSError):
        version = 0
    if not version:
        connection.close()
        return _in_memory(steps, f"Not saved: {reason}.", path)
    notice = f"Saved chats can be read, but nothing is saved: {reason}."
    if version < steps[-1].number:
        connection = _updated_copy(connection, steps)
    return _read_only(connection, version, path, notice)


def _updated_copy(old: sqlite3.Connection, steps: Sequence[Migration]) -> sqlite3.Connection:
    """Migrate an older database in memory, since its file cannot be written."""
    connection = _connect(":memory:")
    with closing(old):
        old.backup(connection)
    migrate(connection, steps, None)
    return connection


def _in_memory(steps: Sequence[Migration], notice: str, path: Path) -> Opened:
    logger.warning("%s: %s", path, notice)
    connection = _connect(":memory:")
    migrate(connection, steps, None)
    _configure(connection)
    return Opened(connection=connection, version=steps[-1].number, writable=True, notice=notice)
