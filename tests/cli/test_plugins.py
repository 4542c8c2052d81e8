"""Installed packages, as a person meets them on the command line."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Ollm, environment
from tests.support.isolation import ROOT, guarded_path
from tests.support.plugins import BROKEN, BROKEN_GROUPS, GOOD, GOOD_GROUPS, write_package

SETTINGS = 'theme = "nord"\n[providers.mine]\nkind = "echo"\n[providers.bad]\nkind = "broken"\n'
WHY = "The plugin ollm-broken 1.0 could not be loaded (RuntimeError). "


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    """A home with two installed packages and settings that name them."""
    site, folder = tmp_path / "site", tmp_path / "config" / "ollm"
    write_package(site, "ollm-good", GOOD, GOOD_GROUPS)
    write_package(site, "ollm-broken", BROKEN, BROKEN_GROUPS)
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(SETTINGS)
    places = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "DATA")}
    return {
        **places,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "OLLAMA_HOST": "127.0.0.1:9",
        "PYTHONPATH": guarded_path(ROOT, site),
    }


def test_a_prompt_is_answered_by_the_provider_of_a_plugin(
    ollm: Ollm, home: Mapping[str, str]
) -> None:
    done = ollm("-p", "Good morning", "--model", "mine://x", **home)
    assert (done.returncode, done.stdout) == (0, "Good morning\n")
    assert done.stderr.count(WHY) == 1


def test_a_provider_whose_plugin_is_broken_says_why(ollm: Ollm, home: Mapping[str, str]) -> None:
    done = ollm("-p", "Good morning", "--model", "bad://x", **home)
    assert (done.returncode, done.stdout) == (1, "")
    assert WHY in done.stderr
    assert "`pip uninstall ollm-broken`" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_of_a_plugin_is_named_like_any_other(ollm: Ollm, home: Mapping[str, str]) -> None:
    done = ollm("-p", "hi", "--model", "mine://x", "--tools", "shout", **home)
    assert (done.returncode, done.stdout) == (0, "hi\n")
    wrong = ollm("-p", "hi", "--model", "mine://x", "--tools", "shoot", **home)
    assert wrong.returncode == 2
    assert "search_files, shout." in wrong.stderr


def test_settings_that_name_plugins_are_in_order_while_these_are_installed(
    ollm: Ollm, home: Mapping[str, str]
) -> None:
    assert ollm("config", "check", **home).returncode == 0
    without = ollm("config", "check", **{**home, "PYTHONPATH": guarded_path()})
    assert without.returncode != 0
    assert "`providers.mine.kind` must be one of 'ollama'" in without.stdout + without.stderr
    assert "The theme nord cannot be used" in without.stdout + without.stderr


def test_the_doctor_tells_what_is_installed_and_what_fails(
    ollm: Ollm, home: Mapping[str, str]
) -> None:
    found = json.loads(ollm("doctor", "--json", **home).stdout)
    lines = {one["message"]: one["ok"] for one in found["plugins"]}
    good = "ollm-good 1.0: provider kind echo, tool shout, command /hello, theme nord"
    assert lines[good]
    assert [line for line in lines if line.startswith(WHY)], (
        "told once, though it fails three times"
    )
    assert any("names no package that could hold broken.toml" in line for line in lines)
    assert [is_right for line, is_right in lines.items() if line != good] == [False] * 3
    text = ollm("doctor", **home).stdout
    assert "Plugins\n!! ollm-broken 1.0: provider kind broken" in text
    assert "Plugins" not in ollm("doctor", **{**home, "PYTHONPATH": guarded_path()}).stdout


def test_commands_that_need_no_plugin_do_not_look_for_one(home: Mapping[str, str]) -> None:
    program = (
        "import sys\nfrom ollm_tui.cli import main\n"
        "try: main(['--version'])\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(**home),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stdout.split()
    assert {"importlib.metadata", "ollm_good", "ollm_broken", "pydantic"}.isdisjoint(loaded)
