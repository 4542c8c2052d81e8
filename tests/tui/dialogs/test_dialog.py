"""A dialog that was closed leaves nothing behind."""

import gc
from pathlib import Path

import pytest
from textual._styles_cache import StylesCache

from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_chats import NOW_MS, ScriptedChats, saved_chat


async def open_and_close(stage: Stage, key: str) -> None:
    await stage.pilot.press(key)
    await stage.settle()
    assert len(stage.app.screen_stack) == 2
    await stage.pilot.press("escape")
    await stage.settle()
    assert len(stage.app.screen_stack) == 1


def drawn_widgets() -> int:
    gc.collect()
    return sum(isinstance(held, StylesCache) for held in gc.get_objects())


@pytest.mark.slow
@pytest.mark.parametrize("key", ["ctrl+r", "ctrl+l", "ctrl+p", "f1"])
async def test_the_lines_of_closed_dialogs_are_not_kept(tmp_path: Path, key: str) -> None:
    saved = [saved_chat(f"{number}", f"Chat {number}", NOW_MS, 2) for number in range(20)]
    runtime = ScriptedRuntime(chats=ScriptedChats(saved), histories={})
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await open_and_close(stage, key)
        before = drawn_widgets()
        for _ in range(3):
            await open_and_close(stage, key)
        for _ in range(20):  # what was closed last may still be drawn on a busy machine
            if drawn_widgets() <= before:
                break
            await stage.settle()
        assert drawn_widgets() <= before
