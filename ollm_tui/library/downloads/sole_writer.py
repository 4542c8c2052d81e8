"""One writer for each file, across programs: a lock of the kernel that ends with its holder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ollm_tui.config.private_file import is_named, open_lock, try_lock
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode


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
