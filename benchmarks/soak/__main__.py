"""Run a soak: `python -m benchmarks.soak [TURNS] [SEED]`.

The real program on a pseudo-terminal, thousands of turns at full speed: a fifth stopped, a tenth
with a tool, a twentieth broken, a new chat every 25 to 50 turns, and now and then back to another
one. Fails when it holds more at the end than at the start, or is slower.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchmarks.soak.census import Census, take
from benchmarks.soak.plan import plan
from benchmarks.soak.server import MODEL
from benchmarks.soak.session import Person, ServerLog
from benchmarks.soak.verdict import judge
from tests.support.pty_session import PtySession

ROOT = Path(__file__).parents[2]
TURNS = 5000
LOOK_EVERY = 100
RESTS_S = 1.5
"""Within this time files of a chat that was left are closed."""
SIZE = (100, 30)
ECHO = "import os,tty;tty.setraw(0);[os.write(1,os.read(0,64)) for _ in iter(int,1)]"


@contextmanager
def running_server() -> Iterator[tuple[IO[str], str]]:
    """Run the server; return its log, and its address."""
    argv = [sys.executable, "-P", str(Path(__file__).with_name("server.py"))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout, process.stdout.readline().split()[1]
        finally:
            process.kill()


def environment(home: Path, url: str) -> dict[str, str]:
    """Keep everything the program writes inside `home`."""
    kinds = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    return {"HOME": str(home), "PYTHONPATH": str(ROOT), "OLLAMA_HOST": url, **kinds}


def soak(home: Path, turns: int, seed: int) -> tuple[list[Census], Person]:
    """Take all turns; return the looks at the program and what was done."""
    chats = home / "data" / "ollm" / "chats.db"
    ollm = [sys.executable, "-P", "-m", "ollm_tui", "--tools", "calculate"]
    ollm += ["--model", f"local://{MODEL}"]
    looks: list[Census] = []
    with (
        running_server() as (log, url),
        PtySession(ollm, environment(home, url), home, SIZE) as session,
        PtySession([sys.executable, "-ISc", ECHO], {}, home, SIZE) as reference,
    ):
        person = Person(session, ServerLog(log))
        session.wait_for(f"{MODEL} · ", timeout=30)
        session.wait_for("ready", timeout=30)
        began = time.monotonic()

        def look(turn: int) -> None:
            person.settle()
            time.sleep(RESTS_S)
            looks.append(take(session, reference, chats, turn))
            say(looks[-1], time.monotonic() - began)

        for turn in plan(turns, seed):
            match turn.before:
                case "new chat":
                    person.begin_chat()
                    if not looks or turn.number - looks[-1].turn >= LOOK_EVERY:
                        look(turn.number)
                case "other chat":
                    person.open_other(turn.row)
                case _:
                    pass
            person.take(turn)
        person.begin_chat()
        look(turns)
    return looks, person


def say(look: Census, seconds: float) -> None:
    """Print one look."""
    print(
        f"{seconds:6.0f} s  turn {look.turn:5}  {look.rss_kb / 1024:6.1f} MB  "
        f"files {look.files} threads {look.threads} children {look.children}  "
        f"chats {look.chats_bytes / 1e6:.2f} MB  key {max(look.keys_ms):.1f} ms at most",
        flush=True,
    )


def main() -> int:
    """Soak, print the figures, and fail when something grew."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    print(f"{turns} turns, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        try:
            looks, person = soak(home, turns, seed)
        except BaseException:
            for report in home.rglob("crash-*.txt"):
                print(report.read_text())
            raise
    print(", ".join(f"{what} {count}" for what, count in person.done.most_common()))
    faults = judge(looks, turns)
    print("; ".join(faults) or "nothing grew")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
