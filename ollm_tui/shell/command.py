"""Run one command, with its output as it comes, and end it with all that it started."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from signal import SIGKILL
from typing import Final, Literal, TypeAlias

import anyio
import anyio.to_thread

from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.shell.environment import command_environment, shell_of
from ollm_tui.shell.output import KeptOutput

SUPERVISOR: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("supervisor.py")))
MAX_COMMAND_LENGTH: Final = 100_000
"""Bytes; the system takes about as many in one argument."""
GRACE_S: Final = 2.0
"""How long a stopped command may take to end by itself."""
GIVEN_UP_S: Final = GRACE_S + 4.0
DRAIN_S: Final = 0.3
"""How long output may come once all has ended: a process that escaped may hold the pipe."""
SHOWN_EVERY_S: Final = 0.1
_SHOWN_BYTES: Final = 4_000
_PIECE: Final = 64 * 1024
FLOOD_PAUSE_S: Final = 0.001

CommandEnd: TypeAlias = Literal["exited", "stopped", "timeout"]


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """Where and how commands run."""

    folder: Path
    timeout_s: float
    further_variables: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    launcher: tuple[str, ...] = ()
    """The beginning of a command line that runs the shell, such as one that contains it."""
    temporary: str | None = None
    """A folder for the command, which is removed if this program is killed meanwhile."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed, and how it ended."""

    command: str
    output: str
    end: CommandEnd
    code: int | None
    """The exit code, negative for a signal; None if it is unknown."""
    others: int
    """Further processes that were ended with it."""
    seconds: float
    timeout_s: float

    @property
    def words(self) -> str:
        """How it ended, as a sentence; empty if it succeeded and left nothing behind."""
        others = counted(self.others, "further process", "further processes")
        with_others = f", with {others}" if self.others else ""
        match self.end:
            case "stopped":
                return f"Stopped{with_others}."
            case "timeout":
                return f"Stopped after {self.timeout_s:g} s{with_others}."
        left = f"{others} that it left running {_were(self.others)} ended." if self.others else ""
        if self.code is None:
            return "It ended in an unknown way."
        if self.code < 0:
            return f"It was ended by signal {-self.code}. {left}".rstrip()
        return f"Exit code {self.code}. {left}".rstrip() if self.code or left else ""


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


async def run_command(
    command: str,
    settings: CommandSettings,
    signal: AbortSignal,
    show: Callable[[str], None] = lambda _text: None,
) -> CommandResult:
    """Run a command with the user's shell; `show` gets the end of its output now and then.

    It has a session of its own and no input. The signal or the time limit ends it with everything
    that it started, and so does the end of this program, however that comes.

    Raises:
        AIError: it cannot be started.
    """
    check_command(command)
    running = await anyio.to_thread.run_sync(_Running.start, command, settings)
    try:
        return await running.result(command, settings.timeout_s, signal, show)
    finally:
        with anyio.CancelScope(shield=True):
            await running.close()


def check_command(command: str) -> None:
    """Refuse a command that no shell takes.

    Raises:
        AIError: it is one.
    """
    if sys.platform == "win32":
        raise _refusal("Commands cannot be run on Windows yet.")
    if "\0" in command:
        raise _refusal("A command cannot contain a NUL character.")
    if len(os.fsencode(command.encode("utf-8", "replace").decode())) > MAX_COMMAND_LENGTH:
        raise _refusal("The command is too long. Put it into a script, and run that.")


def _refusal(sentence: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, sentence)


