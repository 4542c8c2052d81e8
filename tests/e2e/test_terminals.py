"""Terminals that can do little: the program works in them, or says in one line why it does not."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import Start, ask, assert_left_sane
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import in_thread
from tests.support.seeds import sampled

pytestmark = pytest.mark.pty

NO_UTF8 = {"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
USABLE: Mapping[str, Mapping[str, str]] = {
    "locale C, no UTF-8": {"LANG": "C", "LC_ALL": "C", **NO_UTF8},
    "screen": {"TERM": "screen", "COLORTERM": ""},
    "Latin-1": {"PYTHONIOENCODING": "latin-1", **NO_UTF8},
    "locale POSIX": {"LANG": "", "LC_ALL": "POSIX"},
    "no colours": {"NO_COLOR": "1", "TERM": "xterm-mono", "COLORTERM": ""},
    "16 colours": {"TERM": "xterm", "COLORTERM": ""},
    "vt100": {"TERM": "vt100", "COLORTERM": ""},
    "console of Linux": {"TERM": "linux", "COLORTERM": ""},
    "tmux": {"TERM": "tmux-256color"},
    "unknown": {"TERM": "nobody-knows-it", "COLORTERM": ""},
}
REFUSED: Mapping[str, Mapping[str, str]] = {"dumb": {"TERM": "dumb"}, "no TERM": {"TERM": ""}}


@pytest.mark.parametrize("name", sampled(USABLE, 1))
def test_it_works_in_a_terminal_that_can_do_little(start: Start, home: Path, name: str) -> None:
    with in_thread(fake_ollama) as server:
        env = {**USABLE[name], "OLLAMA_HOST": server.url}
        with start(home, env=env, is_new=True) as session:
            session.wait_for("Chatting with", 30)
            for size in ((1000, 300), (1, 1), (80, 24)):
                session.resize(*size)
            ask(session, "forever 40")
            session.wait_for("word9", 20)
            session.resize(60, 16)
            session.resize(80, 24)
            session.write(b"\x1b")
            session.wait_for("Stopped", 20)
            ask(session, "echo and goes on")
            session.wait_for("   and goes on", 20)
            ask(session, "/quit")
            assert_left_sane(session, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_terminal_that_can_do_nothing_is_refused_in_one_line(
    start: Start, home: Path, name: str
) -> None:
    with start(home, env=dict(REFUSED[name]), is_new=True) as session:
        assert session.exit_status() == 2
        assert session.raw.count(b"\n") == 1
        assert b"TERM is" in session.raw
        assert b"\x1b" not in session.raw
