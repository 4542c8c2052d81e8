"""Downloads at the foot of the list of models, and the way from there to what finds more."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from ollm_tui.library.downloads.job import Job
from ollm_tui.tui.downloads.find_screen import FindModels
from ollm_tui.tui.models.screen import ModelsScreen
from tests.tui.downloads.test_find_screen import PULL
from tests.tui.models.scenes import opened, runtime
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_fetching import ScriptedDownloads, no_pause
from tests.tui.svg import SIZES, SvgSnapshot

DONE = replace(
    PULL, id="2", state="done", title="llava:13b", completed=8_000_000_000,
    total=8_000_000_000, model="local://llava:13b",
)  # fmt: skip


def everything(*jobs: Job) -> ScriptedRuntime:
    return replace(runtime(), downloads=ScriptedDownloads(*jobs))


async def test_they_stand_below_the_list_and_have_keys_of_their_own(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything(PULL)) as stage:
        await opened(stage)
        assert "1.8 of 8.1 GB" in stage.screen_text
        await stage.pilot.press("tab", "p")
        await stage.settle()
        assert stage.runtime.downloads.done == [("pause", "1")]
        await stage.pilot.press("escape")
        await stage.settle()
        assert [type(one) for one in stage.app.screen_stack[1:]] == [ModelsScreen]
        await stage.pilot.press("escape")
        await stage.settle()
        assert len(stage.app.screen_stack) == 1


async def test_without_any_the_key_says_so(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything()) as stage:
        await opened(stage)
        await stage.pilot.press("tab")
        await stage.settle()
        assert "No recent downloads." in stage.screen_text


async def test_a_model_that_has_come_is_asked_for_and_can_be_chatted_with(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything(PULL)) as stage:
        await opened(stage)
        screen = stage.app.screen
        assert isinstance(screen, ModelsScreen)
        asked = []
        screen._load_lists = lambda **_how: asked.append(1)  # type: ignore[method-assign,assignment]
        stage.runtime.downloads.put(DONE)
        await stage.settle()
        assert asked == [1]
        await stage.pilot.press("tab", "down", "enter")
        await stage.settle()
        assert stage.client.conversation.model == "local://llava:13b"


async def test_more_models_are_found_from_the_list(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything()) as stage:
        await opened(stage)
        await stage.pilot.press("ctrl+f")
        await stage.settle()
        page = stage.app.screen
        assert isinstance(page, FindModels)
        page._sleep = no_pause
        await stage.type("qwen3:4b")
        await stage.settle()
        await stage.pilot.press("enter", "escape")
        await stage.settle()
        assert isinstance(stage.app.screen, ModelsScreen)
        assert "queued" in stage.screen_text
        assert [job.title for job in stage.runtime.downloads.jobs()] == ["qwen3:4b"]


async def test_a_model_chosen_there_is_the_chats(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything(DONE)) as stage:
        await opened(stage)
        await stage.pilot.press("ctrl+f")
        await stage.settle()
        await stage.pilot.press("tab", "enter")
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert stage.client.conversation.model == "local://llava:13b"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", everything(PULL, DONE), size=size) as stage:
        await opened(stage)
        await stage.settle()
        svg_snapshot(stage.app)


async def test_what_is_not_here_is_looked_for_by_the_same_words(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything()) as stage:
        await opened(stage)
        await stage.pilot.press(*"zephyr")
        await stage.settle()
        assert "Ctrl+F searches for models to download." in stage.screen_text
        await stage.pilot.press("ctrl+f")
        await stage.settle()
        page = stage.app.screen
        assert isinstance(page, FindModels)
        assert page.query_one(Input).value == "zephyr"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["ChatHeader", "#filter", "ModelTable", "ModelFacts", "KeyLine"])
async def test_what_comes_while_it_closes_is_let_go(part: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", everything(PULL)) as stage:
        await opened(stage)
        page = stage.app.screen
        assert isinstance(page, ModelsScreen)
        await page.query_one(part).remove()
        page.action_refresh_lists()
        page.work_changed(None)
        stage.runtime.downloads.put(replace(DONE, id="1"))
        await stage.settle()
        page.dismiss(None)
        await stage.settle()
        assert stage.app.screen is stage.chat


async def test_a_low_screen_with_many_downloads_still_shows_models(tmp_path: Path) -> None:
    jobs = [replace(PULL, id=str(number), title=f"m{number}") for number in range(9)]
    async with staged(tmp_path / "config.toml", everything(*jobs), size=(60, 16)) as stage:
        await opened(stage)
        for name in ("qwen3:8b", "llava:13b", "nomic-embed-text", "llama3.3"):
            assert name in stage.screen_text
        assert "does not answer" in stage.screen_text