class _Running:
    """A supervisor with a command, and the pipes to it."""

    def __init__(
        self, popen: "subprocess.Popen[bytes]", control: int, output: int, report: int
    ) -> None:
        self._popen = popen
        self._control: int | None = control
        self._output = output
        self._report = report
        self._kept = KeptOutput()
        self._end: CommandEnd = "exited"
        self._drained = anyio.Event()
        for descriptor in (output, report):
            os.set_blocking(descriptor, False)

    @classmethod
    def start(cls, command: str, settings: CommandSettings) -> "_Running":
        """Start the shell in the folder. Blocks.

        Raises:
            AIError: it cannot be started.
        """
        return cls(*start_supervised(command, settings))

    async def result(
        self, command: str, timeout_s: float, signal: AbortSignal, show: Callable[[str], None]
    ) -> CommandResult:
        """Wait for the end.

        Raises:
            AIError: the shell cannot be run.
        """
        began = time.monotonic()
        report: Mapping[str, object] = {}
        with _listening(signal, lambda: self._stop("stopped")):
            async with anyio.create_task_group() as group:
                group.start_soon(self._read_output)
                group.start_soon(self._show_often, show)
                group.start_soon(self._stop_after, timeout_s)
                report = await self._reported()
                with anyio.move_on_after(DRAIN_S):
                    await self._drained.wait()
                group.cancel_scope.cancel()
        if "refused" in report:
            raise _refusal(f"The shell cannot be run: {report['refused']}.")
        code, others = report.get("code"), report.get("others")
        return CommandResult(
            command,
            self._kept.text(),
            self._end,
            code if isinstance(code, int) else None,
            others if isinstance(others, int) else 0,
            time.monotonic() - began,
            timeout_s,
        )

    def _stop(self, end: CommandEnd) -> None:
        if self._control is not None:
            self._end = end
            os.close(self._control)
            self._control = None

    async def _stop_after(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self._stop("timeout")

    async def _read_output(self) -> None:
        while data := await _read(self._output):
            self._kept.feed(data)
            # a flood must not hold up the screen
            await anyio.sleep(FLOOD_PAUSE_S if len(data) == _PIECE else 0)
        self._drained.set()

    async def _show_often(self, show: Callable[[str], None]) -> None:
        shown = 0
        while True:
            await anyio.sleep(SHOWN_EVERY_S)
            if self._kept.size != shown:
                shown = self._kept.size
                show(self._kept.ending(_SHOWN_BYTES))

    async def _reported(self) -> Mapping[str, object]:
        """Return the report of the supervisor, which comes when all has ended."""
        text = b""
        while data := await _read(self._report):
            text += data
        return read_report(text)

    async def close(self) -> None:
        """Have everything ended, which goes on by itself, and close the pipes."""
        self._stop(self._end)
        for descriptor in (self._output, self._report):
            os.close(descriptor)
        if self._popen.poll() is None:
            self._popen.stdin = None
            await anyio.to_thread.run_sync(self._reap, abandon_on_cancel=True)

    def _reap(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(GIVEN_UP_S)


def start_supervised(
    command: str, settings: CommandSettings
) -> "tuple[subprocess.Popen[bytes], int, int, int]":
    """Start the shell in the folder, below a supervisor; blocks.

    Returns the supervisor, and the descriptors that control it, give the output, and its report.

    Raises:
        AIError: it cannot be started.
    """
    pipes = [os.pipe() for _ in range(3)]
    (control_read, control), (output, output_write), (report, report_write) = pipes
    shell = str(shell_of(settings.environ))
    supervisor = [*SUPERVISOR, str(GRACE_S), str(report_write)]
    if settings.temporary is not None:
        supervisor += ["--temporary", settings.temporary]
    text = command.encode("utf-8", "replace").decode()
    try:
        popen = subprocess.Popen(
            [*supervisor, *settings.launcher, shell, "-c", text],
            stdin=control_read,
            stdout=output_write,
            stderr=subprocess.DEVNULL,
            pass_fds=[report_write],
            cwd=settings.folder,
            env=command_environment(settings.environ, settings.further_variables),
            start_new_session=True,
        )
    except OSError as error:
        for descriptor in (control, output, report):
            os.close(descriptor)
        raise _refusal(f"The command cannot be run: {why_unreadable(error)}.") from error
    finally:
        for descriptor in (control_read, output_write, report_write):
            os.close(descriptor)
    return popen, control, output, report


def read_report(written: bytes) -> Mapping[str, object]:
    """Return what a supervisor wrote; one that was killed could not end its command."""
    report: dict[str, object] = {}
    for line in written.splitlines():
        report |= json.loads(line)
    if isinstance(child := report.get("child"), int) and "others" not in report:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, SIGKILL)
    return report


async def _read(descriptor: int) -> bytes:
    while True:
        await anyio.wait_readable(descriptor)
        with contextlib.suppress(BlockingIOError):
            return os.read(descriptor, _PIECE)


@contextlib.contextmanager
def _listening(signal: AbortSignal, act: Callable[[], None]) -> Iterator[None]:
    stop_listening = signal.subscribe(act)
    try:
        yield
    finally:
        stop_listening()
