"""Habits that people bring: keys and words of other programs, and keys pressed too early."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from tests.tui.screens import staged

BROKEN = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.")


async def test_control_c_leaves_an_edit_and_gives_the_draft_back(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("first question")
        stage.client.answer("an answer")
        await stage.settle()
        await stage.type("mine")
        await stage.pilot.press("alt+up", "alt+up", "e")
        await stage.settle()
        assert "Editing an earlier message" in stage.screen_text
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert "Editing an earlier message" not in stage.screen_text
        assert stage.chat.composer.value == "mine"


async def test_up_takes_the_newest_queued_prompt_into_the_input(config: Path) -> None:
    async with staged(config) as stage:
        for words in ("one", "two", "three"):
            await stage.ask(words)
        assert "2 queued · Up edits the last · Esc returns them" in stage.screen_text
        await stage.pilot.press("up")
        await stage.settle()
        assert stage.chat.composer.value == "three"
        assert "1 queued · Up edits it" in stage.screen_text
        stage.client.answer("first")
        await stage.settle()
        assert stage.client.prompts == ["one", "two"]


async def test_a_queue_stops_at_an_error_and_goes_on_after_it(config: Path) -> None:
    async with staged(config) as stage:
        for words in ("one", "two", "three"):
            await stage.ask(words)
        stage.client.fail(BROKEN)
        await stage.settle()
        assert stage.client.prompts == ["one"]
        assert "2 queued after the error" in stage.screen_text
        await stage.pilot.press("r")
        await stage.settle()
        stage.client.answer("first")
        await stage.settle()
        assert stage.client.prompts[-1] == "two"
        assert "1 queued · Up edits it" in stage.screen_text


async def test_a_key_that_is_early_says_so_and_opens_its_list_then(config: Path) -> None:
    opened = anyio.Event()
    async with staged(config, opened=opened) as stage:
        await stage.pilot.press("ctrl+l")
        await stage.settle()
        assert "Still starting; try again in a moment" in stage.screen_text
        opened.set()
        with anyio.fail_after(5):
            while stage.app.screen is stage.chat:
                await stage.pilot.pause()
        assert type(stage.app.screen).__name__ == "ModelPicker"


@pytest.mark.parametrize(
    ("code", "is_offered"),
    [
        (ErrorCode.SERVICE_UNAVAILABLE, True),
        (ErrorCode.STREAM_INCOMPLETE, True),
        (ErrorCode.AUTH_FAILED, False),
        (ErrorCode.MODEL_NOT_FOUND, False),
        (ErrorCode.CONTEXT_LENGTH_EXCEEDED, False),
    ],
)
async def test_trying_again_is_offered_where_it_can_help(
    config: Path, code: ErrorCode, is_offered: bool
) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.fail(AIError(code, "That failed."))
        await stage.settle()
        assert ("Press r to try again" in stage.screen_text) is is_offered
        assert ("retry" in stage.screen_text.splitlines()[-1]) is is_offered
        await stage.pilot.press("r")
        await stage.settle()
        assert stage.chat.composer.value == ("" if is_offered else "r")


async def test_another_model_makes_trying_again_worth_it(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.fail(AIError(ErrorCode.MODEL_NOT_FOUND, "That is gone."))
        await stage.settle()
        stage.controller.models.use_model(ModelRef("local", "gemma3:4b"))
        await stage.pilot.press("r")
        await stage.settle()
        assert stage.chat.composer.value == ""


async def test_a_block_in_three_quotes_takes_enter_as_a_new_line(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask('"""first')
        await stage.ask("second")
        assert stage.client.prompts == []
        await stage.ask('"""')
        assert stage.client.prompts == ["first\nsecond"]


async def test_control_d_deletes_in_a_draft_and_quits_in_an_empty_input(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("ab")
        await stage.pilot.press("home", "ctrl+d")
        assert stage.chat.composer.value == "b"
        await stage.pilot.press("ctrl+d", "ctrl+d")
        await stage.pilot.pause()
        assert not stage.app.is_running


async def test_control_d_asks_while_an_answer_comes(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        await stage.pilot.press("ctrl+d")
        await stage.settle()
        assert stage.app.is_running
        assert "Press Ctrl+D again to quit" in stage.screen_text


@pytest.mark.parametrize("words", ["exit", "quit", " Exit "])
async def test_the_words_of_a_shell_leave(config: Path, words: str) -> None:
    async with staged(config) as stage:
        stage.chat.composer.insert(words)
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        await stage.pilot.pause()
        assert not stage.app.is_running


async def test_undo_without_changed_files_names_what_puts_the_last_message_back(
    config: Path,
) -> None:
    async with staged(config) as stage:
        await stage.ask("first question")
        stage.client.answer("an answer")
        await stage.settle()
        await stage.ask("/undo")
        assert "/edit changes your last message" in " ".join(stage.shown.split())
        await stage.ask("/edit")
        assert stage.chat.composer.value == "first question"
        assert "Editing an earlier message" in stage.screen_text


async def test_a_long_message_stays_folded_once_sent_and_unfolds(config: Path) -> None:
    async with staged(config) as stage:
        pasted = "\n".join(f"line {number}" for number in range(40))
        stage.chat.composer.insert_pasted(pasted)
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.client.prompts == [pasted]
        assert "▸ line 0… · 40 lines" in stage.screen_text
        assert "line 7" not in stage.screen_text
        stage.client.answer("fine")
        await stage.settle()
        await stage.pilot.press("alt+up", "alt+up", "space")
        await stage.settle()
        assert "▾ line 0… · 40 lines" in stage.screen_text
        assert "line 7" in stage.screen_text
