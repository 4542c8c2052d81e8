"""Purges what was deleted from the copies of the saved chats too, each copy whole or not at all."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread

from ollm_tui.config.private_file import open_lock, sync_file, sync_folder, try_lock
from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.copies.files import (
    LOCK,
    PART,
    Stopped,
    copies_folder,
    copy_pages,
    listed_copies,
    remove_parts,
    why_not_ours,
)
from ollm_tui.store.deletions import Deletions
from ollm_tui.store.faults import translated
from ollm_tui.store.files import has_content, has_journal, make_file, make_folder, require_files
from ollm_tui.store.migrate import BEFORE
from ollm_tui.store.purging import note_purged, remove_purged

TIMEOUT_S: Final = 10.0
"""How long a copy that another program makes is waited for."""
_POLL_S: Final = 0.05
_ASIDE: Final = "{0.stem}-{1}-*{0.suffix}"
"""The names of the files that were kept when another took their place."""

ReportCopies = Callable[[int, int], None]
"""Takes the number of a copy that is being changed, and of all; called from a thread."""


@dataclass(frozen=True, slots=True)
class UnchangedCopy:
    """A copy that may still have what was purged."""

    path: Path
    reason: str
    """Why it was not changed."""


class _Refused(Exception):
    """A copy cannot be changed."""


async def purge_with_copies(
    deletions: Deletions, path: Path, before_ms: int, report: ReportCopies
) -> tuple[UnchangedCopy, ...]:
    """Remove what was deleted before a time from all copies, then from the saved chats.

    A program that is killed meanwhile has removed nothing from the saved chats yet, or all copies
    are done: to purge again does the rest. Returns the copies that could not be changed.

    Raises:
        AIError: another program makes a copy, or not all of it was removed from the saved chats.
    """
    async with _copies_held(path):
        ids = await deletions.marked(before_ms)
        ending = threading.Event()
        work = partial(purge_copies, path, ids, report, ending.is_set)
        try:
            unchanged = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            ending.set()
        await deletions.purge_before(before_ms)
    return unchanged


@asynccontextmanager
async def _copies_held(path: Path) -> AsyncIterator[None]:
    """Keep other programs from making a copy, which would have what is being removed."""
    try:
        descriptor = await anyio.to_thread.run_sync(_hold, copies_folder(path))
    except TimeoutError as error:
        raise AIError(
            ErrorCode.CONFLICT,
            "Nothing was removed: another ollm is copying the saved chats.",
            hint="Try again when it is done.",
        ) from error
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"Nothing was removed: {why_unreadable(error)}."
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)


def _hold(folder: Path) -> int:
    make_folder(folder)
    descriptor = open_lock(folder / LOCK)
    until = time.monotonic() + TIMEOUT_S
    while not try_lock(descriptor):
        if time.monotonic() > until:
            os.close(descriptor)
            raise TimeoutError
        time.sleep(_POLL_S)
    return descriptor


def purge_copies(
    path: Path, ids: Collection[str], report: ReportCopies, is_stopping: Callable[[], bool]
) -> tuple[UnchangedCopy, ...]:
    """Remove chats and messages by their ids from every copy; return those not changed. Blocks.

    The caller holds the lock of the copies.

    Raises:
        Stopped: `is_stopping` returned True; the copies so far are done.
    """
    remove_parts(path)
    files, unchanged = all_copies(path), []
    for number, file in enumerate(files, 1):
        report(number, len(files))
        try:
            _purge(file, ids, copies_folder(path), is_stopping)
        except _Refused as refusal:
            unchanged.append(UnchangedCopy(file, str(refusal)))
        except sqlite3.Error as error:
            reason = translated(error, file, "changed").message.removeprefix("Not changed: ")
            unchanged.append(UnchangedCopy(file, reason.removesuffix(".")))
        except OSError as error:
            unchanged.append(UnchangedCopy(file, why_unreadable(error)))
    return tuple(unchanged)


def all_copies(path: Path) -> list[Path]:
    """Return all files that hold chats of a database as they once were."""
    asides = (_ASIDE.format(path, why) for why in ("replaced", "damaged"))
    beside = [BEFORE.format(path, "[0-9]*"), *asides]
    return [
        *(one.path for one in listed_copies(path)),
        *sorted(file for pattern in beside for file in path.parent.glob(pattern)),
    ]


def _purge(file: Path, ids: Collection[str], folder: Path, is_stopping: Callable[[], bool]) -> None:
    require_files(file)
    if not has_content(file):
        return
    if has_journal(file):
        raise _Refused("it has a journal of its own")
    uri = f"{file.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as source:
        source.execute("PRAGMA temp_store = MEMORY")
        _require_sound(source)
        if not note_purged(source, ids):
            return
        status = file.stat()
        if shutil.disk_usage(folder).free < 2 * status.st_size:
            raise _Refused("there is too little room on the disk to write it anew")
        scratch, fresh = folder / f"purging{PART}", folder / f"purged{PART}"
        try:
            make_file(scratch)
            make_file(fresh)
            _write_anew(source, scratch, fresh, ids, is_stopping)
            sync_file(fresh)
            os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))  # its day
            fresh.replace(file)
            sync_folder(file.parent)
        finally:
            scratch.unlink(missing_ok=True)
            fresh.unlink(missing_ok=True)


def _write_anew(
    source: sqlite3.Connection,
    scratch: Path,
    fresh: Path,
    ids: Collection[str],
    is_stopping: Callable[[], bool],
) -> None:
    """Write a copy without what was purged; VACUUM leaves no byte of it in unused pages."""
    with closing(sqlite3.connect(scratch, isolation_level=None)) as copy:
        copy.execute("PRAGMA trusted_schema = OFF")
        copy.execute("PRAGMA temp_store = MEMORY")
        copy.execute("PRAGMA synchronous = OFF")
        copy_pages(source, copy, is_stopping)
        copy.execute("PRAGMA journal_mode = DELETE").fetchone()
        copy.execute("PRAGMA foreign_keys = ON")
        note_purged(copy, ids)
        copy.execute("BEGIN")
        remove_purged(copy)
        copy.execute("COMMIT")
        _require_sound(copy)
        if is_stopping():
            raise Stopped
        copy.execute("VACUUM INTO ?", (str(fresh),))


def _require_sound(connection: sqlite3.Connection) -> None:
    if (reason := why_not_ours(connection)) is not None:
        raise _Refused(reason)
