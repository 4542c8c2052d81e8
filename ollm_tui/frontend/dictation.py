"""Dictation: a recording or a file of sound becomes text in the input."""

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import anyio
from anyio import to_thread

from ollm_tui.attachments.attachment import named_paths, shown_path
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.frontend.figures import clock_time, seconds
from ollm_tui.frontend.notes import SayWithHint, SpeechLine
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.media.encoding import MAX_SOUND_BYTES
from ollm_tui.sound.recorder import Recorder, Recording

_State: TypeAlias = Literal["idle", "starting", "recording", "transcribing"]


class Transcriber(Protocol):
    """What dictation uses of the runtime."""

    @property
    def longest_recording_s(self) -> float:
        """The limit of a recording."""

    def recorder(self) -> Recorder:
        """Return what records; an `AIError` if nothing does."""

    async def find_model(self, task: Literal["transcription"]) -> str:
        """Return the address of the model; an `AIError` if there is none."""

    async def transcribe(self, sound: bytes) -> str:
        """Return the words of a recording."""


class Dictation:
    """At most one dictation at a time; what was recorded is kept nowhere."""

    def __init__(
        self, voice: Transcriber, line: SpeechLine, insert: Callable[[str], None], say: SayWithHint
    ) -> None:
        self._voice, self._line, self._insert, self._say = voice, line, insert, say
        self._state: _State = "idle"
        self._scope: anyio.CancelScope | None = None
        self._stop = anyio.Event()

    @property
    def is_running(self) -> bool:
        """Whether there is something to cancel."""
        return self._state != "idle"

    @property
    def is_recording(self) -> bool:
        """Whether the microphone is on."""
        return self._state == "recording"

    def end_recording(self) -> None:
        """End the recording, to transcribe it."""
        if self.is_recording:
            self._stop.set()

    def cancel(self) -> None:
        """End everything without a text."""
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, file: str = "") -> None:
        """Record and insert the text, or insert the text of a file."""
        if self.is_running:
            return
        self._state, self._stop = "starting", anyio.Event()
        try:
            with anyio.CancelScope() as self._scope:
                await self._run(file)
        except AIError as error:
            self._say(error.message, "error", error.hint)
        finally:
            self._state, self._scope = "idle", None
            self._line.hide()

    async def _run(self, file: str) -> None:
        recorder = None if file else self._voice.recorder()
        self._line.show_busy("Looking for a model that transcribes")
        model = await self._voice.find_model("transcription")
        if recorder is None:
            sound, length = await _read(file), ""
        else:
            recording = await self._record(recorder, model)
            sound, length = recording.wav, f" {clock_time(recording.seconds)}"
        self._state = "transcribing"
        self._line.show_busy(f"Transcribing{length}")
        text = await self._voice.transcribe(sound)
        if text:
            self._insert(text)
        else:
            self._say("No speech was recognized.", "warning")

    async def _record(self, recorder: Recorder, model: str) -> Recording:
        self._state = "recording"
        self._line.begin_recording(model)
        recording = await recorder.record(self._stop, self._line.show_level)
        if recording.end == "limit":
            self._say(
                f"The recording ended after {seconds(recorder.max_seconds)}.",
                "warning",
                "`longest_recording_s` below [sound] in the settings changes the limit.",
            )
        elif recording.end == "lost":
            self._say("The microphone stopped. What it recorded is transcribed.", "warning")
        if recording.is_silent:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "The recording is silent.",
                hint="Check that the microphone is on, and that it is the one of the system.",
            )
        return recording


async def _read(name: str) -> bytes:
    path = (await named_paths(name))[0]
    try:
        sound = await to_thread.run_sync(
            read_bounded, path, MAX_SOUND_BYTES, abandon_on_cancel=True
        )
    except (OSError, ValueError) as error:
        why = why_unreadable(error)
        words = f"{shown_path(path)} cannot be read: {why}."
        raise AIError(ErrorCode.BAD_REQUEST, words) from error
    if not sound:
        raise AIError(ErrorCode.BAD_REQUEST, f"{shown_path(path)} is empty.")
    return sound
