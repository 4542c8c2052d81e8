"""A lock that says who has a download in hand; it ends with its process."""

import os
from pathlib import Path

from ollm_tui.config.private_file import is_named, open_lock, try_lock
from ollm_tui.config.regular_file import open_regular


class FileLock:
    """A lock that is held until `release`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give it back; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_claim(path: Path) -> FileLock | None:
    """Take a lock; None when another holds it, be it only to look whether somebody does.

    Raises:
        OSError: the file cannot be made.
    """
    descriptor = open_lock(path)
    if try_lock(descriptor) and is_named(descriptor, path):
        return FileLock(descriptor)
    os.close(descriptor)
    return None


def is_claimed(path: Path) -> bool:
    """Whether somebody holds a lock; makes no file."""
    try:
        descriptor = open_regular(path, os.O_RDWR, follows_links=False)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)
