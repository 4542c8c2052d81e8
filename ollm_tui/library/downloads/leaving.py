"""Removing what a cancelled download has brought."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from ollm_tui.library.downloads.transfer import discard
from ollm_tui.library.provenance import provenance_path


async def leave(targets: Iterable[tuple[Path, int | None]], root: Path) -> None:
    """Remove files that came, whole or not, and folders below `root` that are empty then.

    `targets` are places with the bytes that a whole file has there; None where nobody said. Whole
    files stay where an earlier download has brought all of them: it has said where from. A file
    that cannot be the one that came is somebody else's, and stays too.

    Raises:
        AIError: CONFLICT when another instance is downloading one.
        OSError: one cannot be removed.
    """
    wanted = list(targets)
    for target, _size in wanted:
        await discard(target)
    await anyio.to_thread.run_sync(_leave_whole, wanted, root)


def _leave_whole(wanted: Sequence[tuple[Path, int | None]], root: Path) -> None:
    came = [target for target, size in wanted if size is not None and _has_size(target, size)]
    remove_whole([target for target, _size in wanted], came, root)


def _has_size(target: Path, size: int) -> bool:
    try:
        return target.lstat().st_size == size
    except OSError:
        return False


def remove_whole(targets: Sequence[Path], came: Iterable[Path], root: Path) -> None:
    """Remove those of `targets` that `came`, and empty folders, as `leave` does; touches the disk.

    Raises:
        OSError: one cannot be removed.
    """
    if targets and not provenance_path(targets[0]).exists():
        for file in came:
            file.unlink(missing_ok=True)
    below = {folder for file in targets for folder in file.parents if root in folder.parents}
    for folder in sorted(below, key=lambda one: len(one.parts), reverse=True):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()
