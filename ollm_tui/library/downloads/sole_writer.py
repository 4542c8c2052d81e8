"""One writer for each file, across programs: a lock of the kernel that ends with its holder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode

_PRIVATE: Final = 0o600


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
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    while True:
        descriptor = os.open(path, flags, _PRIVATE)
        if not _lock(descriptor):
            os.close(descriptor)
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another instance is downloading {clean_name(file_name)}.",
                hint="Wait for it, or stop it there.",
            )
        if _is_named(descriptor, path):
            return descriptor
        os.close(descriptor)  # its holder has just taken it away: this lock is nobody's


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: then nobody can be told apart from the dead
        return True
    return True


def _is_named(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False
