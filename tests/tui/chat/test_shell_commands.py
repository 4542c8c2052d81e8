"""`!command` on the screen: asked about, run in its turn, shown, and kept in the chat."""

import os
import re
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.command_output import command_message
from ollm_tui.frontend import consent as armed
from ollm_tui.protocol.message import COMMAND
from ollm_tui.shell.command import CommandResult, CommandSettings
from ollm_tui.tui.dialogs.approve_tool import ApproveCommand
from tests.tui.screens import Stage, staged, within
from tests.tui.scripted import ScriptedRuntime


@pytest.fixture(autouse=True)
def answers_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(armed, "ARMED_AFTER_S", 0.0)
    monkeypatch.setattr(armed, "HELD_S", 0.0)


def runtime(folder: Path) -> ScriptedRuntime:
    made = ScriptedRuntime()
    made.shell = CommandSettings(folder, 20, (), {"PATH": os.environ["PATH"], "SHELL": "/bin/sh"})
    return made


def commands(stage: Stage) -> list[str]:
    """Return the output of each command in the chat, as the model reads it."""
    messages = stage.client.conversation.messages
    return [message.text for message in messages if COMMAND in message.metadata]


async def asked(stage: Stage, command: str) -> ApproveCommand:
    await stage.send(command)
    with within(20):
        while not isinstance(stage.app.screen, ApproveCommand):
            await anyio.sleep(0.002)
    await stage.settle()
    return stage.app.screen


async def ended(stage: Stage) -> None:
    with within(20):
        while stage.controller.queue.is_busy:
            await anyio.sleep(0.002)
    await stage.settle()


async def test_a_command_is_asked_about_and_its_output_goes_to_the_model(
    config: Path, tmp_path: Path
) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        await asked(stage, "!echo here; pwd")
        assert "Run this command?" in stage.screen_text
        assert "echo here; pwd" in stage.screen_text
        await stage.pilot.press("enter")  # is no answer
        assert isinstance(stage.app.screen, ApproveCommand)
        await stage.pilot.press("y")
        await ended(stage)
        assert f"here\n{tmp_path}" in stage.shown
        assert "$ echo here; pwd" in stage.screen_text
        [text] = commands(stage)
        assert f"here\n{tmp_path}\n" in text
        assert stage.client.prompts == []  # the model is asked with the next message
        await stage.ask("what was printed?")
        assert stage.client.prompts == ["what was printed?"]


async def test_a_no_runs_nothing_and_gives_the_command_back(config: Path, tmp_path: Path) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        for key in ("n", "escape"):
            await asked(stage, "!touch made")
            await stage.pilot.press(key)
            await ended(stage)
            assert stage.chat.composer.draft == "!touch made"
            assert "The command was not run." in stage.shown
            await stage.pilot.press("ctrl+c")
        assert not (tmp_path / "made").exists()
        assert commands(stage) == []


async def test_a_grant_holds_for_commands_of_this_chat_alone(config: Path, tmp_path: Path) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        await asked(stage, "!echo one")
        await stage.pilot.press("a")
        await ended(stage)
        await stage.send("!echo two")
        await ended(stage)
        assert len(commands(stage)) == 2
        permissions = stage.chat.services.approver.permissions
        assert not any(permissions.allows(name, "run") for name in ("shell", "echo", ""))
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        await asked(stage, "!echo three")


async def test_what_cannot_be_seen_is_spelled_out(config: Path, tmp_path: Path) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        await asked(stage, "!echo a\u202eb\u200bc")
        assert "echo a⟦U+202E⟧b⟦U+200B⟧c" in stage.screen_text


async def test_a_command_waits_for_the_answer_and_prompts_wait_for_the_command(
    config: Path, tmp_path: Path
) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        stage.chat.services.approver.permissions.mode = "all"
        await stage.ask("one")
        await stage.ask("!echo queued; while ! test -e go; do sleep 0.02; done")
        await stage.ask("two")
        assert "2 queued" in stage.screen_text
        assert commands(stage) == []
        stage.client.answer("first")
        await stage.settle()
        with within(20):
            while "queued" not in stage.shown:
                await anyio.sleep(0.01)
        assert stage.client.prompts == ["one"]
        (tmp_path / "go").touch()
        with within(20):
            while stage.client.prompts != ["one", "two"]:
                await anyio.sleep(0.01)
        roles = [message.role for message in stage.client.conversation.messages]
        assert roles == ["user", "user", "user"]
        assert COMMAND in stage.client.conversation.messages[1].metadata


async def test_esc_stops_a_command_and_keeps_what_it_printed(config: Path, tmp_path: Path) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        stage.chat.services.approver.permissions.mode = "all"
        await stage.send("!echo begun; sleep 300")
        with within(20):
            while "begun" not in stage.shown:
                await anyio.sleep(0.01)
        await stage.ask("waits")
        await stage.pilot.press("escape")
        await ended(stage)
        assert "■ stopped" in stage.screen_text
        # a shell may say in between that what it ran was ended
        assert re.search(r"begun\n(.*\n)?Stopped", stage.shown)
        assert stage.chat.composer.draft == "waits"
        assert "begun" in commands(stage)[0]


async def test_a_message_may_begin_with_an_exclamation_mark(config: Path, tmp_path: Path) -> None:
    async with staged(config, runtime(tmp_path)) as stage:
        await stage.ask("!!important")
        assert stage.client.prompts == ["!important"]
        await stage.ask("!!later")
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.chat.composer.draft == "!!later"
        stage.chat.composer.load_draft("")
        await stage.ask("!")
        assert "Type a command" in stage.screen_text


async def test_a_saved_chat_shows_its_commands_as_blocks(config: Path, tmp_path: Path) -> None:
    result = CommandResult("ls", "one\ntwo", "exited", 0, 0, 0.25, 120)
    failed = replace(result, command="false", output="", code=1)
    scripted = runtime(tmp_path)
    scripted.histories = {"c1": [command_message(one, tmp_path) for one in (result, failed)]}
    async with staged(config, scripted) as stage:
        await stage.controller.history.open("c1")
        await stage.settle()
        assert "$ ls" in stage.screen_text
        assert "✓ 0.2 s" in stage.screen_text
        assert "$ false" in stage.screen_text
        assert "Exit code 1." in stage.screen_text
        assert "I ran a command" not in stage.screen_text
        assert not stage.controller.editing.has_question
