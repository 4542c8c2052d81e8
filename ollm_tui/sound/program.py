"""The programs that record and play: which they are, and one of them while it runs.

Each has its own session without a terminal, so whatever it starts ends with it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
from anyio.abc import Process

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.redact import without_secrets
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.device_child import DEVICE_LOST, NO_DEVICE, NO_PACKAGE, NOT_DECODED

Direction: TypeAlias = Literal["record", "play"]
END_S: Final = 1.0
_REMOTE: Final = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_CHILD: Final = (sys.executable, "-P", str(Path(__file__).with_name("device_child.py")))
LIST_DEVICES: Final = (*_CHILD, "devices")
"""Prints the devices for a direction, its last argument, as JSON."""
_MAX_COMPLAINT_LENGTH: Final = 200
_INSTALL: Final = "Install it in ollm's environment: pip install miniaudio."
_WAYS: Final[Mapping[Direction, str]] = {
    "record": "/dictate FILE transcribes a recording, and `record_command` below [sound] in the "
    "settings names a program that records.",
    "play": "`ollm speak` writes speech to a file, and `play_command` below [sound] in the "
    "settings names a program that plays.",
}
_DEVICE: Final[Mapping[Direction, str]] = {"record": "microphone", "play": "sound output"}
_ACTION: Final[Mapping[Direction, str]] = {"record": "Recording", "play": "Playing sound"}


@dataclass(frozen=True, slots=True)
class SoundProgram:
    """A program that records or plays."""

    direction: Direction
    command: Sequence[str]
    is_device: bool
    """Whether it is the program's own, for the devices of this machine."""

    @property
    def ways(self) -> str:
        """What else the user can do."""
        return _WAYS[self.direction]

    async def start(self) -> "RunningProgram":
        """Start it.

        Raises:
            AIError: ENGINE_ERROR if it cannot be started.
        """
        log_read, log_write = os.pipe()
        os.set_blocking(log_read, False)
        os.set_blocking(log_write, False)  # a full log drops lines; it never stops the program
        is_player = self.direction == "play"
        try:
            # Cancelled half-way it would be killed, but nothing would wait for its end.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    list(self.command),
                    stdin=subprocess.PIPE if is_player else subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL if is_player else subprocess.PIPE,
                    stderr=log_write,
                    env=without_secrets(os.environ),
                    start_new_session=True,
                )
        except BaseException as error:
            os.close(log_read)
            if isinstance(error, OSError | ValueError):
                raise self.not_started(error) from error
            raise
        finally:
            os.close(log_write)
        return RunningProgram(self, process, log_read)

    def not_started(self, error: OSError | ValueError) -> AIError:
        """Return the error for a command of the settings that cannot be started."""
        why = "it does not exist" if isinstance(error, FileNotFoundError) else "it cannot be run"
        name = clean_name(Path(self.command[0]).name)
        return AIError(
            ErrorCode.ENGINE_ERROR,
            f"The {self.direction}_command of the settings did not start {name}: {why}.",
            hint="Install it, or change the command below [sound] in the settings.",
        )

    def problem(self, code: int, complaint: str) -> AIError:
        """Return why the program ended with a code."""
        device, action = _DEVICE[self.direction], _ACTION[self.direction]
        if not self.is_device:
            words = f"The {self.direction}_command of the settings ended with code {code}"
            detail = f"{words}: {complaint}" if complaint else f"{words}."
            return AIError(ErrorCode.ENGINE_ERROR, detail, hint="Try it in a shell.")
        if code == NO_PACKAGE:
            words = f"{action} needs the package miniaudio, which is not installed."
            hint = f"{_INSTALL} {self.ways}"
            return AIError(ErrorCode.UNSUPPORTED_FEATURE, words, hint=hint)
        if code == NOT_DECODED:
            words = "The sound is in a format that cannot be played here."
            hint = "`play_command` below [sound] in the settings names a program that plays."
            return AIError(ErrorCode.UNSUPPORTED_FEATURE, words, hint=hint)
        if code == NO_DEVICE:
            return AIError(ErrorCode.UNSUPPORTED_FEATURE, f"No {device} found.", hint=self.ways)
        words = f"The {device} does not respond any more."
        if code != DEVICE_LOST:
            words = f"The process of the {device} ended unexpectedly ({code})."
        return AIError(ErrorCode.ENGINE_ERROR, words, hint=f"Check the device. {self.ways}")


@dataclass(slots=True)
class RunningProgram:
    """A program that runs; `end` it in any case."""

    program: SoundProgram
    process: Process
    _log: int | None = field(repr=False)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the program and all it has started; at once."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def complaint(self) -> str:
        """Return the last line that it wrote on its standard error."""
        log, self._log = self._log, None
        if log is None:
            return ""
        lines: list[str] = []
        with suppress(BlockingIOError):
            lines = os.read(log, 64 * 1024).decode(errors="replace").splitlines()
        os.close(log)
        last = next((line for line in reversed(lines) if line.strip()), "")
        return clean_line(last.strip()[:_MAX_COMPLAINT_LENGTH])

    async def end(self) -> None:
        """Kill it with all it has started, and wait for that."""
        # its group may live on without it
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.complaint()
        try:
            await self._close()
        except anyio.get_cancelled_exc_class():
            # Textual cancels a worker twice, which no shield holds off
            await self._close()
            raise

    async def _close(self) -> None:
        with anyio.move_on_after(END_S, shield=True):
            await self.process.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundSetup:
    """What is known of recording and playing here."""

    record_command: Sequence[str] = ()
    play_command: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    backend: str | None = None
    """The backend of miniaudio, such as NULL; None is the one of the system."""

    def program(self, direction: Direction) -> SoundProgram:
        """Return the program for a direction.

        Raises:
            AIError: UNSUPPORTED_FEATURE if there can be none in this session.
        """
        command = self.record_command if direction == "record" else self.play_command
        if command:
            return SoundProgram(direction, command, is_device=False)
        is_remote = any(self.environ.get(name) for name in _REMOTE)
        if is_remote and not self.environ.get("PULSE_SERVER"):  # which brings sound along
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"There is no {_DEVICE[direction]} in an SSH session.",
                hint=_WAYS[direction],
            )
        backend = [self.backend] if self.backend else []
        return SoundProgram(direction, [*_CHILD, direction, *backend], is_device=True)
