"""The database's files: private to their owner, and kept if they are damaged."""

import os
import time
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import require_regular

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_COMPANIONS: Final = ("-journal", "-wal", "-shm")


def make_folder(folder: Path) -> None:
    """Create a folder that only its owner may enter; an existing one stays as it is."""
    if not folder.is_dir():
        folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE_FOLDER)  # the umask may have taken more than it should


def make_file(path: Path) -> None:
    """Create an empty file for SQLite, whose journals inherit its mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE))
    path.chmod(_PRIVATE_FILE)


def require_files(path: Path) -> None:
    """Require that a database and its journals are regular files: SQLite would wait for others.

    Raises:
        NotRegularError: one of them is a folder, pipe, socket or device.
    """
    for file in (path, *_companions(path)):
        try:
            status = file.stat()
        except OSError:  # missing, or inaccessible, which is reported of the folder
            continue
        require_regular(status)


def tighten(path: Path) -> None:
    """Remove the rights of others from the files; files of another owner stay as they are."""
    for file in (path, *_companions(path)):
        try:
            if file.stat().st_mode & 0o077:
                file.chmod(_PRIVATE_FILE)
        except OSError:  # missing, or not ours
            continue


def move_aside(path: Path) -> Path | None:
    """Rename a database and its journals to keep them; return None if there is no file."""
    present = [file for file in (path, *_companions(path)) if file.exists()]
    if not present:
        return None
    target = _aside(path)
    for file in present:
        file.rename(target.with_name(target.name + file.name.removeprefix(path.name)))
    return target


def put_in_place(path: Path, fresh: Path) -> Path:
    """Replace a damaged database by a fresh one; return where the damaged one is kept.

    At every moment one or the other has the name.
    """
    target = _aside(path)
    for file in _companions(path):  # they must not be mistaken for those of the fresh one
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
    """Return a free name for a damaged database and its journals."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    target, number = path.with_name(f"{path.stem}-damaged-{stamp}{path.suffix}"), 1
    while any(file.exists() for file in (target, *_companions(target))):
        number += 1
        target = path.with_name(f"{path.stem}-damaged-{stamp}-{number}{path.suffix}")
    return target


def has_content(path: Path) -> bool:
    """Whether a database or one of its journals is not empty."""
    return any(file.exists() and file.stat().st_size for file in (path, *_companions(path)))


def identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, or None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that new names in it survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _companions(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in _COMPANIONS)
