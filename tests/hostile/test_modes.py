"""Whatever the umask says, nobody else can read what the program writes."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import OLLM, ask, environment
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import in_thread
from tests.support.pty_session import PtySession, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.pty]

WITHOUT_UMASK = [
    sys.executable,
    "-c",
    "import os,sys;os.umask(0);os.execv(sys.argv[1],sys.argv[1:])",
]
KINDS = ("config", "data", "state", "cache")


def modes(home: Path) -> dict[str, str]:
    """Give the files and folders of a home that others may use, with their modes."""
    found = [path for kind in KINDS for path in (home / kind).rglob("*")]
    return {
        str(path.relative_to(home)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in found
        if path.stat().st_mode & 0o077
    }


@pytest.mark.slow
def test_a_first_run_leaves_nothing_that_others_can_read(tmp_path: Path) -> None:
    home = tmp_path / "newcomer"
    home.mkdir()
    with in_thread(fake_ollama) as server:
        env = environment(home) | {"OLLAMA_HOST": server.url}
        with PtySession([*WITHOUT_UMASK, *OLLM], env, tmp_path) as session:
            session.wait_for("Chatting with", 20)
            ask(session, "hello")
            session.wait_for("first token")
            ask(session, "/theme paper")
            assert wait_until((home / "config" / "ollm" / "config.toml").exists)
            ask(session, "/quit")
            assert session.exit_status() == 0
    names = {path.name for path in home.rglob("*") if path.is_file()}
    assert {"config.toml", "choices.json", "prompts.jsonl"} <= names
    assert modes(home) == {}


@pytest.mark.slow
def test_a_chat_in_lines_leaves_nothing_that_others_can_read(tmp_path: Path) -> None:
    home = tmp_path / "newcomer"
    home.mkdir()
    with in_thread(fake_ollama) as server:
        env = environment(home) | {"OLLAMA_HOST": server.url}
        with PtySession([*WITHOUT_UMASK, *OLLM, "--screen-reader"], env, tmp_path) as session:
            session.wait_for(b"\nYou: ", 20)
            session.write("hello\r")
            session.wait_for(b"world!")
            session.wait_for(lambda: session.raw.endswith(b"You: "))
            session.write("/quit\r")
            assert session.exit_status() == 0
    names = {path.name for path in home.rglob("*") if path.is_file()}
    assert {"choices.json", "prompts.jsonl", "chats.db"} <= names
    assert modes(home) == {}


def test_commands_and_crashes_leave_nothing_that_others_can_read(tmp_path: Path) -> None:
    home = tmp_path / "newcomer"
    home.mkdir()
    broken = (
        "import logging\n"
        "from ollm_tui.tui.crash import write_report\n"
        "from ollm_tui.config.paths import default_paths\n"
        "from ollm_tui.cli.log import logging_to\n"
        "state = default_paths().state_dir\n"
        "write_report(ValueError(), state / 'crashes', str)\n"
        "with logging_to(state / 'ollm.log'):\n"
        "    logging.warning('x')\n"
    )
    env = {"PATH": os.environ["PATH"], **environment(home)}
    subprocess.run([*WITHOUT_UMASK, sys.executable, "-c", broken], env=env, check=True)
    assert len([path for path in home.rglob("*") if path.is_file()]) == 2
    assert modes(home) == {}
