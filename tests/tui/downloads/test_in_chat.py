"""Downloads as the chat tells of them: in the status line, and when one has ended."""

from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.library.downloads.job import Job, JobError, ProviderPull
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.downloads import progress
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime
from tests.tui.scripted_fetching import Pauses, ScriptedDownloads, no_pause

HERE = Listing(
    provider="local",
    label="Ollama",
    models=(ModelInfo(name="qwen3:8b"), ModelInfo(name="gemma3:12b")),
)
PULL = Job(
    id="1",
    origin=ProviderPull(provider="local", model="gemma3:12b"),
    title="gemma3:12b",
    state="running",
    completed=1_000_000_000,
    total=8_000_000_000,
)
DONE = replace(PULL, state="done", completed=8_000_000_000, model="local://gemma3:12b")
FAILED = replace(
    PULL,
    state="failed",
    error=JobError(message="pull model manifest:\x1b[2J file does not exist", hint="Look again."),
)


def runtime(*jobs: Job) -> ScriptedRuntime:
    return ScriptedRuntime(catalog=ScriptedCatalog(HERE), downloads=ScriptedDownloads(*jobs))


def status_of(stage: Stage) -> str:
    return stage.screen_text.splitlines()[-1]


def at_once(stage: Stage) -> None:
    stage.controller.downloads.sleep = no_pause


async def test_the_status_line_says_how_far_it_is_until_it_has_ended(tmp_path: Path) -> None:
    running = runtime(PULL)
    async with staged(tmp_path / "config.toml", running) as stage:
        at_once(stage)
        assert "↓ 12 %" in status_of(stage)
        running.downloads.put(replace(PULL, completed=4_000_000_000))
        await stage.settle()
        assert "↓ 50 %" in status_of(stage)
        running.downloads.put(DONE)
        await stage.settle()
        assert "↓" not in status_of(stage)


async def test_it_goes_on_beside_an_answer(tmp_path: Path) -> None:
    running = runtime(PULL)
    async with staged(tmp_path / "config.toml", running, size=(120, 40)) as stage:
        at_once(stage)
        await stage.ask("Why is the sky blue?")
        running.downloads.put(replace(PULL, completed=6_000_000_000))
        await stage.settle()
        assert "↓ 75 %" in status_of(stage)
        stage.client.answer("Because.")
        running.downloads.put(DONE)
        await stage.settle()
        assert "Downloaded gemma3:12b on local, 8.0 GB." in stage.shown
        assert "Because." in stage.shown


async def test_a_finished_one_says_how_it_is_used_and_can_be_at_once(tmp_path: Path) -> None:
    running = runtime(PULL)
    async with staged(tmp_path / "config.toml", running, size=(120, 40)) as stage:
        at_once(stage)
        running.downloads.put(DONE)
        await stage.settle()
        assert "/model local://gemma3:12b to chat with it." in stage.screen_text
        await stage.ask("/model local://gemma3:12b")
        assert stage.client.conversation.model == "local://gemma3:12b"


async def test_one_taken_from_the_list_comes_without_a_hint_how_to_use_it(tmp_path: Path) -> None:
    running = runtime(PULL)
    async with staged(tmp_path / "config.toml", running, size=(120, 40)) as stage:
        at_once(stage)
        await stage.ask("/pull")
        running.downloads.put(DONE)
        await stage.settle()
        await stage.pilot.press("tab", "enter")
        await stage.settle()
        assert "Now using gemma3:12b." in stage.screen_text
        assert "Downloaded gemma3:12b on local, 8.0 GB." in stage.screen_text
        assert "chats with it" not in stage.screen_text


async def test_a_failed_one_says_why_and_what_to_do(tmp_path: Path) -> None:
    running = runtime(PULL)
    async with staged(tmp_path / "config.toml", running, size=(120, 40)) as stage:
        at_once(stage)
        running.downloads.put(FAILED)
        await stage.settle()
        shown = stage.screen_text
        assert "gemma3:12b on local could not be downloaded." in shown
        assert "pull model manifest:␛[2J file does not exist" in shown
        assert "Look again. /pull shows the details." in shown


async def test_what_had_ended_before_is_not_reported(tmp_path: Path) -> None:
    other = replace(PULL, id="2")
    running = runtime(DONE, replace(FAILED, id="3"), other)
    async with staged(tmp_path / "config.toml", running) as stage:
        at_once(stage)
        running.downloads.put(replace(other, completed=5_000_000_000))
        await stage.settle()
        assert "Downloaded" not in stage.shown
        assert "could not be downloaded" not in stage.shown


async def test_one_that_came_unseen_is_reported_if_it_ended_since_the_start(tmp_path: Path) -> None:
    running = runtime(replace(DONE, id="old", title="old", changed_at=1.0))
    async with staged(tmp_path / "config.toml", running) as stage:
        at_once(stage)
        running.downloads.put(replace(DONE, changed_at=4e9))
        await stage.settle()
        assert "Downloaded gemma3:12b on local" in stage.shown
        assert "old" not in stage.shown


async def test_nothing_is_watched_at_rest_and_something_is_after_a_look_at_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    running = runtime(replace(PULL, state="paused"))
    async with staged(tmp_path / "config.toml", running) as stage:
        at_once(stage)
        assert running.downloads.readers == 0
        await stage.ask("/pull")
        running.downloads.put(PULL)
        await stage.pilot.press("escape")
        await stage.settle()
        assert running.downloads.readers == 1
        assert "↓ 12 %" in status_of(stage)
        running.downloads.put(DONE)
        await stage.settle()
        assert "Downloaded" in stage.shown
        assert running.downloads.readers == 0


async def test_what_another_program_fetches_is_its_own_business(tmp_path: Path) -> None:
    running = runtime(replace(PULL, is_elsewhere=True))
    async with staged(tmp_path / "config.toml", running) as stage:
        at_once(stage)
        assert "↓" not in status_of(stage)
        running.downloads.put(replace(DONE, is_elsewhere=True))
        await stage.settle()
        assert "Downloaded" not in stage.shown


async def test_the_figure_is_drawn_at_most_twice_a_second(tmp_path: Path) -> None:
    running, pauses = runtime(PULL), Pauses()
    async with staged(tmp_path / "config.toml", running) as stage:
        stage.controller.downloads.sleep = pauses
        for completed in (2, 3, 4):
            running.downloads.put(replace(PULL, completed=completed * 1_000_000_000))
            await stage.settle()
        assert pauses.begun == [0.5]
        assert "↓ 25 %" in status_of(stage)
        pauses.end()
        await stage.settle()
        assert "↓ 50 %" in status_of(stage)


async def test_a_model_that_came_for_this_chat_is_looked_up_anew(tmp_path: Path) -> None:
    running = runtime(DONE)
    async with staged(tmp_path / "config.toml", running) as stage:
        stage.controller.downloads.came_back(ModelRef("local", "gemma3:12b"))
        await stage.settle()
        assert stage.client.conversation.model == "local://gemma3:12b"
        assert "Now using gemma3:12b." in stage.shown
