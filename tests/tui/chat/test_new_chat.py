"""A new chat in the place of the one before."""

from pathlib import Path

import pytest

from ollm_tui.tui.chat.prompting import prompt_queue as turns_module
from tests.tui.models.test_actions import armed
from tests.tui.screens import staged
from tests.tui.scripted import finish, text


async def test_a_new_chat_forgets_the_history_and_keeps_the_model(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        stage.client.answer("first")
        await stage.settle()
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert "first" not in stage.screen_text
        assert len(stage.runtime.clients) == 2
        assert stage.client.conversation.messages == []
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_a_new_chat_while_it_streams_stops_the_old_one(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        old = stage.client
        old.give(text("first"))
        await stage.settle()
        await stage.ask("/new")
        await armed(stage)
        await stage.pilot.press("y")
        await stage.settle()
        assert old.signals[0] is not None
        assert old.signals[0].aborted
        assert not old.is_open
        assert len(stage.chat.transcript.block_list) == 0


async def test_what_is_asked_in_a_new_chat_while_the_old_one_closes_is_asked_there(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "STOP_GRACE_S", 60.0)
    async with staged(config) as stage:
        old = stage.client
        old.hangs_on_abort = True
        await stage.ask("one")
        old.give(text("first"))
        await stage.settle()
        await stage.pilot.press("escape", "ctrl+n")
        await stage.settle()
        new = stage.client
        await stage.ask("two")
        assert new is not old
        assert "1 queued" in stage.screen_text
        old.give(finish("abort"))
        await stage.settle()
        assert (old.prompts, new.prompts) == (["one"], ["two"])
        new.answer("second")
        await stage.settle()
        assert "second" in stage.screen_text


async def test_what_was_queued_in_a_chat_that_is_left_comes_back_to_the_editor(
    config: Path,
) -> None:
    async with staged(config) as stage:
        await stage.ask("one")
        old = stage.client
        old.give(text("first"))
        await stage.settle()
        await stage.ask("two")
        assert "1 queued" in stage.screen_text
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        await armed(stage)
        await stage.pilot.press("y")
        await stage.settle()
        assert stage.chat.composer.draft == "two"
        assert "queued" not in stage.screen_text
        assert (old.prompts, stage.client.prompts) == (["one"], [])
