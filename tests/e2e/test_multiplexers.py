"""In `tmux` and in `screen` the picture is right and every key arrives."""

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import ask, environment, ready
from tests.e2e.streaming import CHECKED, LONG, Act, Streaming
from tests.e2e.typed import BY_MOUSE, LEGACY, lines_of
from tests.support import checked_frames, noted_keys
from tests.support.pty_session import PtySession, wait_until
from tests.support.same_picture import seen, unpacked, whole_screen
from tests.support.styled_terminal import StyledTerminal

pytestmark = [pytest.mark.pty, pytest.mark.slow]

SETTINGS: Mapping[str, str] = {
    "tmux": """
set -g status off
set -g mouse on
set -sg escape-time 50
set -g default-terminal tmux-256color
set -ga terminal-overrides ',*:Tc'
""",
    "screen": """
startup_message off
defutf8 on
altscreen on
term screen-256color
""",
}


def command(name: str, home: Path) -> list[str]:
    """Start the program in a multiplexer of its own."""
    settings, socket = home / f"{name}.conf", home / "socket"
    settings.write_text(SETTINGS[name])
    if name == "screen":
        return ["screen", "-U", "-c", str(settings), *CHECKED]
    return ["tmux", "-u", "-S", str(socket), "-f", str(settings), "new", shlex.join(CHECKED)]


@contextmanager
def inside(name: str, home: Path, server: Streaming) -> Iterator[PtySession]:
    """Run the program in a multiplexer, if that is installed."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    (home / "screens").mkdir(mode=0o700)
    files = {checked_frames.FILE: str(home / "picture"), noted_keys.VARIABLE: str(home / "keys")}
    (home / "keys").touch()
    env = {**environment(home), **files, "SCREENDIR": str(home / "screens"), "SHELL": "/bin/sh"}
    with server.serving():
        argv = command(name, home)
        with PtySession(argv, {**env, "OLLAMA_HOST": server.url}, home) as session:
            yield session


def is_right(session: PtySession, picture: Path, *, has_colours: bool) -> bool:
    """Whether the terminal shows what the program would draw anew."""
    told, shown = unpacked(picture.read_bytes()), shown_by(session)
    if tuple(told["size"]) != (shown.columns, shown.rows):
        return False
    rows = [y for y in range(shown.rows) if y not in told["live"]]
    whole = whole_screen(told)
    if has_colours:
        return [seen(shown.cells[y]) for y in rows] == [seen(whole.cells[y]) for y in rows]
    return [shown.lines[y] for y in rows] == [whole.lines[y] for y in rows]


def shown_by(session: PtySession) -> StyledTerminal:
    """Show what the multiplexer wrote."""
    (_, size), *later = session.resizes
    terminal, output, at = StyledTerminal(*size), session.raw, 0
    for place, size in later:
        terminal.feed(output[at:place])
        terminal.resize(*size)
        at = place
    terminal.feed(output[at:])
    return terminal


ACTS: Sequence[Act] = [
    *(b"", b"\x1b[5~", b"\x1b[1;2A" * 3, (100, 20), b"\x1bOP", b"\x1b", b"\x1b[1;5F", (80, 24)),
]
"""What is done after an answer, of which each leaves the terminal at rest."""


@pytest.mark.parametrize("name", SETTINGS)
def test_the_picture_is_right(home: Path, name: str) -> None:
    server = Streaming(LONG * 3)
    with inside(name, home, server) as session:
        ask(ready(session), "go on")
        assert wait_until(server.is_over.is_set)
        session.wait_for("first token")
        right = partial(is_right, session, home / "picture", has_colours=name == "tmux")
        for act in ACTS:
            session.write(act) if isinstance(act, bytes) else session.resize(*act)
            assert wait_until(right), act
        assert shown_by(session).unknown == []


@pytest.mark.parametrize("name", SETTINGS)
def test_every_key_arrives(home: Path, name: str) -> None:
    keys = [*LEGACY, *(BY_MOUSE if name == "tmux" else ())]
    with inside(name, home, Streaming(LONG)) as session:
        ready(session)
        wanted = [key for _, names in keys for key in names]
        noted = partial(lines_of, home / "keys", len(lines_of(home / "keys")))
        session.write(b"".join(sequence for sequence, _ in keys))
        assert wait_until(lambda: len(noted()) >= len(wanted))
        session.write(b"\x1b")
        assert wait_until(lambda: len(noted()) > len(wanted))
        assert noted() == [*wanted, "escape"]
