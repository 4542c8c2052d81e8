"""Homes that are missing, out of reach or no folder: a sentence or the rest, and no traceback."""

import os
import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from ollm_tui.cli import main
from ollm_tui.cli.output import ERROR, OK
from tests.cli.conftest import Ollm
from tests.support.seeds import sampled

NO_HOME = "ollm: This user has no home folder, so nothing can be kept. Set HOME, or "
TOO_LONG = "/" + "a" * 300
"""Stands for whatever cannot be looked at: a folder that is locked is open to root."""


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> NoReturn:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in ("CONFIG", "DATA", "STATE", "CACHE"))):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_home")
@pytest.mark.parametrize(
    "typed", ["config path", "config check", "config show", "doctor", "-p hi", "models list"]
)
def test_a_user_without_a_home_learns_what_to_set(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed.split()) == ERROR
    out, err = capsys.readouterr()
    assert (out, err.startswith(NO_HOME), err.count("\n")) == ("", True, 1)


@pytest.mark.usefixtures("no_home")
def test_what_keeps_nothing_needs_no_home(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == OK
    assert capsys.readouterr().out.startswith("ollm ")


@pytest.mark.usefixtures("no_home")
def test_folders_that_are_named_need_no_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path))
    assert main(["config", "check"]) == OK
    assert "no problems found" in capsys.readouterr().out


def home(path: str) -> dict[str, str]:
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    return {"HOME": path, **{f"XDG_{kind}_HOME": path for kind in kinds}}


@pytest.mark.parametrize("place", [TOO_LONG, "circle", "file"])
@pytest.mark.parametrize("typed", sampled(["config check", "doctor"], 1))
def test_a_home_out_of_reach_is_reported_with_its_place(
    place: str, typed: str, ollm: Ollm, tmp_path: Path
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "file").touch()
    done = ollm(*typed.split(), OLLAMA_HOST="127.0.0.1:9", **home(str(tmp_path / place)))
    assert (done.stderr, done.returncode) == ("", ERROR)
    assert "The file cannot be read" in " ".join(done.stdout.split())


@pytest.mark.parametrize("named", ["~nobody-of-that-name/x.toml", TOO_LONG, "circle"])
def test_settings_that_are_named_and_out_of_reach_are_reported(
    named: str, ollm: Ollm, tmp_path: Path
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    done = ollm("--config", named, "config", "check")
    assert (done.stderr, done.returncode) == ("", ERROR)
    assert "There is no file" in done.stdout or f"{named} cannot be read." in done.stdout


@pytest.mark.parametrize(
    "settings",
    [
        f'[tools]\nroot = "{TOO_LONG}"\n',
        f'[embedded]\nmodel_folders = ["{TOO_LONG}"]\n',
        '[embedded]\nmodel_folders = ["~nobody-of-that-name/x"]\n',
    ],
)
def test_folders_of_the_settings_out_of_reach_are_reported(
    settings: str, ollm: Ollm, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(settings)
    done = ollm("--config", "c.toml", "config", "check")
    assert done.stderr == ""
    assert "does not exist" in done.stdout


@pytest.mark.parametrize(
    "name", sampled(["circle", "pipe", "~nobody-of-that-name/m", "gone", "a" * 300], 3)
)
def test_a_model_that_cannot_be_read_is_reported_with_its_name(
    name: str, ollm: Ollm, tmp_path: Path
) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    done = ollm("models", "pull", f"./{name}" if name[0] != "~" else name)
    assert done.returncode == ERROR
    assert name in done.stderr
    assert any(words in done.stderr for words in ("There is no file", "cannot be read", "a pipe"))
