"""What the terminal shows is what a whole drawing of the screen would show, after every frame.

The program writes only what has changed. Its output is shown by a strict terminal and compared,
characters, styles and cursor, with the screen drawn anew whenever nothing waits to be drawn.
"""

import json
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, cycle
from pathlib import Path

import anyio
import pytest

from tests.cli.fake_ollama import DONE, FakeOllama, Line, text_line
from tests.e2e.conftest import ask, environment, ready
from tests.support.checked_frames import SIGN
from tests.support.forked import Forks
from tests.support.http_server import Reply
from tests.support.pty_session import PtySession, wait_until
from tests.support.same_picture import Comparison
from tests.support.scripts import MARKDOWN
from tests.support.seeds import sampled
from tests.tui.painters.hostile_documents import DOCUMENTS

pytestmark = pytest.mark.pty

CHECKED = [sys.executable, "-P", "-m", "tests.support.checked_frames"]
SIZES = [(80, 24), (120, 40)]
PROSE = (
    "The sky is *blue* because **air** scatters `short` waves, see [this](https://a.example).\n\n"
)
WIDE = "日本語 🎌 ñ é ok 漢字の一二三四五六七八九十 🚀"
PIECE = 7
RATE = 400
BUSY = "● streaming", "● thinking", "● waiting"
LONG = f"{MARKDOWN}\n{PROSE * 3}{WIDE}\n\n> {PROSE}\n1. one\n2. two\n\n---\n\n"
SMALL_DOCUMENTS: Mapping[str, str] = {"what models write": LONG * 2} | {
    name: made(1500 / max(len(made(1)), 1500)) for name, made in DOCUMENTS.items()
}
Act = bytes | tuple[int, int]
"""What is typed, or the columns and rows that the terminal takes."""
TERMINALS: Mapping[str, tuple[Mapping[str, str], bytes]] = {
    "that says nothing": ({}, b""),
    "xterm": ({"XTERM_VERSION": "XTerm(390)"}, b"\x1bP>|XTerm(390)\x1b\\\x1b[?2026;0$y"),
    "kitty": ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, b"\x1b[?2026;2$y\x1b[?0u\x1b[?62c"),
    "tmux": ({"TERM": "tmux-256color", "TMUX": "/tmp/none,1,0"}, b"\x1b[?2026;0$y"),
    "screen": ({"TERM": "screen-256color", "STY": "1.none"}, b""),
    "console of Linux": ({"TERM": "linux", "COLORTERM": ""}, b""),
}


class Streaming(FakeOllama):
    """Goes on with a text until it is enough."""

    def __init__(self, text: str, *, is_endless: bool = False, thinks: bool = False) -> None:
        super().__init__()
        self.text = text
        self.is_endless = is_endless
        self.enough = threading.Event()
        self.is_over = threading.Event()
        """Whether all was said, or nobody listens."""
        if thinks:
            self.capabilities = ["completion", "thinking"]
        self.thinks = thinks

    def _lines(self) -> Iterator[Line]:
        if self.thinks:
            for at in range(0, len(PROSE), PIECE):
                yield text_line("", thinking=PROSE[at : at + PIECE])
        pieces = [self.text[at : at + PIECE] for at in range(0, len(self.text), PIECE)]
        for piece in cycle(pieces) if self.is_endless else pieces:
            yield text_line(piece)
            if self.enough.is_set():
                return

    async def _chat(self, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        try:
            for line in chain(self._lines(), [DONE]):
                await reply.write(json.dumps({"model": "tiny:1b", **line}).encode() + b"\n")
                await anyio.sleep(1 / RATE)
        finally:
            self.is_over.set()


@contextmanager
def checked(
    server: Streaming, home: Path, forks: Forks, size: tuple[int, int], terminal: str
) -> Iterator[PtySession]:
    """Start the program in a terminal, ask, and compare all that it showed at the end."""
    env, answers = TERMINALS[terminal]
    with server.serving():
        everything = {**environment(home), "OLLAMA_HOST": server.url, **env}
        with PtySession(CHECKED, everything, home, size, forks) as session:
            session.write(answers)
            ask(ready(session), "go on")
            try:
                yield session
            finally:
                server.enough.set()
            assert wait_until(server.is_over.is_set)
            session.wait_for(lambda: not any(word in session.screen_text() for word in BUSY))
            comparison = Comparison(session.resizes).of(session.raw)
    assert comparison.wrong == []
    assert comparison.unknown == []
    assert comparison.checked


def do(session: PtySession, server: Streaming, acts: Iterable[Act], frames: int) -> None:
    """Type or take sizes, and let so many frames be checked after each, while there are any."""
    for act in acts:
        wanted = session.raw.count(SIGN) + frames
        session.write(act) if isinstance(act, bytes) else session.resize(*act)
        assert wait_until(partial(_has_checked, session, server, wanted))


def _has_checked(session: PtySession, server: Streaming, wanted: int) -> bool:
    return session.raw.count(SIGN) >= wanted or server.is_over.is_set()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))
