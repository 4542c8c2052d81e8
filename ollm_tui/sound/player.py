"""Playing: each sound goes to a program that exits once it was heard."""

import signal
from contextlib import suppress
from types import TracebackType
from typing import Self

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.program import RunningProgram, SoundProgram


class Player:
    """Plays one sound after another; use it as an async context manager.

    `stop` is heard at once: it kills what plays.
    """

    def __init__(self, program: SoundProgram) -> None:
        self._program = program
        self._running: list[RunningProgram] = []
        self._waiting: RunningProgram | None = None
        self._is_stopped = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.stop()
        for running in self._running[:]:
            await self._end(running)

    def stop(self) -> None:
        """End what plays; nothing more is played."""
        self._is_stopped = True
        for running in self._running:
            running.send_signal(signal.SIGKILL)

    async def play(self, sound: bytes) -> None:
        """Play a whole file of sound, and return when it was heard.

        Raises:
            AIError: it cannot be played; ABORTED after `stop`.
        """
        self._require_open()
        running, self._waiting = self._waiting or await self._start(), None
        try:
            self._require_open()  # it may have been stopped while the program started
            await self._send(running, sound)
            if self._program.is_device:
                # initialises while this one plays
                self._waiting = await self._start()
            code = await running.process.wait()
            self._require_open()
            if code:
                raise self._program.problem(code, running.complaint())
        finally:
            running.send_signal(signal.SIGKILL)
            await self._end(running)

    def _require_open(self) -> None:
        if self._is_stopped:
            raise AIError(ErrorCode.ABORTED, "Playing was stopped.")

    async def _start(self) -> RunningProgram:
        running = await self._program.start()
        self._running.append(running)
        return running

    async def _send(self, running: RunningProgram, sound: bytes) -> None:
        stdin = running.process.stdin
        assert stdin is not None
        # a program may have ended: its exit code says why
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stdin.send(sound)
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stdin.aclose()

    async def _end(self, running: RunningProgram) -> None:
        if running in self._running:
            self._running.remove(running)
        await running.end()
