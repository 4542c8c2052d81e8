"""Transfers of one file: resumed, verified, renamed in one step; and deleting what arrived."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from anyio import to_thread

from ollm_tui.library.downloads.downloader import Progress, Report
from ollm_tui.library.downloads.file_io import Environment, FileIO, closed_in_thread
from ollm_tui.library.downloads.part_file import (
    PartFile,
    PartState,
    RunningHash,
    Write,
    exclusive_part,
    load_state,
    matches_record,
    open_part,
    part_path,
    remove_leftovers,
    remove_part,
    remove_record,
    state_path,
)
from ollm_tui.library.downloads.transfer_run import (
    VERIFYING,
    FileSource,
    TransferRun,
    checked_source,
)
from ollm_tui.library.provenance import provenance_path
from ollm_tui.library.urls import bare_url
from ollm_tui.protocol.fetch import Fetcher
from ollm_tui.tasks import task_group


async def transfer(
    fetcher: Fetcher,
    source: FileSource,
    target: Path,
    *,
    report: Report,
    environment: Environment | None = None,
    keeps_record: bool = False,
) -> Path:
    """Download a file to `target`, resuming what an earlier run left, and verify it.

    A failure or a cancellation keeps what arrived beside the target: see `resumable_bytes` and
    `discard`. `target` must have been checked by `safe_paths`. With `keeps_record` the state of the
    file stays until `remove_record`: a later run recognizes the file without its checksum, and
    `matches_record` tells it from a file of another origin.

    Raises:
        AIError: CONFLICT when another instance is downloading it or another file is there, and
            whatever else makes the download fail.
    """
    source, environment = checked_source(source), environment or Environment()

    async def child() -> None:
        disk = FileIO(target, environment)
        async with closed_in_thread() as resources:
            part = await disk.run(_open, resources, target, environment.write)
            if not await _is_there(source, target, disk, report):
                await TransferRun(fetcher, source, part, disk, report).finish()
                await disk.run(partial(part.publish, keeps_record=keeps_record))
            elif not keeps_record:
                await disk.run(remove_record, target)

    # A child task is cancelled only once, so what it holds is always released.
    async with task_group() as group:
        group.start_soon(child)
    return target


async def discard(target: Path) -> None:
    """Delete the partial file of `target`; a no-op if there is none.

    Raises:
        AIError: CONFLICT when another instance is downloading it.
    """
    await FileIO(target, Environment()).run(_discard, target)


def _open(resources: ExitStack, target: Path, write: Write) -> PartFile:
    resources.enter_context(exclusive_part(target))
    part = open_part(target, write)
    resources.callback(part.close)
    return part


def _discard(target: Path) -> None:
    if target.parent.is_dir():
        with exclusive_part(target):
            remove_part(target)


async def _is_there(source: FileSource, target: Path, disk: FileIO, report: Report) -> bool:
    """Whether the wanted file is there already, from an earlier run or put there by hand."""
    size, left = await disk.run(_existing, source, target)
    if size is None:
        return False
    wanted = source.sha256 or (left.sha256 if left is not None else None)
    if (wanted is None and left is None) or source.size not in (None, size):
        await disk.run(_refuse)
    if wanted is not None and await _sha256_of(target, size, disk, report) != wanted:
        await disk.run(_refuse)
    await disk.run(partial(remove_leftovers, target, has_record=left is not None))
    report(Progress(completed=size, total=size, is_jump=True))
    return True


async def _sha256_of(target: Path, size: int, disk: FileIO, report: Report) -> str:
    hashed = RunningHash()
    file = await disk.run(target.open, "rb")
    try:
        progress = Progress(completed=size, total=size, note=VERIFYING, is_jump=True)
        report(progress)
        while not await disk.run(hashed.catch_up, file.fileno(), size):
            report(progress)
    finally:
        file.close()
    return hashed.hexdigest()


def _existing(source: FileSource, target: Path) -> tuple[int | None, PartState | None]:
    """Return the size of a file, and its state if it was renamed just before the program ended."""
    if not os.path.lexists(target):
        return None, None
    if not target.is_file():
        _refuse()
    size, state = target.stat().st_size, load_state(state_path(target))
    if state is None or state.url != bare_url(source.url) or part_path(target).stat().st_size:
        return size, None
    return size, state if state.done == state.size == size else None


def _refuse() -> None:
    raise FileExistsError("another file is there")


async def remove_files(targets: Iterable[Path], root: Path) -> None:
    """Delete downloaded files, whole or not, and folders below `root` that are empty then.

    Whole files stay if their provenance is there: an earlier download has completed. A file without
    a record of its download is not ours, and stays too.

    Raises:
        AIError: CONFLICT when another instance is downloading one.
        OSError: one cannot be deleted.
    """
    wanted = list(targets)
    ours = await to_thread.run_sync(lambda: list(filter(matches_record, wanted)))
    for target in wanted:
        await discard(target)
    await to_thread.run_sync(remove_whole, wanted, ours, root)


def remove_whole(targets: Sequence[Path], ours: Iterable[Path], root: Path) -> None:
    """Delete those of `targets` that are `ours`, and empty folders, as `remove_files` does; blocks.

    Raises:
        OSError: one cannot be deleted.
    """
    if targets and not provenance_path(targets[0]).exists():
        for file in ours:
            file.unlink(missing_ok=True)
    below = {folder for file in targets for folder in file.parents if root in folder.parents}
    for folder in sorted(below, key=lambda one: len(one.parts), reverse=True):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()
