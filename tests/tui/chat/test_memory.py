"""Notes that last: in a chat only when switched on, said with their tokens, never in private."""

from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from tests.support.engine import needs_engine
from tests.tui.chat.test_web_tools import allow, write_model
from tests.tui.screens import Stage, staged, staged_for_real
from tests.tui.scripted import ScriptedRuntime

HEAD = "<notes>\nNotes that the user keeps for all chats:\n1. Speaks German.\n</notes>"


def prompt_of(stage: Stage) -> str | None:
    return stage.controller.session.client.conversation.system_prompt


async def noted(folder: Path, *, is_on: bool) -> ScriptedRuntime:
    runtime = ScriptedRuntime()
    runtime.memory.at(folder / "memory.txt").is_on = is_on
    (folder / "memory.txt").write_text("Speaks German.\n")
    return runtime


async def test_no_chat_gets_notes_unless_that_is_switched_on(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", await noted(tmp_path, is_on=False)) as stage:
        assert prompt_of(stage) is None
        assert "system prompt" not in stage.shown
        await stage.ask("/memory on")
        assert prompt_of(stage) == HEAD
        await stage.ask("/memory")
        assert "in the system prompt of this chat:\n1. Speaks German." in stage.shown
        await stage.ask("/memory add Likes rain.")
        assert "2. Likes rain.\n</notes>" in (prompt_of(stage) or "")
        assert (tmp_path / "memory.txt").read_text() == "Speaks German.\nLikes rain.\n"
        await stage.ask("/memory rm 2")
        await stage.ask("/memory off")
        assert prompt_of(stage) is None
        await stage.ask("/memory rm 7")
        assert "There is no note 7." in stage.shown


async def test_each_new_chat_says_that_it_has_them_and_a_private_one_has_none(
    tmp_path: Path,
) -> None:
    said = "has 1 note of yours, about "
    async with staged(tmp_path / "config.toml", await noted(tmp_path, is_on=True)) as stage:
        assert prompt_of(stage) == HEAD
        assert said in stage.shown
        await stage.ask("/system Be brief.")
        await stage.ask("/new")
        assert said in stage.shown
        assert (prompt_of(stage) or "").endswith(HEAD)
        await stage.ask("/private")
        assert stage.controller.session.is_private
        assert HEAD not in (prompt_of(stage) or "")
        assert said not in stage.shown
        assert stage.runtime.memory.is_private
        await stage.ask("/memory on")
        assert "it gets no notes" in stage.shown
        await stage.ask("/private off")
        assert (prompt_of(stage) or "").endswith(HEAD)


async def test_a_file_that_cannot_be_read_is_said_and_the_chat_opens(tmp_path: Path) -> None:
    runtime = await noted(tmp_path, is_on=True)
    (tmp_path / "memory.txt").write_bytes(b"\xff\xfe")
    async with staged(tmp_path / "config.toml", runtime) as stage:
        assert "memory.txt cannot be read" in stage.shown
        assert prompt_of(stage) is None


@pytest.mark.engine
@needs_engine
async def test_a_model_writes_a_note_after_a_question_with_the_difference(tmp_path: Path) -> None:
    write_model(tmp_path, "edit_notes", action="add", text="Reads the page first.")
    flags = Flags(model="embedded://reader", tools=("edit_notes",))
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, flags, size=(100, 40)) as stage:
        await stage.send("Remember the page, please.")
        await allow(stage, "Run edit_notes?", "+Reads the page first.")
        await stage.until("edit_notes", "✓", "it is sunny there.")
        file = stage.runtime.memory.file
        assert file is not None
        assert file.read_text() == "Reads the page first.\n"
        assert "Reads the page first." not in str(
            stage.controller.session.client.conversation.system_prompt
        )
