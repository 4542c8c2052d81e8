"""Removing what a cancelled download has brought."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from ollm_tui.library.downloads.part_file import came_whole
from ollm_tui.library.downloads.transfer import discard
from ollm_tui.library.provenance import provenance_path


async def leave(targets: Iterable[Path], root: Path) -> None:
    """Remove files that came, whole or not, and folders below `root` that are empty then.

    Whole files stay where an earlier download has brought all of them: it has said where from. A
    file of which it is not written down that it came is somebody else's, and stays too.

    Raises:
        AIError: CONFLICT when another instance is downloading one.
        OSError: one cannot be removed.
    """
    wanted = list(targets)
    came = await anyio.to_thread.run_sync(_that_came, wanted)
    for target in wanted:
        await discard(target)
    await anyio.to_thread.run_sync(remove_whole, wanted, came, root)


def _that_came(targets: Sequence[Path]) -> list[Path]:
    return [target for target in targets if came_whole(target)]


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
