"""Models, themes and commands: chosen from lists over the chat."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.dialogs.help import Help
from ollm_tui.tui.dialogs.palette import Palette, PaletteEntry
from ollm_tui.tui.models.picker import ModelPicker
from ollm_tui.tui.theming.pick_dialog import ThemePicker
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime


def two_models(*recents: str) -> ScriptedRuntime:
    models = (ModelInfo(name="qwen3:8b", context=32768), ModelInfo(name="gemma3"))
    listing = Listing(provider="local", label="Ollama", models=models)
    return ScriptedRuntime(catalog=ScriptedCatalog(listing), recents=recents)


async def test_the_picker_chooses_the_model_that_answers(config: Path) -> None:
    async with staged(config, two_models()) as stage:
        await stage.pilot.press("ctrl+l")
        await stage.settle()
        assert isinstance(stage.app.screen, ModelPicker)
        await stage.type("gem")
        await stage.pilot.press("enter")
        await stage.settle()
        assert len(stage.app.screen_stack) == 1
        assert stage.client.conversation.model == "local://gemma3"
        assert stage.runtime.recent_models() == ("local://gemma3",)
        assert "gemma3 · local" in stage.screen_text


async def test_recent_models_go_round(config: Path) -> None:
    runtime = two_models("local://qwen3:8b", "local://gemma3")
    async with staged(config, runtime) as stage:
        await stage.pilot.press("f2")
        await stage.settle()
        assert stage.client.conversation.model == "local://gemma3"


@pytest.mark.parametrize(
    ("key", "dialog"), [("f1", Help), ("question_mark", Help), ("ctrl+p", Palette)]
)
async def test_dialogs_open_and_escape_closes_them(
    config: Path, key: str, dialog: type[object]
) -> None:
    async with staged(config) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        assert isinstance(stage.app.screen, dialog)
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert stage.chat.composer.has_focus


async def test_a_question_mark_after_text_is_a_letter(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("why?")
        assert stage.chat.composer.value == "why?"


async def test_a_theme_is_put_on_and_remembered(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/theme paper")
        assert stage.app.theme == "paper"
        with anyio.fail_after(5):
            while not config.exists():
                await stage.pilot.pause(0.005)
        assert 'theme = "paper"' in config.read_text("utf-8")


async def test_the_theme_list_shows_a_theme_and_takes_it_back(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/theme")
        assert isinstance(stage.app.screen, ThemePicker)
        await stage.pilot.press("down")
        await stage.settle()
        assert stage.app.theme == "ember"
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.theme == "dusk"
        assert not config.exists()


async def test_the_palette_runs_a_command(config: Path) -> None:
    async with staged(config) as stage:
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        await stage.type("quit")
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.app.return_code == 0


async def test_the_palette_keeps_its_mark_when_the_window_changes(config: Path) -> None:
    async with staged(config, size=(80, 24)) as stage:
        await stage.pilot.press("ctrl+p", "down", "down")
        await stage.settle()
        palette = stage.app.screen
        assert isinstance(palette, Palette)
        marked = palette.marked
        await stage.pilot.resize_terminal(70, 20)
        await stage.settle()
        assert palette.marked == marked
        await stage.type("q")
        await stage.settle()
        assert palette.marked != marked


async def test_the_palette_lists_two_commands_with_the_same_help(config: Path) -> None:
    one, other = PaletteEntry("Draw a chart", "/draw"), PaletteEntry("Draw a chart", "/chart")
    answers: list[PaletteEntry | None] = []
    async with staged(config) as stage:
        stage.app.push_screen(Palette([one, other]), answers.append)
        await stage.settle()
        await stage.pilot.press("down", "enter")
        await stage.settle()
    assert answers == [other]


async def test_commands_complete_while_they_are_typed(config: Path) -> None:
    async with staged(config) as stage:
        await stage.type("/th")
        await stage.settle()
        assert "Choose the colours" in stage.screen_text
        await stage.pilot.press("escape")
        await stage.settle()
        assert "Choose the colours" not in stage.screen_text
        assert stage.chat.composer.value == "/th"


@pytest.mark.parametrize("key", ["ctrl+l", "ctrl+p", "f1"])
async def test_a_dialog_on_a_low_screen_spends_its_rows_on_the_list(config: Path, key: str) -> None:
    async with staged(config, two_models(), size=(40, 15)) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        listed = stage.app.screen.query("OptionList, VerticalScroll").first()
        assert listed.size.height >= 8


async def test_help_on_a_narrow_screen_keeps_the_names_of_keys_whole(config: Path) -> None:
    async with staged(config, size=(40, 24)) as stage:
        await stage.pilot.press("f1")
        await stage.settle()
        assert "Ctrl+J, Shift+Enter" in stage.screen_text
