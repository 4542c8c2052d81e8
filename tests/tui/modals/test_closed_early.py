"""A dialog that is closed before it is answered: the answer comes and ends nothing."""

from pathlib import Path

import pytest
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.tui.modals.filter_list import FilterList
from ollm_tui.tui.modals.pick_variant import PickVariant
from tests.support.screens import staged
from tests.tui.screens.size_scenes import SCENES, every_runtime


@pytest.mark.parametrize("scene", ["picker of models", "picker of chats", "palette", "links"])
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
        assert isinstance(dialog, PickVariant)
        await dialog.query("*").remove()
        await dialog._ask().wait()
        assert stage.app._exception is None


@pytest.mark.parametrize("key", ["ctrl+l", "ctrl+r", "ctrl+p"])
async def test_a_picker_opened_and_closed_at_once_ends_nothing(key: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        for _ in range(10):
            stage.app.simulate_key(key)
            stage.app.simulate_key("escape")
        await stage.settle()
        assert stage.app._exception is None
