"""Dictation and reading aloud in words: said once, stopped at once, and silent while it records."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio

from ollm_tui.linear.speech import voice_in_lines
from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.linear.stage import heard_chat
from tests.support.sounds import file_device, wav
from tests.tui.scripted import finish, text
from tests.tui.voice.scripted_voice import ScriptedVoice


class Stage:
    def __init__(self, voice: ScriptedVoice) -> None:
        self.chat = heard_chat()
        self.inserted: list[str] = []
        self.foreground: list[Coroutine[Any, Any, object]] = []
        self.voice = voice_in_lines(
            self.chat.runtime,
            self.inserted.append,
            self.foreground.append,
            self.chat.begin,
            self.chat.write,
            self.chat.say,
        )
        vars(self.voice)["_voice"] = voice

    async def dictated(self, file: str = "") -> list[str]:
        self.voice.dictate(file)
        await self.foreground.pop()
        return [*self.chat.heard]


async def until(test: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not test():
            await anyio.sleep(0.002)


async def test_a_recording_ends_by_a_key_and_becomes_a_text(tmp_path: Path) -> None:
    (tmp_path / "device.wav").write_bytes(wav())
    record = file_device(tmp_path / "device.wav", goes_on=True)
    stage = Stage(ScriptedVoice(tmp_path, record=record))
    levels: list[float] = []
    line = stage.voice._line
    vars(line)["show_level"] = lambda level, _seconds: levels.append(level)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.dictated)
        await until(lambda: any(level > 0 for level in levels))
        assert stage.chat.heard == [
            "Looking for a model that transcribes.",
            "Recording for localai://whisper-1. Enter ends it, Escape cancels it.",
        ]
        stage.voice.insert()
        await until(lambda: not stage.voice.is_dictating)
    assert stage.inserted == ["Hello there"]
    assert stage.chat.heard[2:] == ["Transcribing 0:00."]


async def test_a_file_is_transcribed_and_a_refusal_is_a_sentence(tmp_path: Path) -> None:
    sound = tmp_path / "said.wav"
    sound.write_bytes(wav())
    stage = Stage(ScriptedVoice(tmp_path))
    assert (await stage.dictated(str(sound)))[-1] == "Transcribing."
    assert stage.inserted == ["Hello there"]
    refused = AIError(ErrorCode.MODEL_NOT_FOUND, "No model transcribes.", hint="/pull finds one.")
    stage = Stage(ScriptedVoice(tmp_path, has_no_model=refused))
    heard = await stage.dictated(str(sound))
    assert heard[-1] == "Error: No model transcribes. /pull finds one."
    assert stage.inserted == []


async def test_answers_are_read_while_they_come_without_a_word_about_it(tmp_path: Path) -> None:
    voice = ScriptedVoice(tmp_path)
    stage = Stage(voice)
    await stage.voice.read_answers(True)
    stage.voice.begin_answer()
    stage.voice.take(text("One is here. Tw"))
    [work] = stage.chat.begun
    async with anyio.create_task_group() as group:

        async def read() -> None:
            await work

        group.start_soon(read)
        await until(lambda: voice.played == ["One is here."])
        stage.voice.take(text("o"))
        stage.voice.take(finish())
        stage.voice.end_answer()
        await until(lambda: not stage.voice.is_reading)
    assert voice.spoken == ["One is here.", "Two"]
    assert stage.chat.heard == [
        "Answers are read aloud by localai://whisper-1. /speak off ends it."
    ]
