"""The driver on a real pseudo-terminal: keys, hostile bytes, idling, the stock driver's faults."""

import os
import random
import signal
import sys

import pytest

from ollm_tui.tui.terminal.driver import is_slow_line
from ollm_tui.tui.terminal.keyboard import KEY_PROTOCOL
from tests.support.pty_session import PtySession, wait_until
from tests.support.vt import grammar
from tests.tui.terminal.test_keyboard import END, HOSTILE, START

pytestmark = pytest.mark.pty

APP = [sys.executable, "-m", "tests.tui.terminal.terminal_app"]


def start(mode: str, **env: str) -> PtySession:
    session = PtySession([*APP, mode], env=env)
    session.wait_for("ready")
    return session


def test_escape_arrives_although_no_byte_follows() -> None:
    with start("keys") as session:
        for number in range(1, 4):
            session.write(b"\x1b")
            session.wait_for(f"key {number} escape")


def test_escape_and_a_later_letter_are_two_keys_and_a_sequence_is_one() -> None:
    with start("keys") as session:
        session.write(b"\x1b")
        session.wait_for("key 1 escape")
        session.write(b"x")
        session.wait_for("key 2 x")
        session.write(b"\x1b[")
        session.write(b"A")
        session.wait_for("key 3 up")
        session.write(b"\x1b\r")
        session.wait_for("key 4 alt+enter")


def test_a_terminal_is_asked_for_its_key_protocol_and_its_answer_is_no_key() -> None:
    with start("keys") as session:
        session.wait_for(KEY_PROTOCOL.encode())
        session.write(b"\x1b[?25u")
        session.write(b"\x1b[97u")
        session.wait_for("key 1 a")


@pytest.mark.parametrize(
    ("name", "environment", "is_slow"),
    [
        ("/dev/pts/3", {}, False),
        ("/dev/pts/3", {"SSH_CONNECTION": "10.0.0.2 1 10.0.0.3 22"}, True),
        ("/dev/ttys004", {}, False),
        ("/dev/tty12", {}, False),
        ("/dev/ttyS0", {}, True),
        ("/dev/ttyUSB1", {}, True),
    ],
)
def test_a_line_is_slow_over_ssh_and_from_a_serial_port(
    name: str, environment: dict[str, str], is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "ttyname", lambda _terminal: name)
    assert is_slow_line(0, environment) is is_slow


def test_an_enter_that_was_pressed_before_the_start_is_an_enter() -> None:
    with PtySession([*APP, "keys"]) as session:
        session.write(b"k\r")
        session.wait_for("key 2 enter")
        session.write(b"\n")
        session.wait_for("key 3 ctrl+j")


@pytest.mark.slow
def test_the_app_lives_through_hostile_bytes_and_rests_afterwards() -> None:
    seed = 20261122
    chance = random.Random(seed)
    noise = [bytes(chance.choices(range(256), k=chance.randrange(1, 80))) for _ in range(150)]
    with start("keys") as session:
        for data in [*HOSTILE, *noise]:
            session.write(data)
        # The noise may have begun a paste or a sequence; silence ends both.
        session.wait_for(lambda: _answers(session), 20)
        assert session.cpu_within(1) <= 0.05, f"seed {seed}"
        session.signal(signal.SIGTERM)
        assert session.exit_status() == 128 + signal.SIGTERM


def _answers(session: PtySession) -> bool:
    session.write(b"\x1b[15~")
    return " f5" in session.screen_text()


@pytest.mark.slow
def test_the_last_of_many_sizes_is_the_one_that_stays() -> None:
    with PtySession([*APP, "sizes"]) as session:
        session.wait_for("size 91 24.")
        for last in range(60, 100):
            for width in range(20, 60):
                session.resize(width, 24)
            session.resize(last, 24)
            session.wait_for(f"size {last} 24.")


def test_an_unclosed_paste_ends_by_itself_and_keys_work_again() -> None:
    with start("keys") as session:
        session.write(START + b"left open")
        session.wait_for("paste 9 'left open'", 5)
        session.write(b"k")
        session.wait_for(" k")


def test_a_paste_that_holds_an_end_mark_and_a_quit_key_quits_nothing() -> None:
    with start("quit") as session:
        session.write(START + b"text" + END + b"q\r" + END)
        session.wait_for("paste 6")
        assert "key" not in session.screen_text()
        session.write(b"q")
        assert session.exit_status() == 7


def test_waiting_for_a_key_costs_nothing() -> None:
    with start("keys") as session:
        session.write(b"\x1b")
        session.wait_for("key 1 escape")
        assert session.cpu_within(2) <= 0.02


def test_stopping_and_continuing_gives_the_terminal_back_and_takes_it_again() -> None:
    with start("keys") as session:
        session.signal(signal.SIGTSTP)
        session.wait_for(b"\x1b[?1049l")
        # A SIGCONT that comes before the process has stopped itself would be lost.
        assert wait_until(lambda: session.state() == "T")
        assert session.termios() == session.termios_before
        assert not session.is_alternate_screen
        printed = len(session.raw)
        session.signal(signal.SIGCONT)
        session.wait_for(lambda: b"\x1b[?1049h" in session.raw[printed:])
        session.write(b"k")
        session.wait_for("key 1 k")


def test_a_resize_reaches_the_app_and_absurd_sizes_do_no_harm() -> None:
    with start("keys") as session:
        for size in [(1, 1), (1000, 300), (1, 300), (40, 10)]:
            session.resize(*size)
        session.write(b"k")
        session.wait_for("key 1 k")


def test_the_window_title_is_cleaned_and_given_back() -> None:
    with start("quit") as session:
        session.write(b"q")
        assert session.exit_status() == 7
        assert b"\x1b[22;2t\x1b]2;title \xe2\x9f\xa6U+001B" in session.raw
        assert b"bad\xe2\x9f\xa6U+0007\xe2\x9f\xa7\x07" in session.raw
        assert b"\x1b[23;2t" in session.raw
        assert {shape for shape in grammar(session.raw) if shape.startswith("OSC")} <= {
            "OSC 2",
            "OSC 22",
        }


@pytest.mark.slow
def test_a_terminal_that_takes_no_output_for_a_while_gets_all_of_it_later() -> None:
    with start("keys") as session:
        with session.stalled():
            session.write(b"k" * 3000)
            # Handling the keys takes a slow machine more than a second; waiting takes nothing.
            assert any(session.cpu_within(1.0) < 0.9 for _second in range(20))
        session.wait_for("key 3000 k", 30)


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"\xff", b"\x1b[1114112u"])
def test_the_stock_driver_still_dies_of_input_so_ours_is_still_needed(data: bytes) -> None:
    # When this fails Textual has mended its driver (textual#6456): drop what guards against it.
    with start("stock") as session:
        session.write(data)
        session.exit_status()
        assert "Error" in session.screen_text()
