"""A server that is a program: started below a supervisor, which ends all that it starts."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from signal import SIGKILL
from typing import Final

import anyio
import anyio.to_thread

from ollm_tui.config.regular_file import is_folder, why_unreadable
from ollm_tui.dataclass import dataclass
from ollm_tui.mcp.settings import ServerProgram
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.shell.command import SUPERVISOR

GRACE_S: Final = 0.5
"""How long a server may take to end after its input was closed, and again after SIGTERM."""
_REAPED_WITHIN_S: Final = 6.0
PIECE: Final = 64 * 1024


class ServerProcess:
    """A running server: its pipes, and how it ends. Leave none without `close`."""

    def __init__(
        self, popen: "subprocess.Popen[bytes]", control: int, own: "_Pipes", report: int
    ) -> None:
        self._popen = popen
        self._control: int | None = control
        self._own = own
        self._report = report
        self._reported_text = b""
        self._reading = anyio.Lock()
        self.exit = ""
        """How it ended, in words; empty while that is not known."""
        for descriptor in (own.input, own.output, own.errors, report):
            os.set_blocking(descriptor, False)

    @classmethod
    def start(cls, program: ServerProgram, environ: Mapping[str, str]) -> "ServerProcess":
        """Start it. Blocks.

        Raises:
            AIError: it cannot be started.
        """
        environment = program.environment(environ)
        if "\0" in "".join((program.command, *program.args, *environment.values())):
            raise _refusal("Its command or environment has a NUL character.")
        file = shutil.which(program.command, path=environment.get("PATH", os.defpath))
        if file is None:
            raise _refusal(f"The program {program.command} does not exist or cannot be run.")
        if program.folder is not None and not is_folder(program.folder):
            raise _refusal(f"The folder {program.folder} does not exist.")
        pipes = [os.pipe() for _ in range(5)]
        control, own_input, output, errors, report = pipes
        streams = ("--streams", str(own_input[0]), str(errors[1]))
        try:
            popen = subprocess.Popen(
                [*SUPERVISOR, str(GRACE_S), str(report[1]), *streams, file, *program.args],
                stdin=control[0],
                stdout=output[1],
                stderr=subprocess.DEVNULL,
                pass_fds=[report[1], own_input[0], errors[1]],
                cwd=program.folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            for descriptor in (control[1], own_input[1], output[0], errors[0], report[0]):
                os.close(descriptor)
            raise _refusal(f"It cannot be started: {why_unreadable(error)}.") from error
        finally:
            for descriptor in (control[0], own_input[0], output[1], errors[1], report[1]):
                os.close(descriptor)
        own = _Pipes(own_input[1], output[0], errors[0])
        return cls(popen, control[1], own, report[0])

    async def read(self) -> bytes:
        """Return the next bytes of its output; none at the end."""
        return await _read(self._own.output)

    async def read_errors(self, take: Callable[[bytes], None]) -> None:
        """Pass on what it writes as its errors, until the end."""
        while data := await _read(self._own.errors):
            take(data)
            await anyio.sleep(0.001 if len(data) == PIECE else 0)

    async def write(self, data: bytes) -> None:
        """Write all bytes to its input.

        Raises:
            OSError: it no longer reads.
        """
        rest = memoryview(data)
        while rest:
            if self._own.is_input_closed:
                raise BrokenPipeError
            await anyio.wait_writable(self._own.input)
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(self._own.input, rest) :]

    async def close(self) -> None:
        """End it with all that it started: first by the end of its input, then by signals."""
        with anyio.CancelScope(shield=True):
            self._own.close_input()
            with anyio.move_on_after(GRACE_S):
                await self.ended()
            self._stop()
            with anyio.move_on_after(_REAPED_WITHIN_S):
                await self.ended()
            self._own.close()
            os.close(self._report)
            await anyio.to_thread.run_sync(self._reap)

    def _stop(self) -> None:
        if self._control is not None:
            os.close(self._control)
            self._control = None

    async def ended(self) -> None:
        """Wait for the report of the supervisor, which comes when all has ended."""
        async with self._reading:
            while not self.exit and (data := await _read(self._report)):
                self._reported_text += data
            if not self.exit:
                self._take_report()

    def _take_report(self) -> None:
        report: dict[str, object] = {}
        for line in self._reported_text.splitlines():
            report |= json.loads(line)
        self.exit = _words(report)
        if isinstance(child := report.get("child"), int) and "others" not in report:
            # the supervisor was killed
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, SIGKILL)

    def _reap(self) -> None:
        self._popen.stdin = None
        try:
            self._popen.wait(_REAPED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()


@dataclass(slots=True)
class _Pipes:
    """The ends of a server's pipes that are ours."""

    input: int
    output: int
    errors: int
    is_input_closed: bool = False

    def close_input(self) -> None:
        if not self.is_input_closed:
            self.is_input_closed = True
            os.close(self.input)

    def close(self) -> None:
        self.close_input()
        os.close(self.output)
        os.close(self.errors)


def _words(report: Mapping[str, object]) -> str:
    if refused := report.get("refused"):
        return f"it cannot be run: {refused}"
    code = report.get("code")
    if not isinstance(code, int):
        return "stopped"
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


async def _read(descriptor: int) -> bytes:
    while True:
        await anyio.wait_readable(descriptor)
        with contextlib.suppress(BlockingIOError):
            return os.read(descriptor, PIECE)


def _refusal(sentence: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence)
