"""The copies of a database by their days: where they are, which are kept, and making one."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import open_lock, sync_folder, try_lock
from ollm_tui.config.regular_file import is_file
from ollm_tui.dataclass import dataclass
from ollm_tui.store.files import make_file, make_folder, require_files
from ollm_tui.store.migrate import APPLICATION_ID, BEFORE, application_id

DAYS: Final = 7
"""So many of the newest copies are kept, one for each day."""
WEEKS: Final = 4
"""The last copy of so many weeks is kept, too."""
MIN_FREE_BYTES: Final = 500_000_000
"""What must be free on the disk after a copy was made."""
LOCK: Final = "lock"
"""The file that a program locks while it writes copies."""
PART: Final = ".part"
"""The ending of a file that becomes a copy when it is complete."""
_PAGES: Final = 1000
_PAUSE_S: Final = 0.002
_MAX_RESTARTS: Final = 5
_CHECKED_BYTES: Final = 32 * 1024 * 1024


class Stopped(Exception):
    """The program ends before the copy is complete."""


@dataclass(frozen=True, slots=True)
class DailyCopy:
    """One copy."""

    day: date
    path: Path
    size: int


def copies_folder(path: Path) -> Path:
    """Return the folder with the copies of a database."""
    return path.with_name(f"{path.stem}-copies")


def listed_copies(path: Path) -> list[DailyCopy]:
    """Return the copies, the newest first."""
    folder, copies = copies_folder(path), []
    for file in folder.glob(f"{path.stem}-*{path.suffix}"):
        try:
            day = date.fromisoformat(file.stem.removeprefix(f"{path.stem}-"))
            copies.append(DailyCopy(day, file, file.stat().st_size))
        except (ValueError, OSError):  # not a copy, or removed meanwhile
            continue
    return sorted(copies, key=lambda one: one.day, reverse=True)


def kept_days(days: Iterable[date]) -> set[date]:
    """Return the days whose copies are kept: the newest ones, and the last of each week."""
    newest = sorted(set(days), reverse=True)
    last_of_week: dict[tuple[int, int], date] = {}
    for day in newest:
        last_of_week.setdefault(day.isocalendar()[:2], day)
    return {*newest[:DAYS], *list(last_of_week.values())[:WEEKS]}


def make_copy(path: Path, today: date, is_stopping: Callable[[], bool]) -> DailyCopy | None:
    """Make the copy of today, then remove those that are no longer kept. Blocks.

    Returns None if there is nothing to do: no chats, a copy of today, another program that makes
    one, or a disk that is nearly full. A damaged database is not copied, and no copy is removed.

    Raises:
        Stopped: `is_stopping` returned True; nothing was changed.
        OSError: the folder cannot be written.
        sqlite3.Error: the database cannot be read.
    """
    folder = copies_folder(path)
    if not is_file(path) or _has(listed_copies(path), today):
        return None
    make_folder(folder)
    descriptor = open_lock(folder / LOCK)
    try:
        if not try_lock(descriptor) or _has(listed_copies(path), today):
            return None
        if shutil.disk_usage(folder).free < path.stat().st_size + MIN_FREE_BYTES:
            return None
        remove_parts(path)
        target = folder / f"{path.stem}-{today.isoformat()}{path.suffix}"
        if not _copied(path, target, is_stopping):
            return None
        made = DailyCopy(today, target, target.stat().st_size)
        _prune(listed_copies(path), today)
        _prune_before(path, today)
        return made
    finally:
        os.close(descriptor)


def remove_parts(path: Path) -> None:
    """Remove the parts of copies that a program left when it was killed."""
    for file in copies_folder(path).glob(f"*{PART}*"):  # with the journals of some
        file.unlink(missing_ok=True)


def _has(copies: Sequence[DailyCopy], day: date) -> bool:
    return any(one.day == day for one in copies)


def _copied(path: Path, target: Path, is_stopping: Callable[[], bool]) -> bool:
    """Copy a database; return False if it has no chats or is damaged."""
    require_files(path)
    fresh = target.with_name(f"{target.name}{PART}")
    make_file(fresh)
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(fresh)) as copy,
        ):
            copy.execute("PRAGMA synchronous = FULL")
            copy_pages(source, copy, is_stopping)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            is_good = why_not_ours(copy) is None and _holds_chats(copy)
        if is_good:
            fresh.replace(target)
            sync_folder(target.parent)
        return is_good
    finally:
        fresh.unlink(missing_ok=True)


def copy_pages(
    source: sqlite3.Connection, copy: sqlite3.Connection, is_stopping: Callable[[], bool]
) -> None:
    """Copy a database in small steps, between which others may write.

    SQLite starts again when they do; after some restarts the rest is copied in one step.
    """
    least, restarts = -1, 0

    def progress(_status: int, remaining: int, _total: int) -> None:
        nonlocal least, restarts
        if is_stopping():
            raise Stopped
        if least >= 0 and remaining > least:
            restarts += 1
            if restarts > _MAX_RESTARTS:
                raise _Restarted
        least = remaining

    try:
        source.backup(copy, pages=_PAGES, progress=progress, sleep=_PAUSE_S)
    except _Restarted:
        source.backup(copy)


class _Restarted(Exception):
    """Other programs write faster than small steps copy."""


def why_not_ours(connection: sqlite3.Connection) -> str | None:
    """Return why a file is no sound database of saved chats, or None."""
    try:
        if application_id(connection) != APPLICATION_ID:
            return "it is no file of saved chats"
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        if pages * size <= _CHECKED_BYTES:
            (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            return None if verdict == "ok" else "it is damaged"
    except sqlite3.DatabaseError:
        return "it is damaged"
    return None


def _holds_chats(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM conversations LIMIT 1").fetchone() is not None


def _prune(copies: Sequence[DailyCopy], today: date) -> None:
    # the clock may have gone back, so that today is the oldest day
    kept = {today, *kept_days(one.day for one in copies)}
    for one in copies:
        if one.day not in kept:
            one.path.unlink(missing_ok=True)


def _prune_before(path: Path, today: date) -> None:
    """Remove each copy made before a migration, once a daily copy of its day would be removed."""
    days = {today, *(one.day for one in listed_copies(path))}
    for file in path.parent.glob(BEFORE.format(path, "[0-9]*")):
        day = date.fromtimestamp(file.stat().st_mtime)
        if day not in {today, *kept_days({*days, day})}:
            file.unlink(missing_ok=True)
