"""Ctrl+Z in a shell on a real pseudo-terminal, and `fg`."""

import shlex
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import OLLM, Start
from tests.support.pty_session import PtySession

pytestmark = [
    pytest.mark.pty,
    pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash"),
]
SHELL = ["bash", "--norc", "--noprofile", "-i"]


def opened(session: PtySession) -> PtySession:
    session.write(f"{shlex.join(OLLM)}\r")
    session.wait_for("Ask anything", timeout=20)
    return session


def test_control_z_gives_the_terminal_to_the_shell_and_fg_takes_it_again(
    start: Start, tmp_path: Path
) -> None:
    with start(tmp_path, argv=SHELL, env={"PS1": "prompt> "}) as session:
        opened(session).wait_for("No models found", timeout=20)
        session.write("a draft")
        session.wait_for("a draft")
        session.write(b"\x1a")
        session.wait_for("Stopped")
        session.write("echo in-the-$((1 + 1))-shell\r")
        session.wait_for("in-the-2-shell")
        session.write("fg\r")
        session.wait_for("a draft")
        session.write(" goes on")
        session.wait_for("a draft goes on")
        session.wait_for("No models found")
        session.wait_for("F1 help")


def test_a_program_without_a_shell_is_not_suspended(start: Start, tmp_path: Path) -> None:
    with start(tmp_path, is_new=True) as session:
        session.wait_for("Ask anything", timeout=20)
        session.write(b"\x1a")
        session.wait_for("cannot be suspended")
