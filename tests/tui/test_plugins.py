"""Commands and themes of installed packages, on the screen."""

import sys
from pathlib import Path

import pytest

from ollm_tui.commands.registry import Completion
from ollm_tui.config.plugins import Plugin
from ollm_tui.tui.theming.themes import ThemeCatalog, ThemeProblem, bundled_folder
from tests.support.plugins import BROKEN, BROKEN_GROUPS, GOOD, GOOD_GROUPS, installed
from tests.tui.screens import staged_for_real

NO_SERVER = {"OLLAMA_HOST": "http://127.0.0.1:9"}


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    installed(monkeypatch, tmp_path / "site", "ollm-good", GOOD, GOOD_GROUPS)
    monkeypatch.delitem(sys.modules, "ollm_good", raising=False)
    return tmp_path / "site" / "ollm_good"


async def test_a_command_runs_and_its_failure_is_a_note(good: Path, tmp_path: Path) -> None:
    async with staged_for_real(tmp_path, NO_SERVER) as stage:
        await stage.send("/hello Anna")
        await stage.until("Hello, Anna!")
        await stage.send("/hello nobody")
        await stage.until("/hello failed (KeyError). The log has the details.")
        suggestions = stage.controller.suggest("/hell")
        assert suggestions is not None
        assert suggestions.items[0] == Completion("/hello", "Greet somebody.", takes_more=True)


async def test_a_broken_package_is_a_warning_and_all_else_works(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = {"commands": BROKEN_GROUPS["commands"]}
    installed(monkeypatch, tmp_path / "site", "ollm-broken", BROKEN, groups)
    monkeypatch.delitem(sys.modules, "ollm_broken", raising=False)
    async with staged_for_real(tmp_path, NO_SERVER) as stage:
        await stage.until("The plugin ollm-broken 1.0 could not be loaded (RuntimeError)")
        await stage.send("/hello Anna")
        await stage.until("Hello, Anna!")


def test_a_theme_is_a_file_of_the_package_which_is_not_imported(good: Path) -> None:
    catalog = ThemeCatalog()
    assert "nord" in catalog.names()
    assert catalog.load("nord").primary == "#88c0d0"
    assert "ollm_good" not in sys.modules


def test_a_theme_of_a_plugin_replaces_none(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theme = (good / "nord.toml").read_text("utf-8")
    (good / "dusk.toml").write_text(theme, "utf-8")
    installed(
        monkeypatch, good.parent.parent / "more", "ollm-more", {}, {"themes": {"dusk": "ollm_good"}}
    )
    assert ThemeCatalog().load("dusk").primary != "#88c0d0"


def test_plugins_are_looked_for_only_for_a_name_that_no_folder_has(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def look(group: str) -> tuple[Plugin, ...]:
        looks.append(group)
        return ()

    monkeypatch.setattr("ollm_tui.config.plugins.find_plugins", look)
    catalog = ThemeCatalog((bundled_folder(),))
    catalog.load("paper")
    assert looks == []
    with pytest.raises(ThemeProblem):
        catalog.load("nord")
    with pytest.raises(ThemeProblem):
        catalog.load("nord")
    assert looks == ["themes"], "once"


def test_a_theme_that_is_missing_from_its_package_is_reported(good: Path) -> None:
    (good / "nord.toml").unlink()
    with pytest.raises(ThemeProblem, match=r"nord\.toml"):
        ThemeCatalog().load("nord")
