"""A disk that is full: said once, and quitting does not lose a chat in silence."""

from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import ScriptedChats

FULL = AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full.", hint="Free at least 2 MB.")


async def ask(stage: Stage) -> None:
    await stage.ask("why?")
    stage.client.answer("Because.")
    await stage.settle()


async def test_a_failure_is_reported_once_and_so_is_its_end(tmp_path: Path) -> None:
    chats = ScriptedChats()
    runtime = ScriptedRuntime(chats=chats)
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        await ask(stage)
        assert "saved" not in stage.shown
        chats.problem, chats.unsaved = FULL, 2
        await ask(stage)
        await ask(stage)
        assert stage.shown.count("Not saved: disk full.") == 1
        assert "Free at least 2 MB." in stage.screen_text
        chats.problem, chats.unsaved = None, 0
        await ask(stage)
        await ask(stage)
        assert stage.shown.count("The chat is saved again.") == 1


@pytest.mark.parametrize("keys", [["ctrl+c", "ctrl+c"], [*"/quit", "escape", "enter"]])
async def test_quitting_asks_before_a_chat_is_lost(tmp_path: Path, keys: list[str]) -> None:
    chats = ScriptedChats(problem=FULL, unsaved=2)
    async with staged(tmp_path / "config.toml", ScriptedRuntime(chats=chats)) as stage:
        await stage.pilot.press(*keys)
        await stage.settle()
        assert stage.app.is_running
        assert "2 messages are in memory only. Not saved: disk full." in stage.screen_text
        assert "Quit again to leave without saving." in stage.screen_text
        await stage.pilot.press(*keys)
        await stage.pilot.pause()
        assert not stage.app.is_running


async def test_what_is_saved_is_left_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime()) as stage:
        await stage.pilot.press("ctrl+c", "ctrl+c")
        await stage.pilot.pause()
        assert not stage.app.is_running
