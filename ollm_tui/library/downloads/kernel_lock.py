"""Locks of the kernel: they end with their process, whatever becomes of it."""

import fcntl
import os
from pathlib import Path


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this descriptor alone; gives whether nobody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: then nobody can be told apart from the dead
        return True
    return True


def is_named(descriptor: int, path: Path) -> bool:
    """Whether an open file was not swept away between opening and locking."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False
