"""The settings screen: what it lists, how a setting is changed, and what is said of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, OptionList, TextArea

from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.settings_file import SettingsFile
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.settings.live import LiveSettings
from ollm_tui.tui.settings.screen import SettingsScreen
from ollm_tui.tui.theming import ThemeCatalog
from tests.tui.screens import within
from tests.tui.svg import SIZES, SvgSnapshot

TEXT = """\
# mine
theme = "dusk"

[ui]
mouse = false # for the train

[providers.work]
base_url = "https://llm.example.com/v1"
api_key = "sk-verysecret-123456789"
"""


class SettingsApp(App[None]):
    CSS_PATH = Path(__file__).parents[3] / "ollm_tui" / "tui" / "app.tcss"

    def __init__(self, file: SettingsFile) -> None:
        super().__init__()
        themes = ThemeCatalog()
        self.register_theme(themes.load("dusk"))
        self.theme = "dusk"
        self.readings: dict[str, object] = {}
        live = LiveSettings(
            self,
            themes,
            lambda _is_on: None,
            self.readings.__setitem__,
            self.use_keys,
            ("qwen3:8b", "Ollama"),
        )
        self.page = SettingsScreen(file, Keymap(), themes, live)

    def use_keys(self, overrides: Mapping[str, str]) -> None:
        self.used_keys = dict(overrides)

    def on_mount(self) -> None:
        self.push_screen(self.page)


@dataclass
class Stage:
    app: SettingsApp
    pilot: Pilot[None]
    config: Path

    @property
    def screen(self) -> Screen[object]:
        return self.app.screen

    @property
    def text(self) -> str:
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(line.text.rstrip() for line in lines)

    @property
    def written(self) -> str:
        return self.config.read_text("utf-8")

    async def settle(self) -> None:
        with within(30):
            while self.app.page.workers._workers and self.screen is self.app.page:
                await anyio.sleep(0.002)
        await self.pilot.pause()

    async def until(self, text: str) -> None:
        with within(30):
            while text not in self.text:
                await self.pilot.pause(0.002)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def mark(self, key: str) -> None:
        """Search for a setting, which is then the first row."""
        self.app.page.query_one(Input).value = key
        await self.settle()

    async def change(self, key: str, text: str) -> None:
        """Type a value for a setting and save it."""
        await self.mark(key)
        await self.press("enter")
        self.screen.query_one(TextArea).text = text
        await self.press("enter")


@asynccontextmanager
async def staged(
    folder: Path,
    text: str = TEXT,
    environ: Mapping[str, str] | None = None,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[Stage]:
    paths = AppPaths(*(folder / kind for kind in ("config", "data", "state", "cache")))
    paths.config_dir.mkdir(exist_ok=True)
    paths.config_file.write_text(text, "utf-8")
    paths.config_file.chmod(0o600)
    app = SettingsApp(SettingsFile(load_config(paths, environ or {}), paths))
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot, paths.config_file)
        await pilot.pause()
        await stage.settle()
        yield stage


async def test_it_lists_settings_with_values_and_origins(tmp_path: Path) -> None:
    environ = {"OLLM_UI__ANIMATIONS": "false"}
    async with staged(tmp_path, environ=environ, size=(80, 40)) as stage:
        lines = stage.text.splitlines()
        theme, mouse, animations = (
            next(line for line in lines if name in line)
            for name in ("  theme ", "  mouse ", "  animations ")
        )
        assert "dusk" in theme
        assert "file, line 2" in theme
        assert "false" in mouse
        assert "file, line 5" in mouse
        assert "OLLM_UI__ANIMA" in animations
        await stage.mark("ui.animations")
        assert "OLLM_UI__ANIMATIONS sets it and overrides the file." in stage.text


async def test_a_switch_is_turned_and_said(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.mark("ui.mouse")
        await stage.press("enter")
        assert "mouse = true # for the train" in stage.written
        assert "Saved ui.mouse" in stage.text
        assert "Acts from the next start." in stage.text
        await stage.press("ctrl+r")
        assert "mouse" not in stage.written
        assert "Reset ui.mouse" in stage.text
        await stage.press("ctrl+r")
        assert "The file does not set it." in stage.text


async def test_a_wrong_value_can_be_corrected(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.change("chat.max_turns", "1000")
        assert "must be at most 100" in stage.text
        assert stage.written == TEXT
        area = stage.screen.query_one(TextArea)
        assert area.text == "1000"
        area.text = "20"
        await stage.press("enter")
        assert "max_turns = 20" in stage.written


async def test_a_list_has_one_item_a_line(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.mark("options.stop")
        await stage.press("enter")
        await stage.pilot.press("a", "ctrl+j", "b")
        await stage.press("enter")
        assert 'stop = ["a", "b"]' in stage.written


async def test_a_choice_is_chosen_from_what_the_schema_takes(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.mark("How much models think in a new chat")
        await stage.press("enter")
        assert "medium" in stage.text
        await stage.press("down", "enter")
        assert 'thinking = "on"' in stage.written


async def test_a_theme_is_previewed_and_acts_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.mark("colour theme")
        assert "Acts at once." in stage.text
        await stage.press("enter")
        await stage.pilot.press("down")
        assert stage.app.theme == "ember"
        await stage.press("enter")
        assert 'theme = "ember"' in stage.written
        assert stage.app.theme == "ember"


async def test_a_key_is_never_on_the_screen(tmp_path: Path) -> None:
    async with staged(tmp_path, size=(120, 40)) as stage:
        await stage.mark("work.api_key")
        assert "api_key" in stage.text
        assert "sk-very" not in stage.text
        await stage.press("enter")
        assert "sk-very" not in stage.text
        await stage.pilot.press(*"new-key")
        assert "new-key" not in stage.text
        await stage.press("enter")
        assert 'api_key = "new-key"' in stage.written
        assert "new-key" not in stage.text


async def test_a_change_by_another_program_is_noticed_and_shown(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        stage.config.write_text('theme = "paper"\n', "utf-8")
        await stage.mark("ui.mouse")
        await stage.press("enter")
        assert "has changed" in stage.text
        assert stage.written == 'theme = "paper"\n'
        await stage.press("enter")
        assert "mouse = false" in stage.written


async def test_a_profile_is_added(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        listed = stage.app.page.query_one(OptionList)
        listed.highlighted = next(
            index for index, row in enumerate(listed.options) if row.id == "add profiles"
        )
        await stage.press("enter")
        await stage.pilot.press(*"coding")
        await stage.press("enter")
        assert "profiles.coding" in stage.text
        await stage.change("profiles.coding.model", "local://qwen3:8b")
        assert '[profiles.coding]\nmodel = "local://qwen3:8b"' in stage.written


async def test_tab_goes_from_section_to_section(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.press("tab")
        assert "ui.show_thinking ·" in stage.text
        await stage.press("tab", "shift+tab")
        assert "ui.show_thinking ·" in stage.text
        await stage.press("escape")
        assert stage.screen is not stage.app.page


async def test_a_file_with_a_mistake_says_so(tmp_path: Path) -> None:
    async with staged(tmp_path, "them = 1\n") as stage:
        assert "Unknown setting `them`." in stage.text


@pytest.mark.parametrize("size", SIZES)
async def test_settings_look(
    tmp_path: Path, size: tuple[int, int], svg_snapshot: SvgSnapshot
) -> None:
    async with staged(tmp_path, size=size) as stage:
        await stage.mark("screen")  # few, so that a new setting changes no picture
        svg_snapshot(stage.app)


async def test_editing_looks(tmp_path: Path, svg_snapshot: SvgSnapshot) -> None:
    async with staged(tmp_path) as stage:
        await stage.change("chat.max_turns", "1000")
        svg_snapshot(stage.app)


async def key_editor(stage: Stage, query: str) -> None:
    await stage.mark("keymap")
    await stage.pilot.press("enter")
    await stage.pilot.pause()
    stage.screen.query_one(Input).value = query
    await stage.pilot.pause()


async def test_a_key_is_changed_by_pressing_it(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await key_editor(stage, "chat.models")
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        assert "Now: Ctrl+L." in stage.text
        await stage.pilot.press("f4", "enter")
        await stage.until("Choose a model: F4")
        assert '"chat.models" = "f4"' in stage.written
        assert stage.app.used_keys == {"chat.models": "f4"}
        assert "yours" in stage.text
        await stage.pilot.press("ctrl+r")
        await stage.until("the default key.")
        assert "chat.models" not in stage.written
        assert stage.app.used_keys == {}


async def test_the_key_of_another_action_is_refused_with_its_name(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await key_editor(stage, "chat.models")
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        await stage.pilot.press("ctrl+n")
        await stage.pilot.pause()
        assert "Ctrl+N has an action already: New chat" in stage.text
        assert stage.written == TEXT
        await stage.pilot.press("x")
        await stage.pilot.pause()
        assert "it could no longer be typed" in stage.text
        await stage.pilot.press("f11")
        await stage.pilot.pause()
        assert "the full screen" in stage.text


async def test_all_keys_are_reset_and_comments_stay(tmp_path: Path) -> None:
    text = '# mine\n[keymap]\n# far\n"chat.models" = "f4"\nchat.new = "f12"\n'
    async with staged(tmp_path, text) as stage:
        await key_editor(stage, "")
        listed = stage.screen.query_one(OptionList)
        listed.highlighted = listed.option_count - 1
        await stage.pilot.press("enter")
        await stage.until("Reset all keys.")
        assert "f4" not in stage.written
        assert "f12" not in stage.written
        assert "# far" in stage.written


async def test_the_key_editor_looks(tmp_path: Path, svg_snapshot: SvgSnapshot) -> None:
    async with staged(tmp_path) as stage:
        await key_editor(stage, "model")
        svg_snapshot(stage.app)
