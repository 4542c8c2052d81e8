"""Every way out gives the terminal back."""

import io
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from ollm_tui.tui.terminal import guard
from ollm_tui.tui.terminal.guard import RESET, check_terminal
from tests.support.pty_session import PtySession, wait_until
from tests.tui.terminal.test_driver import APP, start

SWITCHES = [
    (b"\x1b[?1049h", b"\x1b[?1049l"),
    (b"\x1b[?25l", b"\x1b[?25h"),
    (b"\x1b[?1000h", b"\x1b[?1000l"),
    (b"\x1b[?1003h", b"\x1b[?1003l"),
    (b"\x1b[?1004h", b"\x1b[?1004l"),
    (b"\x1b[?2004h", b"\x1b[?2004l"),
    (b"\x1b[?7l", b"\x1b[?7h"),
    (b"\x1b[>25u", b"\x1b[<u"),
]

SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT]


def assert_given_back(session: PtySession) -> None:
    assert session.termios() == session.termios_before
    assert not session.is_alternate_screen
    for taken, given in SWITCHES:
        assert -1 < session.raw.rfind(taken) < session.raw.rfind(given)
    assert wait_until(lambda: session.processes() == [])
    assert "Traceback" not in session.screen_text()


@pytest.mark.one_in(3)
@pytest.mark.pty
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_the_app_in_good_order(number: signal.Signals) -> None:
    with start("keys") as session:
        session.signal(number)
        assert session.exit_status(5) == 128 + number
        assert_given_back(session)


@pytest.mark.one_in(3)
@pytest.mark.pty
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_ends_even_an_app_that_hangs(number: signal.Signals) -> None:
    with start("block") as session:
        session.write(b"x\x1b[A")
        session.wait_for(b"blocked now")
        session.signal(number)
        assert session.exit_status(5) == 128 + number
        assert_given_back(session)


@pytest.mark.pty
def test_a_signal_ends_an_app_whose_terminal_takes_no_output() -> None:
    with start("flood") as session:
        with session.stalled():
            session.write(b"x")
            session.cpu_within(0.5)
            session.signal(signal.SIGTERM)
            assert wait_until(lambda: session.processes() == [])
        assert session.exit_status() == 128 + signal.SIGTERM
        assert_given_back(session)


@pytest.mark.pty
def test_several_signals_count_once() -> None:
    with start("keys") as session:
        session.signal(signal.SIGHUP)
        session.signal(signal.SIGTERM)
        assert session.exit_status(5) in {128 + signal.SIGHUP, 128 + signal.SIGTERM}
        assert_given_back(session)


@pytest.mark.pty
def test_signals_up_to_the_last_moment_change_nothing() -> None:
    with start("keys") as session:
        session.signal(signal.SIGHUP)
        for _ in range(20_000):
            with suppress(ProcessLookupError):
                session.signal(signal.SIGTERM)
            with suppress(AssertionError):  # it still runs
                session.exit_status(0.0005)
                break
        assert session.exit_status(5) in {128 + signal.SIGHUP, 128 + signal.SIGTERM}


@pytest.mark.pty
def test_control_c_is_a_key_and_no_signal() -> None:
    with start("keys") as session:
        session.write(b"\x03")
        session.wait_for("nothing")
        session.write(b"\x1c")
        session.wait_for("ctrl+backslash")


@pytest.mark.pty
@pytest.mark.parametrize("mode", ["keys", "bare"])
def test_a_closed_terminal_ends_the_app_quietly(mode: str) -> None:
    with start(mode) as session:
        session.hang_up()
        assert session.exit_status(5) in {128 + signal.SIGHUP, -signal.SIGHUP}
        assert wait_until(lambda: session.processes() == [])


@pytest.mark.pty
def test_a_terminal_that_is_gone_without_a_signal_ends_the_app_too() -> None:
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *APP, "bare"]
    with PtySession(ignoring) as session:
        session.wait_for("ready")
        session.hang_up()
        assert session.exit_status(5) == 128 + signal.SIGHUP
        assert wait_until(lambda: session.processes() == [])


@pytest.mark.pty
def test_an_ordinary_exit_gives_the_terminal_back_with_its_code() -> None:
    with start("quit") as session:
        session.write(b"q")
        assert session.exit_status() == 7
        assert_given_back(session)


@pytest.mark.pty
def test_the_stock_way_still_leaves_the_terminal_broken_so_ours_is_still_needed() -> None:
    with start("stock") as session:
        session.signal(signal.SIGTERM)
        session.exit_status()
        assert session.is_alternate_screen
        assert session.termios() != session.termios_before


@pytest.mark.pty
@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_abilities_is_refused_in_one_line(term: str) -> None:
    with PtySession([*APP, "keys"], env={"TERM": term}) as session:
        assert session.exit_status() == 2
        assert session.raw.count(b"\n") == 1
        assert b"TERM is" in session.raw
        assert b"\x1b" not in session.raw


class Stream(io.StringIO):
    def __init__(self, answer: Callable[[], bool]) -> None:
        super().__init__()
        self._answer = answer

    def isatty(self) -> bool:
        return self._answer()


def closed() -> bool:
    raise ValueError("I/O operation on closed file")


def test_streams_that_are_no_terminal_are_named() -> None:
    good = Stream(lambda: True)
    xterm = {"TERM": "xterm-256color"}
    assert check_terminal(xterm, {"input": good, "output": good}) is None
    for bad in (Stream(lambda: False), Stream(closed), None):
        reason = check_terminal(xterm, {"input": good, "output": bad})
        assert reason is not None
        assert "standard output" in reason


LEAVES_IT_RAW = """
import asyncio, tty
from textual.app import App
from ollm_tui.tui.terminal.guard import exit_signals

async def main():
    with exit_signals(App()):
        tty.setraw(0)

asyncio.run(main())
"""


def test_reset_brings_back_a_terminal_that_was_left_raw() -> None:
    with PtySession([sys.executable, "-c", LEAVES_IT_RAW]) as session:
        assert session.exit_status() == 0
        assert session.raw == RESET.encode()
        local = session.termios()[3]
        before = session.termios_before[3]
        assert local == before


def test_reset_without_a_terminal_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(os, "get_blocking", lambda _: (_ for _ in ()).throw(OSError()))
    monkeypatch.setattr(os, "write", lambda _, data: written.append(data))
    guard._write_reset()
    assert written == []
