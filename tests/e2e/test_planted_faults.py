"""Whatever of the screen fails unexpectedly, the chat is saved and nothing private shows."""

import json
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.conftest import OLLM, ask, environment, ready
from tests.e2e.planting import SECRET
from tests.store.kills.judges import texts_in, unsound
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import Server, in_thread
from tests.support.pty_session import PtySession, wait_until
from tests.support.seeds import in_parts

pytestmark = [pytest.mark.pty, pytest.mark.slow]

POINTS, PARTS = 50, 10
SEED = 20261128
PLANTED = [sys.executable, "-P", "-m", "tests.e2e.planting"]
KEYS = (b"s", b"\x7f", b"\x0c", b"\x1b", b"\x12", b"\x1b", b"\x06", b"\x1b", b"\x1b[5~", b"\x10")
TIMEOUT_S = 4.0


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with in_thread(fake_ollama) as running:
        yield running


def make_home(folder: Path) -> Path:
    for name in ("config/ollm", "data/ollm/models", "state"):
        (folder / name).mkdir(parents=True)
    return folder


def use(session: PtySession, home: Path) -> bool:
    """Ask once, then do a little of everything, and quit; return whether it died before that."""
    ready(session)
    ask(session, "echo first")
    session.wait_for("   first", 20)
    ready(session)
    (home / "armed").touch()
    has_quit = False
    with suppress(AssertionError, OSError):
        for key in KEYS:
            session.write(key)
            wait_until(lambda: not session.processes(), 0.15)
        session.write(b"\x1b")
        session.write("echo second")
        session.wait_for("echo second", TIMEOUT_S)
        session.write("\r")
        session.wait_for("   second", TIMEOUT_S)
        session.write("/quit")
        session.wait_for("/quit", TIMEOUT_S)
        has_quit = True
        session.write("\r")
    if not wait_until(lambda: not session.processes(), TIMEOUT_S):
        has_quit = True  # what keeps it from the end may be slowness: it closes its chat now
        session.signal(signal.SIGTERM)
    return not has_quit


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory, server: Server) -> list[str]:
    """The functions of the screen that this use of the program calls, in an order of chance."""
    home = make_home(tmp_path_factory.mktemp("traced") / "home")
    argv = [*PLANTED, str(home), "-"]
    with PtySession(argv, environment(home) | {"OLLAMA_HOST": server.url}, home) as session:
        use(session, home)
        session.exit_status()
    called: list[str] = json.loads((home / "called.json").read_text())
    random.Random(SEED).shuffle(called)
    return called


def offers_the_chat(home: Path, env: dict[str, str]) -> None:
    """The next program says that the last one ended unexpectedly, and how its chat is continued."""
    with PtySession(OLLM, env, home) as session:
        session.wait_for("ollm ended without closing last time.", 20)
        session.wait_for("/chats last continues it.")
        session.signal(signal.SIGTERM)
        assert session.exit_status() == 128 + signal.SIGTERM


@pytest.mark.slow_one_in(3)
@in_parts(PARTS, usual=0)
def test_a_fault_anywhere_loses_no_chat_and_shows_nothing_private(
    points: list[str], server: Server, tmp_path: Path, part: int
) -> None:
    assert len(points) >= 4 * POINTS
    crashes = hits = offers = 0
    for number, point in enumerate(points[part::PARTS]):
        if hits == POINTS // PARTS:
            break
        home = make_home(tmp_path / str(number))
        env = environment(home) | {"OLLAMA_HOST": server.url}
        with PtySession([*PLANTED, str(home), point], env, home) as session:
            has_died = use(session, home)
            status = session.exit_status()
            assert session.termios() == session.termios_before, point
            raw, text = session.raw, session.screen_text()
        hits += (home / "hit").exists()
        reports = [*(home / "state").rglob("crash-*.txt")]
        # while it quits, the chat is closed before what fails then
        if reports and has_died and not offers:
            offers_the_chat(home, env)
            offers += 1
        crashes += bool(reports)
        assert bool(reports) == (status == 1), (point, status, text)
        for report in reports:
            assert "Planted" in report.read_text()
            assert SECRET not in report.read_text()
            assert report.name in text.replace("\n", ""), point
        assert SECRET.encode() not in raw
        assert {"echo first", "first"} <= texts_in(home / "data" / "ollm" / "chats.db"), point
        assert unsound(home / "data" / "ollm" / "chats.db") is None
    assert hits == POINTS // PARTS
    assert crashes
