"""Reading aloud: in order, while the answer still comes, and never after a stop."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from tests.support.engine import is_running
from tests.tui.screens import Stage, staged, within
from tests.tui.scripted import finish, text, thinking
from tests.tui.voice.scripted_voice import ScriptedVoice, give_voice

ANSWER = "# One\nTwo is *here*. Three!\n\n```py\nprint(4)\n```\nFive"
SENTENCES = ["One", "Two is here.", "Three!", "Five"]
REFUSED = AIError(ErrorCode.ENGINE_ERROR, "LocalAI has no voice.", hint="Start it anew.")
ENDLESS = ["sh", "-c", 'echo $$ > "$1/pid.new"; mv "$1/pid.new" "$1/pid"; exec sleep 60', "-"]


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path / "config.toml") as running:
        yield running


@pytest.fixture
def voice(stage: Stage, tmp_path: Path) -> ScriptedVoice:
    scripted = ScriptedVoice(tmp_path)
    give_voice(stage, scripted)
    return scripted


async def until(stage: Stage, test: Callable[[], bool]) -> None:
    with within(20):
        while not test():
            await stage.pilot.pause(0.005)


async def is_silent(stage: Stage) -> None:
    await until(stage, lambda: not stage.controller.voice.is_reading)


def answered(stage: Stage, words: str = ANSWER) -> None:
    """Let the last answer be these words."""
    conversation = stage.runtime.clients[-1].conversation
    conversation.messages += [Message("user", "Count."), Message("assistant", words)]


async def test_the_last_answer_is_read_sentence_by_sentence(
    stage: Stage, voice: ScriptedVoice
) -> None:
    answered(stage)
    await stage.send("/speak")
    await until(stage, lambda: len(voice.played) == 4)
    await is_silent(stage)
    assert voice.spoken == voice.played == SENTENCES
    assert "Reading aloud" not in stage.screen_text


async def test_an_answer_is_read_while_it_comes(stage: Stage, voice: ScriptedVoice) -> None:
    await stage.send("/speak on")
    await until(stage, lambda: "Answers are read aloud by localai://whisper-1." in stage.shown)
    await stage.ask("Count.")
    stage.client.give(thinking("I think."), text("One is here. Tw"))
    await until(stage, lambda: voice.played == ["One is here."])
    assert stage.controller.voice.is_reading
    assert "▶ Reading aloud" in stage.screen_text
    stage.client.give(text("o"), finish())
    await until(stage, lambda: voice.played == ["One is here.", "Two"])
    await is_silent(stage)
    await stage.send("/speak off")
    await stage.ask("Again.")
    stage.client.answer("Three.")
    await stage.settle()
    assert not stage.controller.voice.is_reading
    assert voice.spoken == ["One is here.", "Two"]


async def test_the_next_sentence_is_made_while_one_is_played(
    stage: Stage, voice: ScriptedVoice, tmp_path: Path
) -> None:
    voice.play = [*ENDLESS, str(tmp_path)]
    answered(stage)
    await stage.send("/speak")
    await until(stage, lambda: len(voice.spoken) > 1)
    assert (tmp_path / "pid").exists() or stage.controller.voice.is_reading
    await stage.pilot.press("escape")
    await is_silent(stage)
    assert len(voice.spoken) < len(SENTENCES)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_one_key_stops_the_answer_and_its_reading(
    stage: Stage, voice: ScriptedVoice, tmp_path: Path, key: str
) -> None:
    voice.play = [*ENDLESS, str(tmp_path)]
    await stage.send("/speak on")
    await until(stage, lambda: "read aloud by" in stage.shown)
    await stage.ask("Count.")
    stage.client.give(text("One. Two. Three."))
    await until(stage, (tmp_path / "pid").exists)
    await stage.pilot.press(key)
    assert not stage.controller.voice.is_reading
    assert not stage.controller.queue.is_running
    with within(10):
        while is_running(int((tmp_path / "pid").read_text())):
            await anyio.sleep(0.002)
    count = len(voice.spoken)
    await stage.settle()
    assert len(voice.spoken) == count
    assert "Reading aloud" not in stage.screen_text
    assert "error" not in stage.screen_text


async def test_a_new_prompt_ends_what_is_read(
    stage: Stage, voice: ScriptedVoice, tmp_path: Path
) -> None:
    voice.play = [*ENDLESS, str(tmp_path)]
    answered(stage)
    await stage.send("/speak")
    await until(stage, (tmp_path / "pid").exists)
    await stage.ask("Next.")
    assert not stage.controller.voice.is_reading


@pytest.mark.parametrize("command", [["sh", "-c", "echo no sink >&2; exit 1"], None])
async def test_an_error_is_one_note(
    stage: Stage, voice: ScriptedVoice, command: list[str] | None
) -> None:
    words = "ended with code 1: no sink" if command else "LocalAI has no voice."
    voice.play, voice.refuses = command or (), None if command else REFUSED
    answered(stage)
    await stage.send("/speak")
    await until(stage, lambda: words in stage.shown)
    await is_silent(stage)
    assert stage.shown.count(words) == 1


async def test_what_is_not_possible_is_not_switched_on(stage: Stage, voice: ScriptedVoice) -> None:
    voice.has_no_model = REFUSED
    await stage.send("/speak on")
    await until(stage, lambda: "LocalAI has no voice. Start it anew." in stage.shown)
    await stage.ask("Count.")
    stage.client.answer("One.")
    await stage.settle()
    assert voice.spoken == []


async def test_there_may_be_nothing_to_read(stage: Stage, voice: ScriptedVoice) -> None:
    await stage.send("/speak")
    await until(stage, lambda: "There is no answer to read aloud." in stage.shown)
    answered(stage, "```\nonly code\n```")
    await stage.send("/speak")
    await until(stage, lambda: "nothing in it to read aloud" in stage.shown)
    assert voice.spoken == []
