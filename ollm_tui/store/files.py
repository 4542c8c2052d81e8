"""The database's files: private to their owner, and never deleted when they are broken."""

import os
import time
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import require_regular

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_COMPANIONS: Final = ("-journal", "-wal", "-shm")


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter; one that is there stays as it is."""
    if not folder.is_dir():
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE_FOLDER)  # the umask may have taken more than it should


def make_file(path: Path) -> None:
    """Make an empty file for SQLite; its journals take their mode from it."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE))
    path.chmod(_PRIVATE_FILE)


def require_files(path: Path) -> None:
    """Refuse a database that is no regular file, or whose journals are none: SQLite would wait.

    Raises:
        NotRegularError: one of them is a folder, pipe, socket or device.
    """
    for file in (path, *_companions(path)):
        try:
            status = file.stat()
        except OSError:  # not there, or out of reach, which is told of the folder
            continue
        require_regular(status)


def tighten(path: Path) -> None:
    """Take everybody else's rights off the files; a file of somebody else's stays as it is."""
    for file in (path, *_companions(path)):
        try:
            if file.stat().st_mode & 0o077:
                file.chmod(_PRIVATE_FILE)
        except OSError:  # not there, or not ours
            continue


def move_aside(path: Path) -> Path | None:
    """Rename a database and its journals so that nothing of it is lost; None without a file."""
    present = [file for file in (path, *_companions(path)) if file.exists()]
    if not present:
        return None
    target = _aside(path)
    for file in present:
        file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
    return target


def put_in_place(path: Path, fresh: Path) -> Path:
    """Let a fresh database take the place of a damaged one; gives where that one is kept.

    At every moment there is one or the other under the name.
    """
    target = _aside(path)
    for file in _companions(path):  # they must not be taken for those of the fresh one
        if file.exists():
            file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
    try:
        target.hardlink_to(path)
    except OSError:  # not every file system has links
        path.rename(target)
    fresh.replace(path)
    sync_folder(path.parent)
    return target


def _aside(path: Path) -> Path:
    """Give a name that is free for a damaged database and its journals."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    target, number = path.with_name(f"{path.stem}-damaged-{stamp}{path.suffix}"), 1
    while any(file.exists() for file in (target, *_companions(target))):
        number += 1
        target = path.with_name(f"{path.stem}-damaged-{stamp}-{number}{path.suffix}")
    return target


def has_content(path: Path) -> bool:
    """Whether a database or one of its journals holds anything."""
    return any(file.exists() and file.stat().st_size for file in (path, *_companions(path)))


def identity(path: Path) -> tuple[int, int] | None:
    """Tell one file from another that has taken its name; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def sync_folder(folder: Path) -> None:
    """Make names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _companions(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in _COMPANIONS)