@pytest.mark.parametrize("name", sampled(SMALL_DOCUMENTS, 1))
def test_an_answer_is_shown_as_a_whole_drawing_shows_it(
    home: Path, forks: Forks, name: str, size: tuple[int, int]
) -> None:
    server = Streaming(SMALL_DOCUMENTS[name] + "\n\nThe end.")
    with checked(server, home, forks, size, "kitty") as session:
        session.wait_for("The end.")


UP, DOWN = b"\x1b[1;2A", b"\x1b[1;2B"
PAGE_UP, PAGE_DOWN, TOP, BOTTOM = b"\x1b[5~", b"\x1b[6~", b"\x1b[1;5H", b"\x1b[1;5F"
F1, F5, ESCAPE, ALT_UP, ALT_DOWN, ALT_O = (
    b"\x1bOP",
    b"\x1b[15~",
    b"\x1b",
    b"\x1b[1;3A",
    b"\x1b[1;3B",
    b"\x1bo",
)
CTRL_F, CTRL_L, CTRL_P, CTRL_T, CTRL_U = b"\x06", b"\x0c", b"\x10", b"\x14", b"\x15"


def dragged(*places: tuple[int, int]) -> list[bytes]:
    """The reports of a mouse that selects from the first place to the last."""
    (x, y), *_, (end_x, end_y) = places
    moved = [f"\x1b[<32;{x};{y}M".encode() for x, y in places[1:]]
    down, up = f"\x1b[<0;{x};{y}M", f"\x1b[<0;{end_x};{end_y}m"
    return [down.encode(), *moved, up.encode()]


ACTS: Mapping[str, Sequence[Act]] = {
    "scrolling": [UP, UP, DOWN, PAGE_UP, UP, PAGE_UP, PAGE_DOWN, TOP, DOWN, DOWN, BOTTOM],
    "sizes": [(100, 30), (60, 12), UP, (80, 24), (40, 24), BOTTOM, (80, 24)],
    "wheel": [b"\x1b[<64;20;10M", b"\x1b[<64;20;10M" * 5, b"\x1b[<65;20;10M" * 3, BOTTOM],
    "folding": [CTRL_T, CTRL_T, PAGE_UP, CTRL_T, CTRL_T, BOTTOM, ALT_UP, b" ", ALT_DOWN, ESCAPE],
    "selection": [*dragged((5, 8), (9, 9), (30, 11), (12, 14)), UP, b"\x1b[<0;9;5M\x1b[<0;9;5m"],
    "dialogs": [F1, DOWN, ESCAPE, CTRL_P, b"co", DOWN, ESCAPE, CTRL_L, ESCAPE],
    "composer": [b"a\nb\nc\nd", CTRL_U, b"/mo", b"\x7f", CTRL_U, b"\x03", b"x" * 100, b"\x03"],
    "search": [CTRL_F, b"air", b"\x1b[A", b"\x1b[A", ESCAPE, BOTTOM],
}
"""What is pressed, or to what size the terminal is changed, while an answer goes on."""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))
@pytest.mark.parametrize("name", sampled(ACTS, 2))
def test_the_picture_stays_right_whatever_is_done_meanwhile(
    home: Path, forks: Forks, name: str, size: tuple[int, int]
) -> None:
    server = Streaming(LONG, is_endless=True, thinks=name == "folding")
    with checked(server, home, forks, size, "kitty") as session:
        session.wait_for("blue")
        do(session, server, ACTS[name], 3)


@pytest.mark.slow
@pytest.mark.parametrize("terminal", TERMINALS)
def test_the_picture_is_right_in_every_terminal(home: Path, forks: Forks, terminal: str) -> None:
    server = Streaming(LONG, is_endless=True)
    with checked(server, home, forks, (80, 24), terminal) as session:
        session.wait_for("blue")
        do(session, server, [UP, PAGE_UP, F1, ESCAPE, BOTTOM, (90, 20), b"typed", b"\x03"], 5)
