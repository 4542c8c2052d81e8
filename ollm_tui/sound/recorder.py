"""Recording: a program prints sound until it is ended, and how loud it is comes with each piece."""

import signal
from collections.abc import Callable
from typing import Final, Literal

import anyio
from anyio.abc import ByteReceiveStream

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.program import END_S, RunningProgram, SoundProgram
from ollm_tui.sound.wav import NotRecorded, SampleFormat, WavReader, level_of, peak_of

SILENT_S: Final = 10.0
"""How long a program may print nothing."""
DRAIN_S: Final = 0.7
"""How long a program that was asked to end may still print."""
_SILENT_PEAK: Final = 30
"""Below this, even a quiet room is not heard."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded."""

    samples: bytes
    format: SampleFormat
    end: Literal["stopped", "ended", "limit", "lost"]
    """Why it ended: as wished, with its file, at the limit, or with the device."""
    peak: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / self.format.bytes_per_s

    @property
    def is_silent(self) -> bool:
        """Whether nothing is heard in it."""
        return self.peak < _SILENT_PEAK

    @property
    def wav(self) -> bytes:
        """It as a WAV file."""
        return self.format.wav(self.samples)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Records with a program; what was recorded is in memory only."""

    program: SoundProgram
    max_seconds: float = 300.0

    async def record(
        self, stop: anyio.Event, show: Callable[[float, float], None] = lambda _level, _s: None
    ) -> Recording:
        """Record until `stop`, the limit or the end; `show` gets the level and the seconds.

        Raises:
            AIError: nothing was recorded.
        """
        running = await self.program.start()
        try:
            take = _Take(running, self.max_seconds, stop, show)
            await take.run()
            return await take.recording()
        finally:
            await running.end()


class _Take:
    """One recording while it is made."""

    def __init__(
        self,
        running: RunningProgram,
        max_seconds: float,
        stop: anyio.Event,
        show: Callable[[float, float], None],
    ) -> None:
        self._running, self._max_seconds = running, max_seconds
        self._stop, self._show = stop, show
        self._reader = WavReader()
        self._samples = bytearray()
        self._peak = 0
        self._problem: str | None = None
        self._is_full = self._is_silent = False

    async def run(self) -> None:
        """Read what the program prints until its end."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_on_stop)
            await self._read()
            group.cancel_scope.cancel()

    async def _end_on_stop(self) -> None:
        await self._stop.wait()
        self._running.send_signal(signal.SIGTERM)
        await anyio.sleep(DRAIN_S)
        self._running.send_signal(signal.SIGKILL)

    async def _read(self) -> None:
        stdout = self._running.process.stdout
        assert stdout is not None
        while not (self._is_full or self._problem):
            with anyio.move_on_after(SILENT_S) as waiting:
                if not await self._took(stdout):
                    return
            if waiting.cancelled_caught:
                self._is_silent = True
                return

    async def _took(self, stdout: ByteReceiveStream) -> bool:
        """Take a piece; False at the end."""
        try:
            samples = self._reader.feed(await stdout.receive())
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        except NotRecorded as error:
            self._problem = str(error)
            return False
        form = self._reader.format
        if form is None:
            return True
        most = int(self._max_seconds * form.rate) * form.channels * 2
        samples = samples[: most - len(self._samples)]
        self._samples += samples
        self._is_full = len(self._samples) >= most
        peak = peak_of(samples)
        self._peak = max(self._peak, peak)
        self._show(level_of(peak), len(self._samples) / form.bytes_per_s)
        return True

    async def recording(self) -> Recording:
        """Return what was recorded.

        Raises:
            AIError: nothing was.
        """
        end: Literal["stopped", "ended", "limit", "lost"] = "stopped"
        error: AIError | None = None
        program = self._running.program
        if self._problem is not None:
            words = f"The record_command of the settings prints {self._problem}."
            hint = "It must print a WAV file with 16-bit samples, or 16-bit mono samples at 16 kHz."
            raise AIError(ErrorCode.ENGINE_ERROR, words, hint=hint)
        if self._is_full:
            end = "limit"
        elif self._is_silent:
            end, words = "lost", "The microphone sends no sound."
            error = AIError(ErrorCode.TIMEOUT, words, hint=program.ways)
        elif not self._stop.is_set():
            code = 0
            with anyio.move_on_after(END_S):  # a program that lives on is killed
                code = await self._running.process.wait()
            end = "lost" if code else "ended"
            error = program.problem(code, self._running.complaint()) if code else None
        if not self._samples:
            silence = AIError(ErrorCode.ENGINE_ERROR, "Nothing was recorded.", hint=program.ways)
            raise error or silence
        form = self._reader.format or SampleFormat()
        return Recording(bytes(self._samples), form, end, self._peak)
