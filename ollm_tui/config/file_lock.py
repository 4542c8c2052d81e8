"""Locks of the kernel on files: they end with their process, so that a crash leaves none behind.

The file of a lock may be removed by its holder; so one has to look, after locking, whether the
file is still the one of that name.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import open_regular

_PRIVATE: Final = 0o600


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
