"""Removing what a cancelled download has brought."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from ollm_tui.library.downloads.transfer import discard
from ollm_tui.library.provenance import provenance_path


async def leave(targets: Iterable[Path], root: Path) -> None:
    """Remove files that came, whole or not, and folders below `root` that are empty then.

    Whole files stay where an earlier download has brought all of them: it has said where from.

    Raises:
        AIError: CONFLICT when another instance is downloading one.
        OSError: one cannot be removed.
    """
    files = list(targets)
    for target in files:
        await discard(target)
    await anyio.to_thread.run_sync(remove_whole, files, root)


def remove_whole(files: Sequence[Path], root: Path) -> None:
    """Remove files that are whole, as `leave` does; touches the disk.

    Raises:
        OSError: one cannot be removed.
    """
    if files and not provenance_path(files[0]).exists():
        for file in files:
            file.unlink(missing_ok=True)
    below = {folder for file in files for folder in file.parents if root in folder.parents}
    for folder in sorted(below, key=lambda one: len(one.parts), reverse=True):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()
