"""Over a line that delays 40 ms and delivers a byte every 4 ms no key is torn or lost."""

import sys
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import ask, environment, ready
from tests.e2e.streaming import CHECKED, LONG, Streaming
from tests.e2e.typed import BY_KITTY, BY_MOUSE, FOCUS, LEGACY, lines_of
from tests.support import noted_keys
from tests.support.pty_session import PtySession, wait_until
from tests.support.same_picture import Comparison

pytestmark = [pytest.mark.pty, pytest.mark.slow]

SLOW = [sys.executable, "-P", "-m", "tests.support.slow_line", *CHECKED]
SSH = {"SSH_CONNECTION": "127.0.0.1 50000 127.0.0.1 22"}


def test_every_key_arrives_whole_while_an_answer_streams(home: Path) -> None:
    server, notes = Streaming(LONG, is_endless=True), home / "keys"
    # of several changes of the focus that are read at once, the last one is told
    typed = [*LEGACY, *BY_MOUSE, *BY_KITTY, FOCUS[-1]]
    wanted = [key for _, keys in typed for key in keys]
    with server.serving():
        env = {**environment(home), **SSH, "OLLAMA_HOST": server.url}
        with PtySession(SLOW, {**env, noted_keys.VARIABLE: str(notes)}, home) as session:
            ask(ready(session), "go on")
            session.wait_for("blue")
            noted = partial(lines_of, notes, len(lines_of(notes)))
            session.write(b"".join(sequence for sequence, _ in typed))
            assert wait_until(lambda: len(noted()) >= len(wanted)), noted()
            assert noted() == wanted
            session.write(b"\x1b")
            assert wait_until(lambda: noted() == [*wanted, "escape"]), noted()
            comparison = Comparison(session.resizes).of(session.raw)
    assert (comparison.wrong, comparison.unknown) == ([], [])
    assert comparison.checked
