"""The picture of the first frame: where it is kept, when it is shown, and what is not trusted."""

import io
import os
from pathlib import Path

import pytest
from platformdirs.macos import MacOS

from ollm_tui.config.paths import default_paths
from ollm_tui.frontend import first_frame
from ollm_tui.frontend.first_frame import (
    FILE_NAME,
    MAX_BYTES,
    Picture,
    conditions,
    saved_picture,
    to_bytes,
)

PICTURE = Picture("\x1b[1;1Hdrawn\nin lines", 22, 4, 74, "\x1b[37m", "\x1b[7m")
SIZE = os.terminal_size((80, 24))


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda _descriptor: SIZE)


def state_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


def keep(home: Path, known: str = "known", mode: int = 0o600) -> Path:
    path = home / "state" / "ollm" / FILE_NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(to_bytes(known, PICTURE))
    path.chmod(mode)
    return path


def test_what_was_kept_is_shown_under_the_same_conditions_only(tmp_path: Path) -> None:
    keep(tmp_path)
    assert saved_picture("known", state_of(tmp_path)) == PICTURE
    assert saved_picture("other", state_of(tmp_path)) is None


def test_an_option_of_any_bytes_is_kept_as_it_is(tmp_path: Path) -> None:
    known = conditions(["--model", "x\udcff"], state_of(tmp_path))
    assert known is not None
    keep(tmp_path, known)
    assert saved_picture(known, state_of(tmp_path)) == PICTURE


def test_a_terminal_without_unicode_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.__stderr__", output)
    assert conditions([], state_of(tmp_path)) is None


def test_nothing_is_shown_that_somebody_else_may_have_written(tmp_path: Path) -> None:
    path = keep(tmp_path, mode=0o622)
    assert saved_picture("known", state_of(tmp_path)) is None
    path.chmod(0o600)
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))
    assert saved_picture("known", state_of(tmp_path)) is None


def test_a_picture_that_is_too_large_is_not_shown_in_part(tmp_path: Path) -> None:
    path = keep(tmp_path)
    path.write_bytes(to_bytes("known", PICTURE._replace(drawn="x" * MAX_BYTES)))
    assert saved_picture("known", state_of(tmp_path)) is None


@pytest.mark.parametrize("data", [b"", b"known", b"known\nx y z\n\n\n", b"\xff\xfe\n1 2 3\n\n\n"])
def test_a_damaged_file_is_no_picture(data: bytes, tmp_path: Path) -> None:
    keep(tmp_path).write_bytes(data)
    assert saved_picture("known", state_of(tmp_path)) is None


def test_a_folder_and_a_pipe_are_no_pictures(tmp_path: Path) -> None:
    path = keep(tmp_path)
    path.unlink()
    path.mkdir()
    assert saved_picture("known", state_of(tmp_path)) is None
    path.rmdir()
    os.mkfifo(path)
    assert saved_picture("known", state_of(tmp_path)) is None


def test_what_the_look_depends_on_is_a_condition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config" / "ollm" / "config.toml"
    config.parent.mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    seen = [conditions([], environment), conditions(["-m", "x"], environment)]
    seen += [conditions([], environment | {name: "1"}) for name in ("TERM", "NO_COLOR", "LANG")]
    for text in ("theme = 'a'", "theme = 'paper'"):
        config.write_text(text)
        seen.append(conditions([], environment))
    monkeypatch.setattr(os, "get_terminal_size", lambda _descriptor: os.terminal_size((120, 40)))
    seen.append(conditions([], environment))
    assert None not in seen
    assert len(set(seen)) == len(seen)


def test_with_variables_of_settings_there_is_none(tmp_path: Path) -> None:
    assert conditions([], {"HOME": str(tmp_path), "OLLM_THEME": "paper"}) is None
    assert conditions([], {}) is None


@pytest.mark.parametrize(
    "variables",
    [{}, {"XDG_STATE_HOME": "/elsewhere", "XDG_CONFIG_HOME": "/config"}, {"XDG_STATE_HOME": "x"}],
    ids=["usual", "chosen", "relative"],
)
def test_the_folders_are_those_of_the_app(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    environment = {"HOME": "/home/somebody"} | variables
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    paths = default_paths()
    assert first_frame._folder(environment, "STATE") == str(paths.state_dir)
    assert first_frame._folder(environment, "CONFIG") == str(paths.config_dir)


def test_they_are_so_on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/Users/somebody")
    monkeypatch.setattr("sys.platform", "darwin")
    mac, environment = MacOS("ollm", appauthor=False), {"HOME": "/Users/somebody"}
    assert first_frame._folder(environment, "STATE") == mac.user_state_dir
    assert first_frame._folder(environment, "CONFIG") == mac.user_config_dir
