"""Every way in which the program can be made to end while it streams, and what it leaves behind."""

import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.conftest import OLLM, ask, environment
from tests.support.forked import Forks
from tests.support.pty_session import PtySession, wait_until

OFF = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l", b"\x1b[<u")
BELOW_A_SHELL = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]


@dataclass(frozen=True)
class Ending:
    """How it is ended and the status that a shell sees; None where nobody is left to see it."""

    end: Callable[[PtySession], None]
    status: int | None
    below_a_shell: bool = False
    keeps_terminal: bool = True


def _signal(number: signal.Signals) -> Ending:
    return Ending(lambda session: session.signal(number), 128 + number)


def _write_without_reader(session: PtySession) -> None:
    """SIGPIPE is ignored by Python; it must end nothing, and quitting must still work."""
    session.signal(signal.SIGPIPE)
    session.write(b"\x1b")
    session.wait_for("Stopped", 5)
    ask(session, "/quit")


ENDINGS: Mapping[str, Ending] = {
    **{
        number.name: _signal(number)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)
    },
    "closed terminal": Ending(lambda session: session.hang_up(), None, keeps_terminal=False),
    "dead parent": Ending(
        lambda session: session.signal(signal.SIGKILL),
        -signal.SIGKILL,
        below_a_shell=True,
        keeps_terminal=False,
    ),
    "SIGPIPE": Ending(_write_without_reader, 0),
}


@dataclass(frozen=True)
class Left:
    """What was left of one run."""

    seconds: float
    """From the ending to the last process gone."""
    faults: tuple[str, ...] = ()


def end_while_streaming(ending: Ending, home: Path, url: str, forks: Forks | None = None) -> Left:
    """Start, let an endless answer come, end, and look at what is left."""
    argv = [*(BELOW_A_SHELL if ending.below_a_shell else ()), *OLLM, "--model", "local://tiny"]
    env = environment(home) | {"OLLAMA_HOST": url}
    copied = None if ending.below_a_shell else forks
    with PtySession(argv, env, home, forks=copied) as session:
        session.wait_for("Chatting with", 20)
        ask(session, "forever")
        session.wait_for("word9", 20)
        began = time.monotonic()
        ending.end(session)
        is_gone = wait_until(lambda: not session.processes(), 8)
        seconds = time.monotonic() - began
        faults = [] if is_gone else ["a process is left"]
        if ending.status is not None and (status := session.exit_status()) != ending.status:
            faults.append(f"status {status}")
        if ending.keeps_terminal:
            if session.termios() != session.termios_before:
                faults.append("line settings")
            faults += [f"{off!r} is missing" for off in OFF if off not in session.raw]
        return Left(seconds, tuple(faults))
