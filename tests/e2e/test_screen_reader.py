"""The chat in lines: stopping, queueing, tools and settings, as they arrive at the terminal."""

import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import Start
from tests.e2e.lines import TIMEOUT_S, chatting, lines_of, prompted
from tests.support.guarded.fair_clock import sleep
from tests.support.pty_session import wait_until

pytestmark = pytest.mark.pty


def test_stopping_and_queueing(start: Start, home: Path) -> None:
    with chatting(start, home) as (session, _ollama):
        session.write("forever\r")
        session.wait_for(b"It goes on.", timeout=TIMEOUT_S)
        session.write("hello again\r")
        session.wait_for(b"Queued, 1 waiting.", timeout=TIMEOUT_S)
        session.write("\r")
        session.wait_for(b"Answering, 1 queued.", timeout=TIMEOUT_S)
        session.write("\x1b[A")  # an arrow is no Escape
        prompted(session, typed="\x1b")
        session.write("forever\r")
        session.wait_for(lambda: session.raw.count(b"It goes on.") == 2, timeout=TIMEOUT_S)
        prompted(session, typed="\x03")
        session.write("half a line")
        session.wait_for(b"half a line", timeout=TIMEOUT_S)
        prompted(session, typed="\x03")
        session.write("forever\r")
        session.wait_for(lambda: session.raw.count(b"It goes on.") == 3, timeout=TIMEOUT_S)
        session.signal(signal.SIGTERM)
        assert session.exit_status() == 128 + signal.SIGTERM
        assert session.termios() == session.termios_before
        assert session.processes() == []
        read = lines_of(session)
    assert read[2:14] == [
        "You: forever",
        "Waiting for tiny:1b.",
        "Answering.",
        "It goes on.",
        "Next: hello again",
        "Queued, 1 waiting.",
        "Answering, 1 queued.",
        "And on",
        "Stopped.",
        "What was queued was not sent. The Up key brings it back.",
        "You: forever",
        "Waiting for tiny:1b.",
    ]


def test_a_tool_asks_in_words_and_runs_only_after_a_late_yes(start: Start, home: Path) -> None:
    (home.parent / "notes.md").write_text("hi")
    with chatting(start, home) as (session, ollama):
        prompted(session, typed="/tools read_file\r")
        session.write("tool\ryyyy")  # typed before the question: another message
        prompted(session, b"Next: yyyy")
        session.write("\x03")
        session.wait_for(b"Allow?", timeout=TIMEOUT_S)
        session.write("y")  # too early: no answer
        prompted(session, typed="\x1b")
        assert [one["content"] for one in ollama.requests[-1]["messages"]][-1] != "hi"
        session.write("hold\r")
        session.wait_for(lambda: session.raw.count(b"Allow?") == 2, timeout=TIMEOUT_S)
        sleep(1.2)  # the pause that arms the key
        session.write("y")
        session.wait_for(b"The notes say hold.", timeout=TIMEOUT_S)
        prompted(session, typed="\x1b")  # a key alone still stops the answer
        assert "hi" in ollama.requests[-1]["messages"][-1]["content"]
        session.write("\x04")
        assert session.exit_status() == 0
        read = lines_of(session)
    after = [one for one in read if one not in {"Next: yyyy", "Not queued."}]
    after = after[after.index("You: tool") :]
    assert after[1:6] == [
        "Waiting for tiny:1b.",
        "Tool read_file, notes.md. It only reads.",
        "path: notes.md",
        "Allow? y yes, a always in this chat, A in this folder for 30 days, n no, N no with a "
        "reason. Enter and Escape mean no.",
        "Denied.",
    ]
    assert after[after.index("Allowed.") :][:5] == [
        "Allowed.",
        "read_file is done.",
        "Answering.",
        "The notes say hold.",
        "Stopped.",
    ]


def test_after_a_kill_the_chat_is_offered_before_the_prompt(start: Start, home: Path) -> None:
    with chatting(start, home) as (session, _):
        prompted(session, typed="hello\r")
        sessions = home / "state" / "ollm" / "sessions"
        assert wait_until(lambda: any(one.stat().st_size for one in sessions.glob("*.open")))
        session.signal(signal.SIGKILL)
        session.exit_status()
    with chatting(start, home) as (session, _):
        prompted(session, typed="/chats last\r")
        session.write("\x04")
        assert session.exit_status() == 0
        read = lines_of(session)
    assert read[2:6] == [
        "Warning: ollm ended without closing last time. The chat was saved. "
        "/chats last continues it.",
        "You: /chats last",
        "Chat “hello”, 2 messages.",
        "You: hello",
    ]


def test_the_environment_and_the_settings_ask_for_it_too(start: Start, home: Path) -> None:
    with chatting(start, home, "--tools", "clock", env={"OLLM_SCREEN_READER": "1"}) as (session, _):
        assert not session.is_alternate_screen
        session.write("/quit\r")
        session.exit_status()
    settings = home / "config" / "ollm" / "config.toml"
    settings.write_text(f"screen_reader = true\n{settings.read_text()}")
    with chatting(start, home, "--tools", "clock") as (session, _):
        session.write("/quit\r")
        session.exit_status()
