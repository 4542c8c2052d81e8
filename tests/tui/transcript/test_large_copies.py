"""Copies that are large, or that no clipboard takes."""

import time
from pathlib import Path

import anyio
import pytest
from textual import events

from ollm_tui.tui.dialogs.questions import SaveCopyDialog
from tests.tui.screens import Stage, staged
from tests.tui.scripted import finish, text
from tests.tui.transcript.reading import press


async def answer(stage: Stage, letter: str, after_s: float = 10) -> None:
    """Press a key long after the dialog was drawn, or, with 0, before."""
    event = events.Key(letter, letter if len(letter) == 1 else None)
    event.time = time.monotonic() + after_s if after_s else 0.0
    stage.app.post_message(event)
    await stage.settle()


async def test_a_copy_that_no_clipboard_takes_is_offered_as_a_file(
    config: Path, tmp_path: Path
) -> None:
    copies = tmp_path / "copies"
    async with staged(config, copies_dir=copies) as stage:
        await stage.ask("long?")
        long = "\n\n".join(f"paragraph {number}" for number in range(8000))
        stage.client.give(text(long), finish())
        await stage.settle()
        await press(stage, "alt+up", "c")
        assert isinstance(stage.app.screen, SaveCopyDialog)
        assert "15,999 lines" in stage.screen_text
        await press(stage, "escape")
        assert not copies.exists()
        assert stage.app.clipboard == ""
        await press(stage, "c")
        await answer(stage, "y")
        with anyio.fail_after(5):
            while "Saved the copy to" not in stage.shown:
                await stage.settle()
        (file,) = copies.iterdir()
        assert file.read_text("utf-8") == long
        assert file.name in stage.shown
        assert stage.chat.focused is stage.chat.transcript


async def test_keys_on_their_way_to_the_input_write_no_file(config: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    async with staged(config, copies_dir=copies) as stage:
        await stage.ask("long?")
        stage.client.give(text("word " * 40_000), finish())
        await stage.settle()
        await press(stage, "alt+up", "c")
        await answer(stage, "y", after_s=0)
        await answer(stage, "enter", after_s=0)
        assert isinstance(stage.app.screen, SaveCopyDialog)
        await answer(stage, "enter")
        assert isinstance(stage.app.screen, SaveCopyDialog)
        await answer(stage, "escape")
        assert not isinstance(stage.app.screen, SaveCopyDialog)
        assert not copies.exists()


async def test_a_copy_that_cannot_be_written_is_reported(config: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "copies"
    in_the_way.write_text("a file")
    async with staged(config, copies_dir=in_the_way) as stage:
        await stage.ask("long?")
        stage.client.give(text("word " * 40_000), finish())
        await stage.settle()
        await press(stage, "alt+up", "c")
        await answer(stage, "y")
        with anyio.fail_after(5):
            while "The copy could not be written" not in stage.shown:
                await stage.settle()
        assert in_the_way.read_text() == "a file"


@pytest.mark.slow
async def test_a_large_selection_is_collected_whole_while_keys_are_answered(
    config: Path, tmp_path: Path
) -> None:
    async with staged(config, copies_dir=tmp_path / "copies") as stage:
        view = stage.chat.transcript
        for number in range(300):
            view.add_answer(f"w{number}")
            view.append(f"w{number}", "\n\n".join(f"**line** {line}" for line in range(40)))
            view.finish(f"w{number}")
        await stage.settle()
        await stage.pilot.press("alt+up", "v", "a", "c")
        stage.controller.start_new()
        with anyio.fail_after(20):
            while not isinstance(stage.app.screen, SaveCopyDialog):
                await stage.pilot.pause()
        await answer(stage, "y")
        with anyio.fail_after(5):
            while "Saved the copy to" not in stage.shown:
                await stage.settle()
        (file,) = (tmp_path / "copies").iterdir()
        assert file.read_text("utf-8").count("line 39") == 300
