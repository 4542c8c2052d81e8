"""Settings that are wrong stop no command, and `ollm config check` says what is wrong."""

import difflib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ollm_tui.cli import main
from ollm_tui.cli.output import ERROR
from ollm_tui.config.origin import MAX_LISTED
from tests.cli.conftest import Ollm, command, environment
from tests.cli.fake_ollama import DONE, FakeOllama, text_line

OFF = "`tools.root` names a folder that does not exist: the tools for files are off."
KEYS = [f'k{number} = "1"\n' for number in range(500)]


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def local(fake: FakeOllama, settings: Path) -> list[str]:
    return ["--config", str(settings), "--host", fake.url, "--model", "local://tiny:1b"]


@pytest.mark.parametrize("root", ["~/notes", "/etc/hostname", "relative", "a\\u0000b"])
def test_a_folder_for_tools_that_is_not_there_leaves_the_chat(
    root: str, ollm: Ollm, fake: FakeOllama, settings: Path
) -> None:
    settings.write_text(f'[tools]\nenabled = ["current_time", "read_file"]\nroot = "{root}"\n')
    fake.lines = [text_line("Hello."), DONE]
    done = ollm(*local(fake, settings), "-p", "hi", HOME=str(settings.parent))
    assert (done.stdout, done.returncode) == ("Hello.\n", 0)
    (sentence,) = done.stderr.splitlines()
    assert f"{settings}:3: " in sentence
    assert OFF in sentence or "NUL" in sentence
    offered = [tool["function"]["name"] for tool in fake.requests[-1].get("tools", [])]
    assert offered == (["current_time"] if OFF in sentence else ["current_time", "read_file"])


def test_the_doctor_and_the_check_name_that_folder_with_its_line(
    ollm: Ollm, fake: FakeOllama, settings: Path
) -> None:
    settings.write_text('[tools]\nroot = "/not/there"\n[options]\ntemperature = 300\n')
    checked = ollm("config", "check", "--config", str(settings))
    assert checked.returncode == 1
    assert checked.stdout.splitlines() == [
        f"error: {settings}:2: {OFF} Create it, or name another folder.",
        f"error: {settings}:4: `options.temperature` must be at most 10.",
    ]
    seen = ollm("doctor", "--config", str(settings), "--host", fake.url)
    assert OFF in " ".join(seen.stdout.split())
    assert "Traceback" not in seen.stderr


def test_a_folder_that_was_removed_under_the_program_leaves_the_chat(
    fake: FakeOllama, settings: Path, tmp_path: Path
) -> None:
    fake.lines = [text_line("Hello."), DONE]
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        command("--host", fake.url, "--model", "local://tiny:1b", "-p", "hi"),
        env=environment(),
        cwd=gone,
        preexec_fn=lambda: shutil.rmtree(gone),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == (b"Hello.\n", 0), done.stderr


def test_the_tools_of_the_settings_are_named_when_there_are_none(
    ollm: Ollm, fake: FakeOllama, settings: Path
) -> None:
    settings.write_text('[tools]\nenabled = ["read_fil"]\n')
    fake.lines = [text_line("Hello."), DONE]
    done = ollm(*local(fake, settings), "-p", "hi")
    assert done.stdout == "Hello.\n"
    (sentence,) = done.stderr.splitlines()
    assert sentence == (
        f"ollm: {settings}:2: There is no tool named 'read_fil'. Did you mean read_file?"
    )


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_reported_once_and_the_prompt_is_answered(
    kind: str, ollm: Ollm, fake: FakeOllama, settings: Path
) -> None:
    match kind:
        case "pipe":
            os.mkfifo(settings)
        case "device":
            settings.symlink_to("/dev/zero")
        case _:
            settings.mkdir()
    fake.lines = [text_line("Hello."), DONE]
    done = ollm(*local(fake, settings), "-p", "hi")
    assert (done.stdout, done.returncode) == ("Hello.\n", 0)
    (sentence,) = done.stderr.splitlines()
    assert f"The file cannot be read: it is a {kind}" in sentence


def test_a_provider_named_by_its_key_does_not_show_it(ollm: Ollm, settings: Path) -> None:
    settings.write_text(
        '[providers.a]\nbase_url = "http://a"\napi_key_env = "sk-0123456789"\n'
        '[hub]\ntoken_env = "hf-0123456789"\n'
    )
    done = ollm("config", "check", "--config", str(settings))
    assert done.stdout.count("must be the name of a variable") == 2
    assert "0123456789" not in done.stdout + done.stderr


def test_thousands_of_mistakes_are_listed_in_part_and_compared_no_further(
    settings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = ("keymap", "options", "nowhere", *(f'models."m{number}"' for number in range(3)))
    text = "\n".join(f"[{table}]\n" + "".join(KEYS) for table in tables)
    settings.write_text("".join(KEYS) + text)
    compared = 0
    closest = difflib.get_close_matches

    def counted(*words: object, **more: object) -> object:
        nonlocal compared
        compared += 1
        return closest(*words, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    assert main(["--config", str(settings), "config", "check"]) == ERROR
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == MAX_LISTED
    assert all("Unknown setting" in line for line in lines)
    # A table that does not exist is one mistake.
    assert last == f"And {6 * len(KEYS) + 1 - MAX_LISTED:,} more; fix these to see them."
    assert compared <= 2 * MAX_LISTED
