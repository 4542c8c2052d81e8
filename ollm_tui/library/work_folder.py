"""A folder for what is not whole yet: gone with its owner, or removed by the next one."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.private_file import open_lock, try_lock

PREFIX: Final = ".fetch-"
STALE_S: Final = 24 * 3600
"""A folder without a lock is somebody's who has just made it, until it is so old."""
_LOCK: Final = "lock"


@contextmanager
def work_folder(folder: Path) -> Iterator[Path]:
    """Give a folder within `folder` that is removed afterwards; blocks.

    Raises:
        OSError: it cannot be made.
    """
    work = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    descriptor = None
    try:
        descriptor = open_lock(work / _LOCK)
        try_lock(descriptor)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def clear_leftovers(folder: Path) -> None:
    """Remove the work folders of programs that were killed; blocks."""
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):  # its owner has just removed it
            if _is_left(left):
                shutil.rmtree(left, ignore_errors=True)


def _is_left(work: Path) -> bool:
    if not (work / _LOCK).exists():
        return time.time() - work.stat().st_mtime > STALE_S
    descriptor = open_lock(work / _LOCK)
    try:
        return try_lock(descriptor)
    finally:
        os.close(descriptor)
