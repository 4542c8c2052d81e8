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
    assert "There is no tool 'shoot'. Did you mean shout?" in wrong.stderr
    unknown = ollm("-p", "hi", "--model", "mine://x", "--tools", "nothing_like_it", **home)
    assert "search_files, shout, write_file, " in unknown.stderr


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


def test_what_a_package_prints_is_not_in_the_answer(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    site = tmp_path / "loud"
    text = "print('Welcome!')\nfrom ollm_good import Echo, shout as louder\n"
    groups = {"providers": {"loud": "ollm_loud:Echo"}, "commands": {"louder": "ollm_loud:louder"}}
    write_package(site, "ollm-loud", {"ollm_loud.py": text}, groups)
    (tmp_path / "config" / "ollm" / "config.toml").write_text('[providers.w]\nkind = "loud"\n')
    own = {**home, "PYTHONPATH": guarded_path(ROOT, site, tmp_path / "site")}
    done = ollm("-p", "hi", "--model", "w://x", "--json", **own)
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()][-1] == "finish"
    assert done.stderr.count("Welcome!") == 1
    found = json.loads(ollm("doctor", "--json", **own).stdout)
    assert "ollm-loud 1.0: provider kind loud, command /louder" in {
        one["message"] for one in found["plugins"]
    }


BAD = """
from dataclasses import replace
from ollm_good import shout

dotted = replace(shout, schema=replace(shout.schema, name="my.tool"))
number = 5

class Idle:
    def __init__(self, spec):
        pass
"""


def test_plugins_that_cannot_work_end_no_command_and_the_doctor_says_so(
    ollm: Ollm, home: Mapping[str, str], tmp_path: Path
) -> None:
    site = tmp_path / "bad"
    groups = {
        "providers": {"number": "ollm_bad:number", "idle": "ollm_bad:Idle"},
        "tools": {"my.tool": "ollm_bad:dotted"},
    }
    write_package(site, "ollm-bad", {"ollm_bad.py": BAD}, groups)
    own = {**home, "PYTHONPATH": guarded_path(ROOT, site, tmp_path / "site")}
    done = ollm("-p", "hi", "--model", "mine://x", **own)
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert "provides 'my.tool', which cannot name a tool" in done.stderr
    listed = ollm("models", "list", "--provider", "mine", **own)
    assert "Internal error" not in listed.stderr
    found = json.loads(ollm("doctor", "--json", **own).stdout)
    wrong = [one["message"] for one in found["plugins"] if not one["ok"]]
    for words in (
        "provides 'number', but it is not a provider class.",
        "provides 'idle', but its class has no method 'chat_stream'.",
        "provides 'my.tool', which cannot name a tool",
        "ollm-bad 1.0: provider kind idle, provider kind number, tool my.tool",
    ):
        assert any(words in one for one in wrong), words
