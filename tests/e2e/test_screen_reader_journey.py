"""A whole journey in lines: what arrives at the terminal, from the first byte to the last."""

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.e2e.conftest import Start
from tests.e2e.lines import END_OF_A_LIST, TIMEOUT_S, chatting, lines_of, prompted
from tests.support.guarded.fair_clock import sleep
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.pty

YOU, LEAVE = b"You: ", END_OF_A_LIST
ARMED_S = 1.2
"""The pause after which a key answers a question."""
EDITOR = """#!/bin/sh
printf 'A question\\n\\nof three lines.\\n' > "$1"
"""
BEFORE = (
    ("hello", YOU),
    ("STOP", YOU),
    ("/edit", b"Edit: forever"),
    ("more", YOU),
    ("fail", YOU),
    ("/branch 2", YOU),
    ("/tree", LEAVE),
    ("3", LEAVE),
    ("1", YOU),
    ("/mark 2", YOU),
    ("/times", YOU),
    ("/marks", LEAVE),
    ("1", YOU),
    ("/times", YOU),
    ("/go 1", YOU),
    ("/snippet add ask Is {{what}} true?", YOU),
    ("/snippet ask", b"what: "),
    ("it", b"You: Is it true?"),
    ("", YOU),
    ("/chats", LEAVE),
    ("1", LEAVE),
    ("rename", LEAVE),
    ("2", b"New title: hello"),
    (" wind", YOU),
    ("/chats", LEAVE),
    ("1", LEAVE),
    ("3", YOU),
    ("/chats", LEAVE),
    ("1", LEAVE),
    ("4", b"Tags, with spaces between: "),
    ("weather", YOU),
    ("/new", YOU),
    ("/search dark", LEAVE),
    ("1", YOU),
    ("/export json taken.json", YOU),
    ("think", YOU),
    ("/settings", LEAVE),
    ("1", LEAVE),
    ("^thinking", LEAVE),
    ("1", LEAVE),
    ("1", YOU),
    ("/settings", LEAVE),
    ("1", LEAVE),
    ("^keymap", LEAVE),
    ("1", YOU),
    ("/theme dusk", YOU),
    ("/theme", YOU),
    ("/editor", b"keep it for /editor."),
    ("SEND", YOU),
)
ELSEWHERE = (
    ("/chats", LEAVE),
    ("1", b"File to import: "),
    ("taken.json", YOU),
    ("/chats", LEAVE),
    ("1", LEAVE),
    ("1", YOU),
    ("/tree", LEAVE),
    ("", YOU),
    ("think again", YOU),
)


def walk(session: PtySession, steps: tuple[tuple[str, bytes], ...]) -> None:
    """Type one line after another, each when the prompt before it is there."""
    for typed, prompt in steps:
        if typed == "STOP":
            session.write("forever\r")
            session.wait_for(b"It goes on.", timeout=TIMEOUT_S)
            prompted(session, prompt, "\x1b")
        elif typed == "SEND":
            sleep(ARMED_S)
            prompted(session, prompt, "y")
        elif typed.startswith("^"):
            numbers = re.findall(rf"(\d+)\. {typed[1:]},", session.raw.decode())
            prompted(session, prompt, f"{numbers[-1]}\r")
        elif prompt == b"keep it for /editor.":
            session.write(f"{typed}\r")
            session.wait_for(prompt, timeout=TIMEOUT_S)
        else:
            prompted(session, prompt, f"{typed}\r")


def heard(session: PtySession) -> str:
    """Return the lines without what differs from run to run."""
    text = "\n".join(line.rstrip() for line in lines_of(session))
    text = re.sub(r"\d+ [A-Z]\w+ 2\d{3}", "DATE", text)
    text = re.sub(r"DATE at \d\d:\d\d", "DATE at TIME", text)
    text = re.sub(r"/\S*/(?=[\w.-]+\.(?:md|toml))", "FOLDER/", text)
    return re.sub(r"Thought for .*", "Thought for TIME.", text)


def test_a_journey_is_heard_line_by_line(
    start: Start, home: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """Write, stop, edit, branch, walk, search, export, import elsewhere, set, and go on."""
    editor = tmp_path / "ed"
    editor.write_text(EDITOR)
    editor.chmod(0o755)
    with chatting(start, home, env={"EDITOR": str(editor)}) as (session, _ollama):
        walk(session, BEFORE)
        session.write("/quit\r")
        assert session.exit_status() == 0
        assert session.termios() == session.termios_before
        assert heard(session) == snapshot(name="at home")
    assert 'thinking = "off"' in (home / "config" / "ollm" / "config.toml").read_text()
    other = tmp_path / "other"
    (other / "config" / "ollm").mkdir(parents=True)
    settings = "[chat]\ntitles = false\n"
    (other / "config" / "ollm" / "config.toml").write_text(settings)
    with chatting(start, other) as (session, ollama):
        walk(session, ELSEWHERE)
        session.write("\x04")
        assert session.exit_status() == 0
        assert heard(session) == snapshot(name="elsewhere")
    assert [one["content"] for one in ollama.requests[-1]["messages"]][-1] == "think again"
