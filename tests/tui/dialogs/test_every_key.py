"""Every key in every dialog: it does something, or it is said that it does nothing."""

from pathlib import Path

import pytest
from textual import events
from textual.containers import Vertical
from textual.content import Content

from ollm_tui.tui.dialogs.armed import ArmedDialog
from ollm_tui.tui.dialogs.dialog import Dialog
from tests.tui.screens import Stage, staged
from tests.tui.size_scenes import SCENES, every_runtime

LISTS = [
    *("picker of models", "links", "palette", "help", "theme"),
    *("actions of a model", "choice of a file", "choice", "second name"),
]
QUESTIONS = ["approval", "context", "link", "delete", "leave out pictures", "save a copy"]
KEYS = [
    *((letter, letter) for letter in "xzpvXZ1[日"),
    *((key, None) for key in ("f7", "f12", "insert", "ctrl+y", "alt+x")),
]


def remark(dialog: Dialog[object]) -> str:
    written = dialog.query(Vertical).first()._border_subtitle
    return written.plain if isinstance(written, Content) else ""


async def effect(stage: Stage, dialog: Dialog[object], key: str, character: str | None) -> str:
    """Press a key and give what a person sees of it; nothing is an empty text."""
    dialog._take_remark_away()
    before = stage.screen_text
    stage.app.post_message(events.Key(key, character))
    await stage.pilot.pause()
    await stage.pilot.pause()
    if remark(dialog):
        return remark(dialog)
    return "other rows" if stage.screen_text != before else ""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("scene", LISTS)
async def test_every_key_does_something_or_is_reported_to_do_nothing(
    scene: str, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES[scene](stage)
        dialog = stage.app.screen
        assert isinstance(dialog, Dialog)
        for key, character in KEYS:
            assert await effect(stage, dialog, key, character), key
            assert stage.app.screen is dialog


@pytest.mark.slow
@pytest.mark.parametrize("scene", QUESTIONS)
async def test_a_question_says_at_any_time_which_letters_count(scene: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime(), size=(100, 40)) as stage:
        await SCENES[scene](stage)
        dialog = stage.app.screen
        assert isinstance(dialog, ArmedDialog)
        for key, character in KEYS:
            stage.app.post_message(events.Key(key, character))
            await stage.pilot.pause()
            assert "Waiting for you to stop typing" in stage.screen_text
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await stage.settle()
        assert "or Esc" in stage.screen_text


async def test_a_yes_that_does_not_count_yet_says_when_it_will(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime(), size=(60, 16)) as stage:
        await SCENES["approval"](stage)
        dialog = stage.app.screen
        assert isinstance(dialog, ArmedDialog)
        dialog._arming._armed_at = 0.0
        assert not dialog.is_read
        assert await effect(stage, dialog, "y", "y") == "y works once all rows were shown"


async def test_foreign_characters_are_spelled_out_and_the_remark_goes(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES["choice"](stage)
        dialog = stage.app.screen
        assert isinstance(dialog, Dialog)
        assert await effect(stage, dialog, "x", "x") == "x does nothing here"
        assert "x does nothing here" in stage.screen_text
        assert "Enter load" in stage.screen_text
        assert await effect(stage, dialog, "f5", None) == "F5 does nothing here"
        dialog._take_remark_away()
        await stage.pilot.pause()
        assert "does nothing" not in stage.screen_text
