"""Locks between programs: for a job in hand, and for the only writer of a file.

They are locks of the kernel and end with the process that holds them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ollm_tui.config.file_lock import is_named, open_lock, try_lock
from ollm_tui.config.regular_file import open_regular
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode


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


@contextmanager
def sole_writer(path: Path, file_name: str) -> Iterator[None]:
    """Hold the lock file at `path`, which is removed afterwards.

    Raises:
        AIError: CONFLICT when another program, or another task of this one, holds it.
        OSError: the lock file cannot be made.
    """
    descriptor = _held(path, file_name)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _held(path: Path, file_name: str) -> int:
    while True:
        descriptor = open_lock(path)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another instance is downloading {clean_name(file_name)}.",
                hint="Wait for it, or stop it there.",
            )
        if is_named(descriptor, path):
            return descriptor
        os.close(descriptor)  # its holder has just taken it away: this lock is nobody's
