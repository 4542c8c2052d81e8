"""A chat outlives its program, even one that was killed, and goes on with or without a screen."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import OLLM, Start, ask, assert_left_sane, environment, ready
from tests.support.engine import needs_engine
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import in_thread
from tests.support.pty_session import PtySession, wait_until

pytestmark = [pytest.mark.pty]


def test_an_answer_outlives_a_program_that_is_killed(start: Start, home: Path) -> None:
    with in_thread(fake_ollama) as server:
        env = {"OLLAMA_HOST": server.url}
        with start(home, env=env) as session:
            ready(session)
            ask(session, "forever 40")
            session.wait_for("word99", timeout=20)
            session.signal(signal.SIGKILL)
            assert session.exit_status() == -signal.SIGKILL
            assert wait_until(lambda: not session.processes())
        with start(home, "-c", env=env) as session:
            session.wait_for("ollm quit before the answer was complete", timeout=20)
            session.wait_for("word50")
            ready(session)
            session.write(b"\x1b[1;5H")
            session.wait_for("▌ forever 40")
            session.wait_for("word0 word1")
            ask(session, "echo onwards")
            session.wait_for("   onwards")
            ready(session)
            ask(session, "/quit")
            assert_left_sane(session, 0)
        assert "back in the shell" in _headless(home, server.url, "echo back in the shell")
        sent = json.dumps(server.received[-1].json()["messages"])
        found = [sent.find(words) for words in ("forever 40", "word50", "onwards", "the shell")]
        assert -1 not in found
        assert found == sorted(found)


ENDED = "ollm ended without closing last time."


def test_the_chat_of_a_program_that_was_killed_is_offered_once(start: Start, home: Path) -> None:
    with in_thread(fake_ollama) as server:
        env = {"OLLAMA_HOST": server.url}
        with start(home, env=env) as session:
            ready(session)
            ask(session, "echo before the end")
            session.wait_for("   before the end", timeout=20)
            noted = home / "state" / "ollm" / "sessions"
            assert wait_until(lambda: any(one.read_text() for one in noted.glob("*")))
            session.signal(signal.SIGKILL)
            assert session.exit_status() == -signal.SIGKILL
        with start(home, env=env) as session:
            session.wait_for(f"{ENDED} The chat was saved.", timeout=20)
            session.wait_for("/chats last continues it.")
            assert "▌ echo before" not in session.screen_text()  # it is an offer
            ready(session)
            ask(session, "/chats last")
            session.wait_for("▌ echo before the end")
            session.wait_for("   before the end")
            assert wait_until(lambda: any(one.read_text() for one in noted.glob("*")))
            with start(home, env=env) as other:  # a second window while this one is open
                assert ENDED not in _settled(other)
                ask(other, "/quit")
                assert_left_sane(other, 0)
            ask(session, "/quit")
            assert_left_sane(session, 0)
        with start(home, "-c", env=env) as session:  # the end before was a normal one
            assert ENDED not in _settled(session)
            assert "▌ echo before the end" in session.screen_text()


def _settled(session: PtySession) -> str:
    """Return the screen once all that is said at the start was said."""
    ready(session)
    ask(session, "/private off")
    session.wait_for("This chat is not private.")
    return session.screen_text()


def test_two_windows_go_on_with_one_chat_and_each_sees_what_the_other_wrote(
    start: Start, home: Path
) -> None:
    with in_thread(fake_ollama) as server:
        env = {"OLLAMA_HOST": server.url}
        with start(home, env=env) as session:
            ready(session)
            ask(session, "echo beginning")
            session.wait_for("   beginning", timeout=20)
            ready(session)
            ask(session, "/quit")
            assert_left_sane(session, 0)
        with start(home, "-c", env=env) as left, start(home, "-c", env=env) as right:
            # both have read the chat before either goes on with it
            for session in (left, right):
                session.wait_for("   beginning", timeout=20)
                ready(session)
            for session, word in ((left, "lefthand"), (right, "righthand")):
                ask(session, f"echo {word}")
                session.wait_for(f"   {word}", timeout=20)
                ready(session)
            for session in (left, right):
                session.wait_for("This chat was continued in another window", timeout=20)
                session.wait_for("2 messages on another branch")
            ask(right, "/branch")
            right.wait_for("   lefthand", timeout=20)
            right.wait_for("Branch 2 of 2")
            for session in (left, right):
                ask(session, "/quit")
                assert_left_sane(session, 0)
        with start(home, "-c", env=env) as session:
            # the branch that was shown last
            session.wait_for("   lefthand", timeout=20)
            session.wait_for("This chat has 1 other branch.")
            ready(session)
            ask(session, "/quit")
            assert_left_sane(session, 0)


def _headless(home: Path, url: str, prompt: str) -> str:
    done = subprocess.run(
        [*OLLM, "-c", "-p", prompt],
        env={"PATH": "/usr/bin:/bin", **environment(home), "OLLAMA_HOST": url},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return done.stdout


@pytest.mark.engine
@needs_engine
def test_a_tool_runs_when_it_is_allowed_and_the_chat_remembers_it(
    start: Start, home_with_model: Path
) -> None:
    with start(home_with_model, "--tools", "current_time") as session:
        ready(session)
        ask(session, "use a tool")
        session.wait_for("Run current_time?", timeout=30)
        session.wait_for(
            lambda: "y once" in (text := session.screen_text()) and "Waiting for" not in text
        )
        session.write("\r")
        session.wait_for("Waiting for you to stop typing")
        # Not the row of before, while the dialog is being drawn.
        session.wait_for(
            lambda: "y once" in (text := session.screen_text()) and "Waiting for" not in text
        )
        session.write("y")
        session.wait_for("The tool answered", timeout=30)
        session.wait_for("⚙ current_time")
        ask(session, "/quit")
        assert_left_sane(session, 0)
    with start(home_with_model, "-c") as session:
        session.wait_for("The tool answered", timeout=20)
        # the end of a chat is painted first
        session.wait_for("▌ use a tool")
        session.wait_for("⚙ current_time")
        ask(session, "/quit")
        assert_left_sane(session, 0)
