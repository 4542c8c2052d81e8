"""One file from a server to its place: resumed, verified, renamed in one step; and its removal."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio import to_thread

from ollm_tui.library.downloads.file_io import Environment, FileIO
from ollm_tui.library.downloads.part_file import (
    PartFile,
    PartState,
    RunningSum,
    Write,
    came_whole,
    forget_record,
    load_state,
    open_part,
    part_path,
    recorded,
    remove,
    remove_rest,
    sole_part,
    state_path,
)
from ollm_tui.library.downloads.transfer_run import CHECKING, Source, Step, TransferRun, checked
from ollm_tui.library.provenance import provenance_path
from ollm_tui.library.urls import (
    bare_url,
)
from ollm_tui.protocol.fetch import Fetcher


async def transfer(
    fetcher: Fetcher,
    source: Source,
    target: Path,
    *,
    report: Callable[[Step], None],
    around: Environment | None = None,
    keeps_record: bool = False,
) -> Path:
    """Have the file at `target`, whole and checked; what an earlier run left is gone on with.

    A failure or a cancellation keeps what has come beside the target: see `partial_size` and
    `discard`. `target` must have been checked by `safe_paths`. With `keeps_record` it stays written
    down that this file came so, until `forget_record`: a later run knows it without a sum, and
    `came_whole` tells it from a file that somebody else has put there.

    Raises:
        AIError: CONFLICT when another instance is at it or another file is there, and whatever
            else keeps the file from coming whole.
    """
    source, around = checked(source), around or Environment()

    async def child() -> None:
        disk = FileIO(target, around)
        held = ExitStack()
        try:
            part = await disk.run(_open, held, target, around.write)
            if not await _is_there(source, target, disk, report):
                await TransferRun(fetcher, source, part, disk, report).finish()
                await disk.run(partial(part.publish, keeps_record=keeps_record))
            elif not keeps_record:
                await disk.run(forget_record, target)
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(held.close)

    try:
        # A task that nobody outside can cancel twice: what it holds is let go of in any case.
        async with anyio.create_task_group() as group:
            group.start_soon(child)
    except BaseExceptionGroup as failures:
        if len(failures.exceptions) > 1:
            raise
        raise failures.exceptions[0] from failures.exceptions[0].__cause__
    return target


async def discard(target: Path) -> None:
    """Remove what has come of a file that is not whole; nothing there is no failure.

    Raises:
        AIError: CONFLICT when another instance is downloading it.
    """
    await FileIO(target, Environment()).run(_discard, target)


def partial_size(target: Path) -> int:
    """Give how many bytes a later transfer can go on after; 0 for none. Touches the disk."""
    return recorded(target)


def _open(held: ExitStack, target: Path, write: Write) -> PartFile:
    held.enter_context(sole_part(target))
    part = open_part(target, write)
    held.callback(part.close)
    return part


def _discard(target: Path) -> None:
    if target.parent.is_dir():
        with sole_part(target):
            remove(target)


async def _is_there(
    source: Source, target: Path, disk: FileIO, report: Callable[[Step], None]
) -> bool:
    """Whether the very file is there already: the end of an earlier run, or put there by hand.

    Raises:
        AIError: CONFLICT when another one is.
    """
    size = await disk.run(_size_of, target)
    if size is None:
        return False
    left = await disk.run(_left_state, source, target, size)
    wanted = source.sha256 or (left.sha256 if left is not None else None)
    if (wanted is None and left is None) or source.size not in (None, size):
        await disk.run(_refuse)
    if wanted is not None and await _sum_of(target, size, disk, report) != wanted:
        await disk.run(_refuse)
    await disk.run(partial(remove_rest, target, has_record=left is not None))
    report(Step(completed=size, total=size))
    return True


async def _sum_of(target: Path, size: int, disk: FileIO, report: Callable[[Step], None]) -> str:
    found = RunningSum()
    file = await disk.run(target.open, "rb")
    try:
        report(Step(completed=size, total=size, note=CHECKING))
        while not await disk.run(found.catch_up, file.fileno(), size):
            report(Step(completed=size, total=size, note=CHECKING))
    finally:
        file.close()
    return found.hexdigest()


def _size_of(target: Path) -> int | None:
    if not os.path.lexists(target):
        return None
    if not target.is_file():
        _refuse()
    return target.stat().st_size


def _left_state(source: Source, target: Path, size: int) -> PartState | None:
    """Give the state of a file that got its name just before the program ended."""
    state = load_state(state_path(target))
    if state is None or state.url != bare_url(source.url) or part_path(target).stat().st_size:
        return None
    return state if state.done == state.size == size else None


def _refuse() -> None:
    raise FileExistsError("another file is there")


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
