"""A dialog that is closed before it is answered: the answer comes and ends nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.tui.chat.compacting.context import ContextFull
from ollm_tui.tui.chat.media_consent import LeaveOutMedia
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.filter_list import FilterList
from ollm_tui.tui.dialogs.questions import ChoiceDialog, ChoiceRow
from ollm_tui.tui.downloads.variant_picker import VariantPicker
from tests.tui.screens import staged
from tests.tui.scripted_chats import FIGURES
from tests.tui.size_scenes import CALL, SCENES, every_runtime


@pytest.mark.parametrize("scene", ["picker of models", "palette", "links"])
async def test_a_list_without_its_parts_takes_what_comes_late(scene: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES[scene](stage)
        dialog = stage.app.screen
        assert isinstance(dialog, FilterList)
        assert dialog.has_its_parts
        await dialog.query("*").remove()
        dialog.fill([Option("late", id="late")], mark="late")
        dialog.say("late")
        assert (dialog.marked, dialog.query_text) == (None, "")
        assert not dialog.query(OptionList)
        assert not dialog.query(Static)


async def test_the_choice_of_a_file_without_its_parts_takes_what_comes_late(
    tmp_path: Path,
) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES["choice of a file"](stage)
        dialog = stage.app.screen
        assert isinstance(dialog, VariantPicker)
        await dialog.query("*").remove()
        await dialog._ask().wait()
        assert stage.app._exception is None


@pytest.mark.slow
@pytest.mark.parametrize("key", ["ctrl+l", "ctrl+r", "ctrl+p"])
async def test_a_picker_opened_and_closed_at_once_ends_nothing(key: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        for _ in range(10):
            stage.app.simulate_key(key)
            stage.app.simulate_key("escape")
        await stage.settle()
        assert stage.app._exception is None


COVERED = ["context", "palette", "picker of models", "details", "link", "approval"]


def pressed(key: str) -> events.Key:
    return events.Key(key, "\r" if key == "enter" else None)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("scene", COVERED)
@pytest.mark.parametrize("key", ["escape", "enter"])
async def test_a_key_for_a_dialog_answers_no_question_that_opens_over_it(
    scene: str, key: str, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES[scene](stage)
        question = ApproveTool(CALL, "write")
        stage.app.post_message(pressed(key))
        stage.app.call_next(stage.app.push_screen, question)
        await stage.settle()
        assert stage.app.screen_stack[-1] is question
        assert not question._decided.is_set()
        question.refuse()
        await stage.settle()
        if key == "escape":
            assert stage.app.screen is stage.chat


@pytest.mark.parametrize("make", [lambda: ApproveTool(CALL, "write"), lambda: ContextFull(FIGURES)])
async def test_a_key_pressed_many_times_at_once_closes_one_dialog(
    make: Callable[[], ApproveTool | ContextFull], tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        below = ChoiceDialog("How long?", [ChoiceRow("a", "A while")], "Enter load")
        stage.app.push_screen(below)
        await stage.settle()
        dialog = make()
        stage.app.push_screen(dialog)
        await stage.settle()
        for _ in range(3):
            dialog.post_message(pressed("escape"))
        await stage.settle()
        assert stage.app.screen is below


async def test_what_is_withdrawn_below_another_dialog_goes_with_it(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        question = ApproveTool(CALL, "write")
        stage.app.push_screen(question)
        await stage.settle()
        stage.app.push_screen(LeaveOutMedia("qwen3:8b", 2, {"image"}))
        await stage.settle()
        question.refuse()
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.screen is stage.chat
