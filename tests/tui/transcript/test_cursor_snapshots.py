"""How the chat looks while somebody goes through it by keys."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from ollm_tui.tui.dialogs.questions import SaveCopyDialog
from tests.tui.chat.test_snapshots import ANSWER
from tests.tui.screens import Stage, staged
from tests.tui.scripted import finish, text
from tests.tui.svg import SIZES, SvgSnapshot

sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


async def message(stage: Stage) -> None:
    await stage.pilot.press("alt+up", "up")


async def code(stage: Stage) -> None:
    await stage.pilot.press("alt+up", "tab")


async def caret(stage: Stage) -> None:
    await stage.pilot.press("alt+up", "v", "ctrl+right", "ctrl+right")
    await stage.pilot.press("shift+down", "shift+down", "shift+down", "ctrl+shift+right")


async def editing(stage: Stage) -> None:
    await stage.pilot.press("alt+up", "home", "e")


async def too_large(stage: Stage) -> None:
    await stage.ask("And all of it?")
    stage.client.give(text("word " * 20_000, "long"), finish())
    await stage.settle()
    await stage.pilot.press("alt+up", "c")
    await stage.settle()
    question = stage.app.screen
    assert isinstance(question, SaveCopyDialog)
    question._arming._armed_at = 0.0
    question._say_when_armed()


STATES: Mapping[str, Callable[[Stage], Awaitable[None]]] = {
    "message": message,
    "code": code,
    "caret": caret,
    "editing": editing,
    "too large": too_large,
}


@sizes
@pytest.mark.parametrize("state", STATES)
async def test_going_through_the_chat_looks_as_drawn(
    state: str, size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    config, copies = tmp_path / "config.toml", Path("/home/sky/.local/share/ollm/copies")
    async with staged(config, size=size, copies_dir=copies) as stage:
        await stage.ask("Why is the sky blue?")
        stage.client.give(text(ANSWER), finish())
        await stage.settle()
        await STATES[state](stage)
        await stage.settle()
        await stage.settle()
        svg_snapshot(stage.app)


@pytest.mark.parametrize("theme", ["paper", "terminal"])
async def test_the_cursor_looks_as_drawn_in_other_themes(
    theme: str, svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", theme=theme) as stage:
        await stage.ask("Why is the sky blue?")
        stage.client.give(text(ANSWER), finish())
        await stage.settle()
        await code(stage)
        await stage.settle()
        svg_snapshot(stage.app)
