"""The program with an answer that goes on, and its output compared frame by frame."""

import json
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain, cycle
from pathlib import Path

import anyio

from tests.cli.fake_ollama import DONE, FakeOllama, Line, text_line
from tests.e2e.conftest import ask, environment, ready
from tests.support.checked_frames import SIGN
from tests.support.forked import Forks
from tests.support.http_server import Reply
from tests.support.pty_session import PtySession, wait_until
from tests.support.same_picture import Comparison
from tests.support.scripts import MARKDOWN

CHECKED = [sys.executable, "-P", "-m", "tests.support.checked_frames"]
PROSE = (
    "The sky is *blue* because **air** scatters `short` waves, see [this](https://a.example).\n\n"
)
WIDE = "日本語 🎌 ñ é ok 漢字の一二三四五六七八九十 🚀"
PIECE = 7
RATE = 400
BUSY = "● streaming", "● thinking", "● waiting"
LONG = f"{MARKDOWN}\n{PROSE * 3}{WIDE}\n\n> {PROSE}\n1. one\n2. two\n\n---\n\n"
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
    assert comparison.wrong == [], "\n".join(comparison.wrong[:20])
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
