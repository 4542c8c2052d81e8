"""Locks between programs: for a job in hand, and for the only writer of a file.

They are locks of the kernel and end with the process that holds them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ollm_tui.config.private_file import is_named, open_lock, try_lock
from ollm_tui.config.regular_file import open_regular
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode


class FileLock:
    """A lock of the kernel, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Release the lock; a second call is a no-op."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def acquire_lock(path: Path) -> FileLock | None:
    """Take a lock; None when another holder has it, even one that only tests it.

    Raises:
        OSError: the lock file cannot be created.
    """
    descriptor = open_lock(path)
    if try_lock(descriptor) and is_named(descriptor, path):
        return FileLock(descriptor)
    os.close(descriptor)
    return None


def is_locked(path: Path) -> bool:
    """Whether a lock is held; creates no file."""
    try:
        descriptor = open_regular(path, os.O_RDWR, follows_links=False)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def exclusive_writer(path: Path, file_name: str) -> Iterator[None]:
    """Hold the lock file at `path` within the block; it is deleted afterwards.

    Raises:
        AIError: CONFLICT when another program, or another task of this one, holds it.
        OSError: the lock file cannot be created.
    """
    while True:
        descriptor = open_lock(path)
        is_free = try_lock(descriptor)
        if is_free and is_named(descriptor, path):
            break
        os.close(descriptor)
        if not is_free:
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another instance is downloading {clean_name(file_name)}.",
                hint="Wait for it, or stop it there.",
            )
        # else its holder has just deleted the file: this lock protects nothing
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)
