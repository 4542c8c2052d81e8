"""A picture's road through the program: pasted, seen, saved, left out where nobody sees."""

import base64
from pathlib import Path

import pytest

from ollm_tui.decode.json_fields import objects
from ollm_tui.tui.composer.composer import PASTE_GUARD_S
from tests.e2e.conftest import Start, ask, assert_left_sane, ready
from tests.support.fake_ollama import fake_ollama
from tests.support.guarded.fair_clock import sleep
from tests.support.http_server import Received, Reply, Server, in_thread
from tests.support.picture_bytes import png
from tests.support.pty_session import PtySession
from tests.support.vt import tokens
from tests.tui.graphics.terminal_screen import decoded_sixels, strings
from tests.tui.graphics.test_kitty import commands

pytestmark = pytest.mark.pty
SHOWN = "png · 3 x 2 · 68 B"


async def seeing_ollama(request: Received, reply: Reply) -> None:
    """The fake one, with a model that sees."""
    if request.path == "/api/show":
        await reply.json({"capabilities": ["completion", "vision"], "model_info": {}})
    else:
        await fake_ollama(request, reply)


def drop(session: PtySession, path: Path) -> None:
    """Paste as a terminal does that a file is dropped on."""
    session.write(f"\x1b[200~'{path}' \x1b[201~".encode())
    session.wait_for("Image #1 · cat.png · ")
    session.wait_for("[Image #1]")
    # Keys that come at once are taken for a part of the paste.
    sleep(2 * PASTE_GUARD_S)


ANSWERED = "1 token"
"""In the line below an answer, which is saved by then; the status may be drawn after its words."""


def pictures(server: Server) -> list[list[bytes]]:
    """Give the pictures of each message of the newest request."""
    chats = [request for request in server.received if request.path == "/api/chat"]
    expected = objects(chats[-1].json()["messages"])  # type: ignore[arg-type]  # it came as JSON
    return [
        [base64.b64decode(str(one)) for one in _list(message.get("images"))] for message in expected
    ]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def test_a_dropped_picture_is_seen_and_still_there_in_the_next_run(
    start: Start, home: Path
) -> None:
    (home / "cat.png").write_bytes(png())
    with in_thread(seeing_ollama) as server:
        env = {"OLLAMA_HOST": server.url}
        with start(home, env=env) as session:
            ready(session)
            drop(session, home / "cat.png")
            ask(session, "echo a cat")
            session.wait_for("   a cat", timeout=10)
            session.wait_for(SHOWN)
            assert pictures(server) == [[png()]]
            session.wait_for(ANSWERED)
        with start(home, "-c", env=env) as session:
            session.wait_for(SHOWN, timeout=20)
            ready(session)
            ask(session, "echo still a cat")
            session.wait_for("   still a cat", timeout=10)
            assert pictures(server) == [[png()], [], []], session.screen_text()


def test_a_model_that_reads_only_text_is_sent_none_after_a_yes(start: Start, home: Path) -> None:
    (home / "cat.png").write_bytes(png())
    with (
        in_thread(fake_ollama) as server,
        start(home, env={"OLLAMA_HOST": server.url}) as session,
    ):
        ready(session)
        drop(session, home / "cat.png")
        ask(session, "echo what")
        session.wait_for("y send without pictures", timeout=10)
        session.write(b"y")
        session.wait_for("accepts text only: 1 picture of this chat is not sent.", timeout=10)
        session.wait_for("   what")
        assert pictures(server) == [[]]


def test_a_terminal_that_draws_gets_the_picture_once_and_loses_it_at_the_end(
    start: Start, home: Path
) -> None:
    (home / "cat.png").write_bytes(png())
    with in_thread(seeing_ollama) as server:
        env = {"OLLAMA_HOST": server.url, "TERM": "xterm-kitty", "COLORTERM": "truecolor"}
        with start(home, env=env) as session:
            ready(session)
            drop(session, home / "cat.png")
            ask(session, "echo a cat")
            session.wait_for("   a cat", timeout=10)
            session.wait_for(b"\x1b_Ga=p,U=1,")
            session.wait_for(ANSWERED)
            ready(session)
            session.write(b"\x04")
            assert_left_sane(session, 0)
            raw = session.raw
    strings = [one.raw for one in tokens(raw) if one.kind == "string" and one.raw[1] == "_"]
    keys = [one for one, _data in commands("".join(strings))]
    # Sent, placed and deleted, and nothing else of this kind.
    assert [one["a"] for one in keys] == ["t", "p", "d"]
    assert len({one["i"] for one in keys}) == 1


def test_a_terminal_that_draws_sixels_gets_the_rows_in_view_and_only_when_they_change(
    start: Start, home: Path
) -> None:
    (home / "cat.png").write_bytes(png(width=40, height=24))
    with in_thread(seeing_ollama) as server:
        env = {"OLLAMA_HOST": server.url, "TERM": "xterm-256color", "TERM_PROGRAM": ""}
        with start(home, env=env, size=(100, 24)) as session:
            ready(session)
            assert b"\x1b[c" not in session.raw
            drop(session, home / "cat.png")
            ask(session, "echo a cat")
            session.wait_for(b"\x1b[16t\x1b[c")
            session.write(b"\x1b[6;20;10t\x1b[?62;4;22c")
            session.wait_for("   a cat", timeout=10)
            ready(session)
            # The figures are the last row that moves the picture.
            session.wait_for("token · first token")
            session.wait_for(lambda: sixel_sizes(session)[-12:] == [(400, 20)] * 12)
            # Nothing more is sent for a key, and a dialog sends what is beside it.
            session.forget()
            session.write("more")
            session.wait_for("more")
            assert sixel_sizes(session) == []
            session.write(b"\x0c")
            session.wait_for("Choose a model")
            beside = sixel_sizes(session)
            assert beside
            assert all(width < 400 for width, _height in beside)
            session.forget()
            session.write(b"\x1b")
            session.wait_for(lambda: sixel_sizes(session)[-12:] == [(400, 20)] * 12)
            session.wait_for("more")
            session.forget()
            session.write(b"\x1b[5~")
            session.wait_for("Chatting with")
            session.wait_for(lambda: set(sixel_sizes(session)) == {(400, 20)})
            session.forget()
            session.resize(36, 20)
            session.wait_for(lambda: (320, 20) in sixel_sizes(session))
            session.write(b"\x03")
            session.wait_for("Ask anything")
            session.write(b"\x04")
            assert_left_sane(session, 0)
            assert b"\x1bP" not in session.raw[session.raw.rfind(b"\x1b[?1049l") :]


def sixel_sizes(session: PtySession) -> list[tuple[int, int]]:
    """The width and height of every sixel string that the terminal has got."""
    decoded = [decoded_sixels(one) for one in strings(session.raw, "\x1bP")]
    return [(len(one[0]), len(one)) for one in decoded]
