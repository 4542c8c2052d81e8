"""The limit of turns and the tools that run, on the screen: keys, the dialog, the times."""

import os
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.client import ChatStream
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol.chat_events import Finish
from ollm_tui.shell.command import CommandSettings
from ollm_tui.shell.jobs import Job
from ollm_tui.tui.chat.tool_control import AtLimit, tool_times
from tests.tui.chat.test_tools import begun, call, ended
from tests.tui.screens import Stage, staged


async def at_limit(stage: Stage) -> None:
    await stage.ask("why?")
    stage.client.give(Finish(reason="max_turns", turn=10))
    await stage.settle()
    await stage.pilot.press("g")
    await stage.settle()
    assert isinstance(stage.app.screen, AtLimit)


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("g", ChatOptions()),
        ("enter", ChatOptions()),
        ("3", ChatOptions(max_turns=3)),
        ("w", ChatOptions(tools=(), wraps_up=True)),
        ("s", None),
        ("escape", None),
    ],
)
async def test_what_follows_the_limit_is_one_key(
    tmp_path: Path, key: str, options: ChatOptions | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await at_limit(stage)
        asked: list[ChatOptions | None] = []
        go_on = stage.client.go_on

        def record(options: ChatOptions, _signal: object) -> ChatStream:
            asked.append(options)
            return go_on()

        monkeypatch.setattr(stage.client, "go_on", record)
        await stage.pilot.press(key)
        await stage.settle()
        assert not isinstance(stage.app.screen, AtLimit)
        assert asked == ([] if options is None else [options])
        assert ("Stopped" in stage.shown) is (options is None)
        if options is None:
            await stage.pilot.press("g")
            assert stage.chat.composer.text == "g"


async def test_a_command_does_the_same(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("why?")
        stage.client.give(Finish(reason="max_turns", turn=10))
        await stage.settle()
        await stage.send("/continue 2")
        await stage.settle()
        assert stage.client.went_on == 1


async def test_a_tool_shows_its_time_and_x_cancels_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("why?")
        tools, now = stage.controller.presenter.tools, [100.0]
        tools.clock = lambda: now[0]
        one, two = call(1), call(2, "list_directory", "notes")
        stage.client.give(begun(one), begun(two))
        await stage.settle()
        now[0] = 107.0
        tools.show_times()
        await stage.settle()
        rows = [line.split() for line in stage.screen_text.split("\n") if "⚙" in line]
        assert [row[-3:] for row in rows] == [["…", "7", "s"]] * 2
        stage.controller.presenter.ask(is_open=True)
        now[0] = 120.0
        tools.show_times()
        await stage.settle()
        assert "20 s" not in stage.screen_text
        stage.controller.presenter.ask(is_open=False)
        now[0] = 107.0
        tools.answered_at = {"c1": 104.0}.get  # the time of a question is not the tool's
        tools.show_times()
        await stage.settle()
        assert "… 3 s" in stage.screen_text
        cancelled: list[str] = []

        def cancel(call_id: str) -> bool:
            cancelled.append(call_id)
            return True

        monkeypatch.setattr(stage.client, "cancel_call", cancel)
        await stage.pilot.press("alt+up", "alt+up")
        await stage.settle()
        assert "x cancel" in stage.screen_text
        await stage.pilot.press("x")
        await stage.settle()
        assert cancelled == ["c1"]
        await stage.pilot.press("down")
        await stage.settle()
        assert "x cancel" in stage.screen_text
        stage.client.give(ended(two, "there"))
        await stage.settle()
        assert "x cancel" not in stage.screen_text
        await stage.pilot.press("x")
        await stage.settle()
        assert "Only a tool that runs can be cancelled" in stage.screen_text
        assert cancelled == ["c1"]


async def has_ended(job: Job) -> None:
    with anyio.fail_after(10):
        while job.is_running:
            await anyio.sleep(0.02)


async def test_commands_in_the_background_are_counted_and_their_end_is_said(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("why?")
        jobs = stage.client.jobs
        place = CommandSettings(tmp_path, 30.0, environ={"PATH": os.environ["PATH"]})
        job = jobs.start("while [ ! -e go ]; do sleep 0.02; done; exit 3", place)
        times = tool_times(
            stage.controller.presenter, stage.controller.status, stage.controller._dialogs
        )
        running = times._say_ended({})
        await stage.settle()
        assert "jobs 1" in stage.screen_text
        (tmp_path / "go").touch()
        await has_ended(job)
        assert times._say_ended(running) == {}
        await stage.settle()
        assert "jobs 1" not in stage.screen_text
        assert "The command 1 in the background has ended. Exit code 3." in stage.shown


async def test_commands_in_the_background_end_with_their_chat(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        place = CommandSettings(tmp_path, 30.0, environ={"PATH": os.environ["PATH"]})
        job = stage.client.jobs.start("sleep 60", place)
        await stage.pilot.press("ctrl+n")
        await has_ended(job)
        assert job.words.startswith("Stopped")
