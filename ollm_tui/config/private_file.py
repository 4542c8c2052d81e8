"""Files of the app, readable by their owner alone: atomic writes, and locks.

A lock is the kernel's and ends with its process, so a crash leaves none behind. The holder of a
lock may remove its file: after locking, check with `is_named` that it is still the same one.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.regular_file import open_regular

_PRIVATE: Final = 0o600


def write_private(
    path: Path, data: bytes, *, by_way_of: Path | None = None, lasting: bool = True
) -> None:
    """Put `data` in the place of a file, whose folder is made; touches the disk.

    Another program finds the old file or the new one, never a part of one. `by_way_of` is where
    the new one lies until it is whole; of its own accord it has a name that nobody else takes.
    `lasting` forces the bytes to the disk first, for what a power cut must not empty.

    Raises:
        OSError: it cannot be written; the old one is still there.
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
    """Open the file of a lock, or make it, for its owner alone; give the descriptor.

    Raises:
        OSError: it cannot be made, or something that is no file is in its place.
    """
    descriptor = open_regular(path, os.O_RDWR | os.O_CREAT, follows_links=False)
    with suppress(OSError):  # a disk without modes
        os.fchmod(descriptor, _PRIVATE)  # the mask may have taken more than it should
    return descriptor


def try_lock(descriptor: int) -> bool:
    """Take the lock, which ends when the descriptor is closed; False while another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: then nobody can be told apart from the dead
        return True
    return True


def is_named(descriptor: int, path: Path) -> bool:
    """Whether the file was not taken away between opening and locking."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False
