"""A voice whose models are scripted and whose devices are commands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.sound.player import Player
from ollm_tui.sound.program import SoundProgram
from ollm_tui.sound.recorder import Recorder
from tests.support.sounds import file_device, file_output, played
from tests.tui.screens import Stage


@dataclass
class ScriptedVoice:
    folder: Path
    words: str = "Hello there"
    record: Sequence[str] = ()
    play: Sequence[str] = ()
    longest_recording_s: float = 60.0
    refuses: AIError | None = None
    """What every model answers with."""
    has_no_model: AIError | None = None
    has_no_device: AIError | None = None
    heard: list[bytes] = field(default_factory=list)
    spoken: list[str] = field(default_factory=list)
    may_answer: anyio.Event | None = None
    """The models answer after this, if there is one."""

    def recorder(self) -> Recorder:
        if self.has_no_device is not None:
            raise self.has_no_device
        command = self.record or file_device(self.folder / "device.wav")
        program = SoundProgram("record", command, is_device=False)
        return Recorder(program=program, max_seconds=self.longest_recording_s)

    def player(self) -> Player:
        if self.has_no_device is not None:
            raise self.has_no_device
        command = self.play or file_output(self.folder / "played")
        return Player(SoundProgram("play", command, is_device=False))

    @property
    def played(self) -> list[str]:
        """What was played, as text."""
        folder = self.folder / "played"
        return [sound.decode() for sound in played(folder)] if folder.exists() else []

    async def find_model(self, _task: str) -> str:
        if self.has_no_model is not None:
            raise self.has_no_model
        return "localai://whisper-1"

    async def transcribe(self, sound: bytes) -> str:
        self.heard.append(sound)
        await self._answer()
        return self.words

    async def speak(self, text: str) -> bytes:
        self.spoken.append(text)
        await self._answer()
        return text.encode()

    async def _answer(self) -> None:
        if self.may_answer is not None:
            await self.may_answer.wait()
        if self.refuses is not None:
            raise self.refuses


def give_voice(stage: Stage, voice: ScriptedVoice) -> None:
    """Let the open chat use a voice."""
    vars(stage.controller.voice)["_voice"] = voice
