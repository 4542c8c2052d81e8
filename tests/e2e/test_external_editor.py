"""The person's own editor on a real terminal: it gets the terminal, and ollm takes it back."""

import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import Start, ask, assert_left_sane, ready
from tests.support.engine import needs_engine
from tests.support.pty_session import PtySession, wait_until

pytestmark = pytest.mark.pty

TYPES = """#!/bin/sh
printf 'the editor is open\\n'
read line
printf '%s\\n' "$line" >> "$1"
"""
BREAKS = """#!/bin/sh
stty raw -echo
printf '\\033[?1049h\\033[?1000hbroken'
kill -9 $$
"""


def editor(folder: Path, script: str) -> dict[str, str]:
    path = folder / "editor.sh"
    path.write_text(script)
    path.chmod(0o755)
    return {"EDITOR": str(path), "TMPDIR": str(folder)}


def no_file_left(folder: Path) -> bool:
    return not list(folder.glob("ollm-*"))


def opened(session: PtySession) -> None:
    session.write(b"\x07")
    session.wait_for("the editor is open")
    assert not session.is_alternate_screen


@pytest.mark.engine
@needs_engine
def test_an_answer_goes_on_while_the_editor_has_the_terminal(
    start: Start, home_with_model: Path, tmp_path: Path
) -> None:
    with start(home_with_model, env=editor(tmp_path, TYPES)) as session:
        ready(session)
        ask(session, "go on forever")
        session.wait_for("again and again", timeout=20)
        session.write("a draft")
        session.wait_for("a draft")
        opened(session)
        session.write("written there\r")
        session.wait_for("written there ")
        session.wait_for("Esc stop")
        session.write(b"\x1b")
        session.wait_for("Stopped")
        assert no_file_left(tmp_path)
        session.write(b"\x03")
        session.wait_for("Ask anything")
        ask(session, "/quit")
        assert_left_sane(session, 0)


def test_the_terminal_is_taken_back_however_the_editor_ends(
    start: Start, home: Path, tmp_path: Path
) -> None:
    with start(home, env=editor(tmp_path, TYPES)) as session:
        session.wait_for("No models found", timeout=20)
        session.write("a draft")
        session.wait_for("a draft")
        opened(session)
        session.write(b"\x03")  # is for the editor alone
        session.wait_for("was ended by SIGINT. The draft is as it was.")
        session.wait_for("a draft")
        editor(tmp_path, BREAKS)
        session.write(b"\x07")
        session.wait_for("was ended by SIGKILL")
        session.write(" goes on")
        session.wait_for("a draft goes on")
        editor(tmp_path, TYPES)
        opened(session)
        session.signal(signal.SIGTERM)
        assert session.exit_status() == 128 + signal.SIGTERM
        assert session.termios() == session.termios_before
        assert wait_until(lambda: session.processes() == [])
        assert not session.is_alternate_screen
        assert no_file_left(tmp_path)
