"""From the Esc byte on the terminal to the server seeing the disconnect, many times.

    python -m benchmarks.abort [TIMES]

The program runs on a pseudo-terminal against a server in a process of its own that streams for
ever and notes, on the machine's monotonic clock, when a connection is gone.
"""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.pty_session import PtySession

TIMES = 200
LIMIT_MS = 100.0
ROOT = Path(__file__).parents[1]


def percentile(values: list[float], share: float) -> float:
    """Return the value that `share` of all do not pass."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def held(pid: int) -> tuple[int, int, int]:
    """Count what the program holds: open files, sockets among them, and threads."""
    targets = [str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    sockets = sum(target.startswith("socket:") for target in targets)
    return len(targets), sockets, len(list(Path(f"/proc/{pid}/task").iterdir()))


def one_abort(
    session: PtySession, server: "subprocess.Popen[str]", number: int
) -> tuple[float, float]:
    """Ask for an endless answer, press Esc, and give the two delays in ms."""
    session.write(f"endless {number}\r")
    _await_line(server, "FIRST")
    session.wait_for(f"tick{number}x", timeout=20)
    before = session.screen_text().count("Stopped")
    pressed = time.monotonic()
    session.write(b"\x1b")
    closed = float(_await_line(server, "GONE"))
    session.wait_for(lambda: _says_stopped(session, number, before), timeout=20)
    return (closed - pressed) * 1000, (time.monotonic() - pressed) * 1000


def _says_stopped(session: PtySession, number: int, before: int) -> bool:
    text = session.screen_text()
    at = text.rfind(f"tick{number}x")
    return text.count("Stopped") > before or "Stopped" in text[at:] or "stopped" in text[at:]


def _await_line(server: "subprocess.Popen[str]", word: str) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.match(rf"{word} (\S+)", line):
            return match[1]
    raise SystemExit("the server ended")


def main() -> int:
    """Run the aborts, print the figures, and fail when the limit is passed."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    endless = [sys.executable, "-P", str(Path(__file__).with_name("endless_server.py"))]
    to_server: list[float] = []
    to_screen: list[float] = []
    with (
        subprocess.Popen(endless, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            env = {"HOME": folder, "OLLAMA_HOST": _await_line(server, "URL")}
            env |= {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": folder, "XDG_STATE_HOME": folder}
            env |= {"XDG_DATA_HOME": folder}
            argv = [sys.executable, "-P", "-m", "ollm_tui", "--model", "local://endless"]
            with PtySession(argv, env, Path(folder), size=(100, 30)) as session:
                session.wait_for("endless", timeout=30)
                one_abort(session, server, times)
                before = held(session.pid)
                for number in range(times):
                    server_ms, screen_ms = one_abort(session, server, number)
                    to_server.append(server_ms)
                    to_screen.append(screen_ms)
                after = held(session.pid)
                left = len(session.processes())
        finally:
            server.kill()
    for name, values in (("server sees it", to_server), ("screen says it", to_screen)):
        print(
            f"{name:16}  median {statistics.median(values):6.1f} ms   "
            f"p99 {percentile(values, 0.99):6.1f} ms   max {max(values):6.1f} ms"
        )
    print(f"aborts {times}, limit p99 {LIMIT_MS:.0f} ms")
    print(f"processes {left}; files, sockets, threads before {before}, after {after}")
    worst = max(percentile(to_server, 0.99), percentile(to_screen, 0.99))
    leaks = left > 1 or any(now > then for now, then in zip(after, before, strict=True))
    return 1 if leaks or worst > LIMIT_MS else 0


if __name__ == "__main__":
    sys.exit(main())
