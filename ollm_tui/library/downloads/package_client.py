"""pip as a child of the queue: stopped with all it started, and watched by what it has written."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

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
