"""Puts a daily copy in the place of the saved chats, which are kept aside."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import is_there, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.copies.files import DailyCopy, copy_pages, why_not_ours
from ollm_tui.store.faults import translated
from ollm_tui.store.files import Instances, make_file, put_in_place, require_files
from ollm_tui.store.migrate import schema_version, shipped_migrations
from ollm_tui.store.search.index_file import IndexPlace, remove_index

TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a file holds."""

    chats: int
    messages: int


def counts_of(path: Path) -> Counts:
    """Return how many chats and messages a file holds. Blocks.

    Raises:
        AIError: it cannot be read.
    """
    try:
        require_files(path)
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            (chats,) = connection.execute("SELECT count(*) FROM conversations").fetchone()
            (messages,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    except sqlite3.Error as error:
        raise translated(error, path, "read") from error
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"{path} cannot be read: {why_unreadable(error)}."
        ) from error
    return Counts(chats, messages)


def restore(path: Path, copy: DailyCopy, own: str) -> Path | None:
    """Put a copy in the place of a database; return where that is kept, None without one. Blocks.

    A program that is killed meanwhile leaves the one or the other, complete.

    Raises:
        AIError: another program uses the database, the copy cannot be used, or a file cannot be
            written; nothing was changed.
    """
    instances = Instances(path, own)
    try:
        require_files(path)
        require_files(copy.path)
        with instances.opening(TIMEOUT_S):
            if instances.others():
                raise AIError(
                    ErrorCode.CONFLICT,
                    "Another ollm uses the saved chats.",
                    hint="Close it and try again.",
                )
            return _restore(path, copy)
    except TimeoutError as error:
        raise AIError(ErrorCode.CONFLICT, "Another ollm is opening the saved chats.") from error
    except sqlite3.Error as error:
        raise translated(error, path, "restored") from error
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"The chats cannot be restored: {why_unreadable(error)}."
        ) from error


def _restore(path: Path, copy: DailyCopy) -> Path | None:
    fresh = path.with_name(f"{path.name}.part")
    fresh.unlink(missing_ok=True)
    make_file(fresh)
    try:
        uri = f"{copy.path.absolute().as_uri()}?mode=ro"
        with (
            closing(sqlite3.connect(uri, uri=True)) as source,
            closing(sqlite3.connect(fresh)) as target,
        ):
            target.execute("PRAGMA synchronous = FULL")
            copy_pages(source, target, lambda: False)
            _require_usable(target, copy)
        if not is_there(path):
            fresh.replace(path)
            return None
        _end_journal(path)
        remove_index(IndexPlace(path).index)  # of the other chats
        return put_in_place(path, fresh, why="replaced")
    finally:
        fresh.unlink(missing_ok=True)


def _require_usable(connection: sqlite3.Connection, copy: DailyCopy) -> None:
    reason = why_not_ours(connection)
    if reason is None and schema_version(connection) > shipped_migrations()[-1].number:
        reason = "a newer version of this program made it"
    if reason is not None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The copy of {copy.day} cannot be used: {reason}.",
            hint="Choose another: `ollm chats restore` lists them.",
        )


def _end_journal(path: Path) -> None:
    """Write what is in the journal into the file, so that the file alone is complete."""
    with closing(sqlite3.connect(path, timeout=TIMEOUT_S)) as connection:
        if why_not_ours(connection) is None:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
