"""What the program does without any input: `python -m benchmarks.idle [SECONDS]`.

It has answered a question and has the cursor in its input. Counted are processor time, wake-ups,
what it writes to the disk and what it sends to the terminal.
"""

import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from benchmarks.soak.__main__ import ROOT, SIZE, environment, running_server
from benchmarks.soak.server import MODEL
from tests.support.pty_session import PtySession

SECONDS = 60.0
SETTLE_S = 3.0
CPU_LIMIT = 0.01
TERMINAL_LIMIT = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters at one moment."""

    cpu_s: float
    disk_bytes: int
    written: int
    """Calls of `write`, to any file."""
    wakeups: int
    files: dict[Path, tuple[int, int]]
    """Size and time of change of all files of the home."""

    @classmethod
    def of(cls, session: PtySession, home: Path) -> "Reading":
        """Read them."""
        pids = session.processes()
        io = [_numbers(Path(f"/proc/{pid}/io")) for pid in pids]
        tasks = [task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()]
        files = [file for file in home.rglob("*") if file.is_file()]
        return cls(
            cpu_s=session.cpu_seconds(),
            disk_bytes=sum(one["write_bytes"] for one in io),
            written=sum(one["syscw"] for one in io),
            wakeups=sum(_numbers(task / "status")["voluntary_ctxt_switches"] for task in tasks),
            files={file: (file.stat().st_size, file.stat().st_mtime_ns) for file in files},
        )


def _numbers(file: Path) -> dict[str, int]:
    pairs = (line.split(":", 1) for line in file.read_text().splitlines())
    return {name: int(value) for name, value in pairs if value.strip().isdigit()}


def main() -> int:
    """Wait, print the figures, and fail when a limit is passed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    argv = [sys.executable, "-P", "-m", "ollm_tui", "--model", f"local://{MODEL}"]
    with tempfile.TemporaryDirectory() as folder, running_server() as (_, url):
        home = Path(folder)
        with PtySession(argv, environment(home, url), ROOT, SIZE) as session:
            session.wait_for("ready", timeout=30)
            session.write("Answer once: t1 plain 3000\r")
            session.wait_for("Answer 1.", timeout=20)
            session.wait_for(lambda: "Esc stop" not in session.screen_text(), timeout=20)
            session.write("half a prompt")
            session.wait_for("half a prompt")
            threading.Event().wait(SETTLE_S)
            session.forget()
            before = Reading.of(session, home)
            threading.Event().wait(seconds)
            after = Reading.of(session, home)
            printed = session.raw
            session.write(", and the rest")
            session.wait_for("half a prompt, and the rest")
            used = Reading.of(session, home)
    cpu = (after.cpu_s - before.cpu_s) / seconds
    written = after.disk_bytes - before.disk_bytes
    changed = {file for file, state in after.files.items() if before.files.get(file) != state}
    changed |= before.files.keys() - after.files.keys()
    print(f"{seconds:.0f} s idle: {cpu:.2%} of one core (limit {CPU_LIMIT:.0%})")
    print(f"for scale: {used.wakeups - after.wakeups} wake-ups for the 14 keys after it")
    print(f"{(after.wakeups - before.wakeups) / seconds:.1f} wake-ups in a second")
    print(
        f"{written} bytes to the disk, {after.written - before.written} writes, files changed: "
        + (", ".join(sorted(file.name for file in changed)) or "none")
    )
    print(f"{len(printed)} bytes to the terminal: {printed[:200]!r}")
    failed = cpu > CPU_LIMIT or written or changed or len(printed) > TERMINAL_LIMIT
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
