"""`ollm keys`: a key is kept without being shown, for one server, and removed."""

import json
from pathlib import Path

from ollm_tui.cli.output import ERROR
from tests.cli.conftest import Ollm

KEY = "sk-canary-0123456789abcdef"
USAGE = 2


def home(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}


def test_a_key_is_kept_listed_used_and_removed(ollm: Ollm, tmp_path: Path) -> None:
    kept = ollm("keys", "set", "openai", stdin=f"{KEY}\n", **home(tmp_path))
    assert (kept.returncode, kept.stdout) == (0, "")
    assert "Kept the key of openai for https://api.openai.com" in kept.stderr
    listed = ollm("keys", "list", "--json", **home(tmp_path))
    assert json.loads(listed.stdout)[0]["server"] == "https://api.openai.com"
    shown = ollm("config", "show", **home(tmp_path))
    (row,) = [line for line in shown.stdout.splitlines() if "openai.api_key " in line]
    assert "keys.json" in row
    doctor = ollm("doctor", **home(tmp_path))
    assert "key of openai:" in doctor.stdout
    for done in (kept, listed, shown, doctor):
        assert KEY not in done.stdout + done.stderr
    removed = ollm("keys", "rm", "openai", **home(tmp_path))
    assert "Removed the key of openai." in removed.stderr
    assert ollm("keys", "rm", "openai", **home(tmp_path)).returncode == ERROR
    assert "No keys are kept." in ollm("keys", "list", **home(tmp_path)).stderr


def test_a_key_is_no_argument(ollm: Ollm, tmp_path: Path) -> None:
    refused = ollm("keys", "set", "openai", KEY, stdin="", **home(tmp_path))
    assert refused.returncode == USAGE


def test_a_key_needs_a_provider_with_one_server(ollm: Ollm, tmp_path: Path) -> None:
    unknown = ollm("keys", "set", "opena", stdin=KEY, **home(tmp_path))
    assert unknown.returncode == USAGE
    assert "Did you mean openai?" in unknown.stderr
    embedded = ollm("keys", "set", "embedded", stdin=KEY, **home(tmp_path))
    assert "has no address" in embedded.stderr
    two_lines = ollm("keys", "set", "openai", stdin="a\nb", **home(tmp_path))
    assert "one line" in two_lines.stderr


def test_a_variable_comes_before_a_kept_key_and_that_is_said(ollm: Ollm, tmp_path: Path) -> None:
    done = ollm("keys", "set", "openai", stdin=KEY, OPENAI_API_KEY="sk-x1", **home(tmp_path))
    assert "It is not used for now: OPENAI_API_KEY sets another one." in done.stderr
