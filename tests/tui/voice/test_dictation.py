"""Dictation: what is said is in the input, nothing that is typed is lost, nothing goes on alone."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.support.engine import is_running
from tests.support.sounds import file_device, wav
from tests.tui.screens import Stage, staged, within
from tests.tui.voice.scripted_voice import ScriptedVoice, give_voice

REFUSED = AIError(ErrorCode.ENGINE_ERROR, "LocalAI has no ears.", hint="Start it anew.")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path / "config.toml") as running:
        yield running


@pytest.fixture
def voice(stage: Stage, tmp_path: Path) -> ScriptedVoice:
    """A voice whose microphone goes on until it is stopped."""
    (tmp_path / "device.wav").write_bytes(wav())
    record = file_device(tmp_path / "device.wav", goes_on=True)
    scripted = ScriptedVoice(tmp_path, record=record)
    give_voice(stage, scripted)
    return scripted


async def until(stage: Stage, test: Callable[[], bool]) -> None:
    with within(20):
        while not test():
            await stage.pilot.pause(0.005)


async def recording(stage: Stage) -> None:
    """Begin to dictate, and wait for sound."""
    await stage.pilot.press("f9")
    await until(stage, lambda: "█" in stage.screen_text or "▇" in stage.screen_text)


async def ended(stage: Stage) -> None:
    await until(stage, lambda: not stage.controller.voice.is_dictating)
    await stage.settle()


async def test_a_key_records_and_enter_inserts_the_text_without_sending(
    stage: Stage, voice: ScriptedVoice
) -> None:
    await recording(stage)
    assert "● Recording 0:00" in stage.screen_text
    assert "to localai://whisp" in stage.screen_text
    assert "Enter insert  Esc cancel" in stage.screen_text
    await stage.pilot.press("enter")
    await ended(stage)
    assert stage.chat.composer.text == "Hello there"
    assert voice.heard == [wav()]
    assert "Recording" not in stage.screen_text
    assert stage.client.prompts == []
    await stage.pilot.press("enter")
    await stage.settle()
    assert stage.client.prompts == ["Hello there"]


async def test_typing_goes_on_and_the_text_is_one_edit_at_the_cursor(
    stage: Stage, voice: ScriptedVoice
) -> None:
    voice.may_answer = anyio.Event()
    await stage.type("ab")
    await recording(stage)
    await stage.type("cd")
    await stage.pilot.press("f9")
    await until(stage, lambda: "Transcribing 0:00" in stage.screen_text)
    await stage.type("ef")
    await stage.pilot.press("left")
    voice.may_answer.set()
    await ended(stage)
    assert stage.chat.composer.text == "abcde Hello there f"
    await stage.pilot.press("ctrl+underscore")
    assert stage.chat.composer.text == "abcdef"
    await stage.pilot.press("ctrl+y")
    assert stage.chat.composer.text == "abcde Hello there f"


async def test_a_selection_is_not_replaced(stage: Stage, voice: ScriptedVoice) -> None:
    await stage.type("kept")
    await stage.pilot.press("f7")
    await recording(stage)
    await stage.pilot.press("enter")
    await ended(stage)
    assert stage.chat.composer.text == "kept Hello there"


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
@pytest.mark.parametrize("moment", ["recording", "transcribing"])
async def test_cancelling_leaves_nothing(
    stage: Stage, voice: ScriptedVoice, tmp_path: Path, key: str, moment: str
) -> None:
    voice.may_answer = anyio.Event()
    script = 'echo $$ > "$2"; cat "$1"; exec sleep 60'
    voice.record = ["sh", "-c", script, "-", str(tmp_path / "device.wav"), str(tmp_path / "pid")]
    await stage.type("draft")
    await recording(stage)
    if moment == "transcribing":
        await stage.pilot.press("enter")
        await until(stage, lambda: voice.heard != [])
    await stage.pilot.press(key)
    await ended(stage)
    assert stage.chat.composer.text == "draft"
    assert len(voice.heard) == (moment == "transcribing")
    assert "Dictation cancelled" in stage.screen_text
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_escape_cancels_the_dictation_first_and_then_stops_the_answer(
    stage: Stage, voice: ScriptedVoice
) -> None:
    await stage.ask("Why?")
    await recording(stage)
    await stage.pilot.press("escape")
    await ended(stage)
    assert stage.controller.queue.is_running
    await stage.pilot.press("escape")
    await stage.settle()
    assert not stage.controller.queue.is_running


async def test_a_file_device_that_ends_is_transcribed(stage: Stage, voice: ScriptedVoice) -> None:
    voice.record = ()
    await stage.send("/dictate")
    await until(stage, lambda: stage.chat.composer.text == "Hello there")
    assert voice.heard == [wav()]


async def test_a_file_is_transcribed(stage: Stage, voice: ScriptedVoice, tmp_path: Path) -> None:
    (tmp_path / "a memo.mp3").write_bytes(b"ID3memo")
    await stage.send(f"/dictate {tmp_path / 'a memo.mp3'}")
    await until(stage, lambda: stage.chat.composer.text == "Hello there")
    assert voice.heard == [b"ID3memo"]


@pytest.mark.parametrize(
    ("name", "words"), [("none.wav", "it does not exist."), ("empty.wav", "is empty.")]
)
async def test_a_file_that_cannot_be_read_is_named(
    stage: Stage, voice: ScriptedVoice, tmp_path: Path, name: str, words: str
) -> None:
    (tmp_path / "empty.wav").touch()
    await stage.send(f"/dictate {tmp_path / name}")
    await until(stage, lambda: words in stage.shown)
    assert voice.heard == []


async def test_a_recording_ends_at_its_limit_with_a_note(
    stage: Stage, voice: ScriptedVoice
) -> None:
    voice.longest_recording_s = 0.25
    await stage.pilot.press("f9")
    await until(stage, lambda: stage.chat.composer.text == "Hello there")
    assert "The recording ended after 0.25 s." in stage.shown
    assert voice.heard == [wav(0.25)]


async def test_a_device_that_goes_away_leaves_what_it_recorded(
    stage: Stage, voice: ScriptedVoice, tmp_path: Path
) -> None:
    voice.record = ["sh", "-c", 'cat "$1"; exit 5', "-", str(tmp_path / "device.wav")]
    await stage.pilot.press("f9")
    await until(stage, lambda: stage.chat.composer.text == "Hello there")
    assert "The microphone stopped. What it recorded is transcribed." in stage.shown


@pytest.mark.parametrize("what", ["refuses", "has_no_model", "has_no_device"])
async def test_an_error_is_one_note_and_the_draft_stays(
    stage: Stage, voice: ScriptedVoice, what: str
) -> None:
    voice.record = ()
    setattr(voice, what, REFUSED)
    await stage.type("draft")
    await stage.pilot.press("f9")
    await until(stage, lambda: "LocalAI has no ears." in stage.shown)
    await ended(stage)
    assert stage.shown.count("LocalAI has no ears.") == 1
    assert stage.chat.composer.text == "draft"
    assert len(voice.heard) == (what == "refuses")


async def test_silence_is_not_sent(stage: Stage, voice: ScriptedVoice, tmp_path: Path) -> None:
    (tmp_path / "device.wav").write_bytes(wav(peak=5))
    voice.record = ()
    await stage.pilot.press("f9")
    await until(stage, lambda: "The recording is silent." in stage.shown)
    assert voice.heard == []


async def test_no_words_are_a_note(stage: Stage, voice: ScriptedVoice) -> None:
    voice.record, voice.words = (), ""
    await stage.pilot.press("f9")
    await until(stage, lambda: "No speech was recognized." in stage.shown)


async def test_leaving_the_program_ends_the_recording(tmp_path: Path) -> None:
    (tmp_path / "device.wav").write_bytes(wav())
    script = 'echo $$ > "$2"; cat "$1"; exec sleep 60'
    command = ["sh", "-c", script, "-", str(tmp_path / "device.wav"), str(tmp_path / "pid")]
    async with staged(tmp_path / "config.toml") as stage:
        give_voice(stage, ScriptedVoice(tmp_path, record=command))
        await recording(stage)
    with within(10):
        while is_running(int((tmp_path / "pid").read_text())):
            await anyio.sleep(0.005)
