"""The first frame of an earlier start: the same cells as the app's own, and no key is lost."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import environment, ready
from tests.e2e.streaming import Streaming
from tests.support.pty_session import PtySession, wait_until
from tests.support.styled_terminal import StyledTerminal
from tests.support.vt import tokens

pytestmark = pytest.mark.pty

HELD = [sys.executable, "-P", "-m", "tests.support.held_start"]
OLLM = [sys.executable, "-P", "-m", "ollm_tui"]
PLACEHOLDER = "Ask anything"
TAKEN = b"\x1b[?1004h"
"""What the app writes when it takes the terminal, before it draws."""
Variables = dict[str, str]


@pytest.fixture
def server() -> Iterator[Variables]:
    """The variables with which a model is found at once."""
    streaming = Streaming("A short answer.")
    with streaming.serving():
        yield {"OLLAMA_HOST": streaming.url}


def picture(home: Path) -> Path:
    return home / "state" / "ollm" / "first-frame"


def keep_picture(home: Path, env: Variables, size: tuple[int, int], *arguments: str) -> None:
    """Start and leave the app once, so that its first frame is kept."""
    with PtySession([*OLLM, *arguments], environment(home) | env, home, size) as session:
        ready(session)
        assert PLACEHOLDER in session.screen_text()
        assert wait_until(picture(home).exists)
        session.write("/quit\r")
        assert session.exit_status() == 0


class Held:
    """A start that is held while its first frame is shown."""

    def __init__(self, session: PtySession, pipe: Path) -> None:
        self.session = session
        self._pipe = pipe

    def go_on(self, how: str = "") -> None:
        self._pipe.write_text(how)


@contextmanager
def held(
    home: Path, env: Variables, size: tuple[int, int] = (80, 24), *arguments: str
) -> Iterator[Held]:
    pipe = home / "pipe"
    os.mkfifo(pipe)
    argv = [*HELD, str(pipe), *arguments]
    with PtySession(argv, environment(home) | env, home, size) as session:
        yield Held(session, pipe)


LOOKS = {
    "usual": ({}, (80, 24)),
    "large": ({}, (120, 40)),
    "no colour": ({"NO_COLOR": "1"}, (80, 24)),
    "256 colours": ({"COLORTERM": ""}, (80, 24)),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_app_draws_the_same_cells_with_what_was_typed(
    look: str, home: Path, server: Variables
) -> None:
    changed, size = LOOKS[look]
    env = server | changed
    keep_picture(home, env, size)
    with held(home, env, size) as start:
        session = start.session
        session.wait_for(PLACEHOLDER)
        session.write("grüße, wor")
        session.wait_for("grüße, wor")
        start.go_on()
        ready(session)
        session.wait_for(lambda: TAKEN in session.raw)
        session.write("ld")
        session.wait_for("grüße, world")
        assert_redrawn_as_it_was(session.raw, size)


def assert_redrawn_as_it_was(raw: bytes, size: tuple[int, int]) -> None:
    """Feed what came after the app took the terminal, and look for the first other cell."""
    before, _, after = raw.partition(TAKEN)
    assert after, "the app drew nothing"
    terminal = StyledTerminal(*size)
    terminal.feed(before)
    shown = [list(row) for row in terminal.cells]
    drawn = 0
    for token in tokens(after):
        terminal.feed(token.raw.encode())
        if token.kind == "text":
            drawn += len(token.raw)
        if terminal.cells != shown:
            break
    assert terminal.unknown == []
    assert drawn >= size[0] * size[1], [
        (y, x, was, now)
        for y, (old, new) in enumerate(zip(shown, terminal.cells, strict=True))
        for x, (was, now) in enumerate(zip(old, new, strict=True))
        if was != now
    ]


def test_every_key_that_is_typed_early_takes_effect(home: Path, server: Variables) -> None:
    keep_picture(home, server, (80, 24))
    with held(home, server) as start:
        session = start.session
        session.wait_for(PLACEHOLDER)
        session.write("hallp\x7fo?\x1b[D, du\r")
        session.wait_for("hallp")
        start.go_on()
        session.wait_for("▌ hallo, du?")
        session.wait_for("A short answer.")
        session.write("/quit\r")
        assert session.exit_status() == 0, session.screen_text()
        assert session.termios() == session.termios_before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_held_start_in_order(
    number: signal.Signals, home: Path, server: Variables
) -> None:
    keep_picture(home, server, (80, 24))
    with held(home, server) as start:
        session = start.session
        session.wait_for(PLACEHOLDER)
        session.signal(number)
        session.exit_status()
        session.wait_for(lambda: not session.is_alternate_screen)
        assert session.termios() == session.termios_before


INTERRUPTED = """
import os, sys
from ollm_tui.frontend.first_frame import FirstFrame, Picture

frame = FirstFrame()
frame.show(Picture("drawn", 1, 1, 20, "", ""))
frame._shows.reader.is_alive = lambda: os.kill(os.getpid(), int(sys.argv[1]))
frame.close()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_closes_does_not_keep_it_from_that(
    number: signal.Signals, home: Path
) -> None:
    argv = [sys.executable, "-P", "-c", INTERRUPTED, str(int(number))]
    with PtySession(argv, environment(home), home) as session:
        assert session.exit_status() != 0
        session.wait_for(lambda: not session.is_alternate_screen)
        assert "drawn" in session.raw.decode()
        assert session.termios() == session.termios_before


def test_a_start_whose_terminal_goes_ends(home: Path, server: Variables) -> None:
    keep_picture(home, server, (80, 24))
    with held(home, server) as start:
        start.session.wait_for(PLACEHOLDER)
        start.session.hang_up()
        assert start.session.exit_status() == -signal.SIGHUP


def test_why_the_app_cannot_be_loaded_is_said_on_the_usual_screen(
    home: Path, server: Variables
) -> None:
    keep_picture(home, server, (80, 24))
    with held(home, server) as start:
        session = start.session
        session.wait_for(PLACEHOLDER)
        start.go_on("fail")
        assert session.exit_status() != 0
        assert not session.is_alternate_screen
        assert "ImportError" in session.screen_text()
        assert session.termios() == session.termios_before


@pytest.mark.parametrize(
    "arguments", [["--private"], ["--theme", "dusk"]], ids=lambda words: words[0]
)
def test_a_start_with_other_options_neither_shows_nor_keeps_it(
    arguments: list[str], home: Path, server: Variables
) -> None:
    with PtySession([*OLLM, *arguments], environment(home) | server, home) as session:
        ready(session)
        session.write("/quit\r")
        assert session.exit_status() == 0
    assert not picture(home).exists()
