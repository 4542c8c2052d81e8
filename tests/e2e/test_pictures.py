"""A picture's road through the program: pasted, seen, saved, left out where nobody sees."""

import base64
from pathlib import Path

import pytest

from ollm_tui.decode.json_fields import objects
from ollm_tui.tui.composer.composer import PASTE_GUARD_S
from tests.e2e.conftest import Start, ask, ready
from tests.support.fake_ollama import fake_ollama
from tests.support.guarded.fair_clock import sleep
from tests.support.http_server import Received, Reply, Server, in_thread
from tests.support.picture_bytes import png
from tests.support.pty_session import PtySession

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
            ready(session)
        with start(home, "-c", env=env) as session:
            session.wait_for(SHOWN, timeout=20)
            ready(session)
            ask(session, "echo still a cat")
            session.wait_for("   still a cat", timeout=10)
        assert pictures(server) == [[png()], [], []]


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
