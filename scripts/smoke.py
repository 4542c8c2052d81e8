"""Drive `make run` on a pseudo-terminal as a newcomer would, with the real starter model.

    python scripts/smoke.py

Home is an empty folder, so the starter model is downloaded. Checks that the prompt takes keys, that
a question is answered, that Esc stops a long answer, and that leaving gives the terminal
back and leaves no process behind.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.support.pty_session import PtySession, wait_until

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "What is the capital of France?"
LONG_QUESTION = "Write a very long story about a lighthouse keeper and the sea."


def say(text: str, since: float) -> None:
    """Print a step with the seconds since the start."""
    sys.stdout.write(f"{time.monotonic() - since:7.2f} s  {text}\n")
    sys.stdout.flush()


def drive(session: PtySession, started: float) -> None:
    """Do what a newcomer does."""
    session.wait_for(lambda: session.is_alternate_screen, timeout=600)
    session.wait_for("Ask anything", timeout=30)
    say("the prompt is there", started)
    session.write(QUESTION)
    session.wait_for(QUESTION)
    session.write("\r")
    session.wait_for("first token", timeout=120)
    say("the first question is answered", started)
    session.write(f"{LONG_QUESTION}\r")
    session.wait_for("Esc stop", timeout=60)
    session.wait_for("tok/s  ", timeout=60)
    session.write(b"\x1b")
    session.wait_for("Stopped", timeout=5)
    say("Esc stopped a long answer", started)
    session.write("/quit")
    session.wait_for("/quit")
    session.write("\r")
    status = session.exit_status(timeout=10)
    say(f"/quit ended with status {status}", started)
    if status != 0:
        raise SystemExit(f"exit status {status}")
    if session.termios() != session.termios_before:
        raise SystemExit("the terminal was not given back")
    if not wait_until(lambda: not session.processes(), 5):
        raise SystemExit(f"left behind: {session.processes()}")
    say("the terminal is as before and no process is left", started)


def main() -> int:
    """Run it in an empty home."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "XDG_DATA_HOME": f"{home}/data", "XDG_CONFIG_HOME": f"{home}/config"}
        env |= {"XDG_STATE_HOME": f"{home}/state", "XDG_CACHE_HOME": f"{home}/cache"}
        with PtySession(["make", "run"], env, ROOT, size=(80, 24)) as session:
            drive(session, started)
    sys.stdout.write("1 passed, 0 failed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
