"""Files of the app, readable by their owner alone: atomic writes, and locks of the kernel.

A holder may remove its lock file: after locking, check with `is_named` that it is the same one.
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.regular_file import open_regular

_PRIVATE: Final = 0o600
_POLL_S: Final = 0.01


def write_private(
    path: Path, data: bytes, *, by_way_of: Path | None = None, lasting: bool = True
) -> None:
    """Write `data` to a file atomically, making its folder if necessary.

    Other programs see the old file or the new one, never a part. `by_way_of` is the path of the new
    file until it is complete, by default a unique name. `lasting` forces the bytes to the disk
    first, so that a power cut cannot leave an empty file.

    Raises:
        OSError: It cannot be written; the old file is still there.
    """
    private_folder(path.parent)
    new = by_way_of or path.with_name(f".{os.urandom(8).hex()}.new")
    if by_way_of is not None:
        new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(new, flags, _PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(descriptor)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def open_lock(path: Path) -> int:
    """Open or create a lock file for its owner alone, and return the descriptor.

    Raises:
        OSError: It cannot be created, or something other than a file is in its place.
    """
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT, follows_links=False)
    with suppress(OSError):  # a disk without modes
        os.fchmod(descriptor, _PRIVATE)  # the mask may have taken more than it should
    return descriptor


def try_lock(descriptor: int) -> bool:
    """Take the lock, which ends when the descriptor is closed; return False if another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # without locks in the file system, running and ended programs look the same
        return True
    return True


@contextmanager
def folder_lock(folder: Path, *, within_s: float) -> Iterator[None]:
    """Hold the lock of a folder, making it if necessary. Blocks.

    Raises:
        TimeoutError: Another program holds it.
        OSError: The folder cannot be made or opened.
    """
    descriptor = os.open(private_folder(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        until = time.monotonic() + within_s
        while not try_lock(descriptor):
            if time.monotonic() >= until:
                raise TimeoutError(errno.ETIMEDOUT, "another program holds its lock")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_named(descriptor: int, path: Path) -> bool:
    """Whether the descriptor is still the file of that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def sync_file(path: Path) -> None:
    """Sync a file that another library has written, before it gets its name."""
    descriptor = open_regular(path)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that new names in it survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
