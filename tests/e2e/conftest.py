"""The real program on a pseudo-terminal: what a newcomer starts, sees and leaves."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.support.forked import Forks
from tests.support.isolation import guarded_path
from tests.support.pty_session import PtySession
from tests.support.tiny_gguf import write_scripted

MODEL = "tiny-scripted"
OLLM = [sys.executable, "-P", "-m", "ollm_tui"]
CONFIG = "[embedded]\nthreads = 1\ncontext = 32768\n[chat]\ntitles = false\n"

Start = Callable[..., AbstractContextManager[PtySession]]


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with known replies, written once."""
    path = tmp_path_factory.mktemp("scripted") / f"{MODEL}.gguf"
    write_scripted(path)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with settings for slow machines and no models."""
    folder = tmp_path / "newcomer"
    (folder / "config" / "ollm").mkdir(parents=True)
    (folder / "config" / "ollm" / "config.toml").write_text(CONFIG)
    (folder / "data" / "ollm" / "models").mkdir(parents=True)
    return folder


@pytest.fixture
def home_with_model(home: Path, scripted_model: Path) -> Path:
    """A home whose only model is the scripted one."""
    target = home / "data" / "ollm" / "models" / scripted_model.name
    target.write_bytes(scripted_model.read_bytes())
    return home


def environment(home: Path) -> dict[str, str]:
    """Keep everything the program writes inside `home`, and find the package from anywhere."""
    kinds = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    cache = {"XDG_CACHE_HOME": str(home / "cache"), "PYTHONPATH": guarded_path()}
    return {"HOME": str(home), **kinds, **cache}


@pytest.fixture
def start(tmp_path: Path, forks: Forks) -> Start:
    """Start the program in a home, from a folder that is not the checkout.

    It is a copy of a process that has its modules, unless the test wants a new one.
    """

    @contextmanager
    def started(
        home: Path,
        *arguments: str,
        env: dict[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
        argv: Sequence[str] = OLLM,
        is_new: bool = False,
    ) -> Iterator[PtySession]:
        everything = environment(home) | (env or {})
        copied = None if is_new or argv is not OLLM else forks
        with PtySession([*argv, *arguments], everything, tmp_path, size, copied) as session:
            yield session

    return started


def ask(session: PtySession, prompt: str) -> None:
    """Type a prompt, see it in the composer, and send it."""
    session.write(prompt)
    session.wait_for(prompt)
    session.write("\r")


_READY = re.compile(r"^ . ready\b", re.MULTILINE)


def ready(session: PtySession) -> PtySession:
    """Wait until a model is chosen and the program says that it is ready."""
    session.wait_for(lambda: " · " in session.screen_text().split("\n")[0], timeout=20)
    # not "already loaded"
    session.wait_for(lambda: _READY.search(session.screen_text()) is not None, timeout=20)
    return session


def assert_left_sane(session: PtySession, status: int) -> None:
    """The program is gone with this status, the terminal is as before, no process is left."""
    assert session.exit_status() == status
    assert session.termios() == session.termios_before
    for off in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l"):
        assert off in session.raw
    assert session.raw.rfind(b"\x1b[?1049h") < session.raw.rfind(b"\x1b[?1049l")
    assert session.processes() == []
