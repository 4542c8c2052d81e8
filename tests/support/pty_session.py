"""Run a program on a pseudo-terminal of its own and watch it from outside.

The process gets its own session and controlling terminal. One thread reads what it prints into a
screen, one waits for its end; both wake whoever waits for a condition, so no test sleeps.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.forked import Forks, Running
from tests.support.guarded.fair_clock import sleep
from tests.support.scrolling_screen import screen_and_stream
from tests.support.vt import Token, tokens, unfinished

ROOT = Path(__file__).resolve().parents[2]
TAG = "PTY_SESSION_TAG"

# The new session has no terminal until its leader takes one; doing it in a program of its own
# avoids running Python between fork and exec of a process that has threads.
_TAKE_TERMINAL = (
    "import fcntl,os,sys,termios;fcntl.ioctl(0,termios.TIOCSCTTY,0);"
    "os.execvpe(sys.argv[1],sys.argv[1:],os.environ)"
)

Condition = str | bytes | Callable[[], bool]


class _Screens:
    """The normal and the alternate screen, and only sequences the emulator understands."""

    def __init__(self, columns: int, lines: int) -> None:
        pairs = [screen_and_stream(columns, lines) for _ in range(2)]
        self._screens, self._streams = zip(*pairs, strict=True)
        self._active = 0
        self._rest = b""

    def feed(self, data: bytes) -> None:
        data = self._rest + data
        end = unfinished(data)
        self._rest = data[end:]
        run: list[str] = []
        for token in tokens(data[:end]):
            if token.raw in {"\x1b[?1049h", "\x1b[?1049l"}:
                self._draw(run)
                self._switch(int(token.raw.endswith("h")))
            elif _is_known(token):
                run.append(token.raw)
        self._draw(run)

    def _draw(self, run: list[str]) -> None:
        self._streams[self._active].feed("".join(run))
        run.clear()

    def _switch(self, active: int) -> None:
        self._active = active
        if active:
            self._screens[1].reset()

    def resize(self, columns: int, lines: int) -> None:
        for screen in self._screens:
            screen.resize(lines, columns)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screens[self._active].display]

    @property
    def is_alternate(self) -> bool:
        return self._active == 1


def _is_known(token: Token) -> bool:
    match token.kind:
        case "string" | "broken":
            return False
        case "csi":
            return token.raw[2] not in "<=>" and not set(token.raw) & set("$ \"'!#%&()*+,-./")
        case _:
            return True


class PtySession(contextlib.AbstractContextManager["PtySession"]):
    """A program on a pseudo-terminal; a context manager that leaves no process behind."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        size: tuple[int, int] = (80, 24),
        forks: Forks | None = None,
    ) -> None:
        """Start a new process, or for `python -P ...` a copy of one that has its modules."""
        self._tag = f"{TAG}={uuid.uuid4().hex}"
        self._changed = threading.Condition(threading.RLock())
        self._screens = _Screens(*size)
        self._raw = bytearray()
        self._resizes = [(0, size)]
        self._status: int | None = None
        self._drained = False
        self._flows = threading.Event()
        self._flows.set()
        self._master, self._slave = os.openpty()
        self._wake_read, self._wake_write = os.pipe()
        self._set_size(*size)
        self.termios_before = self.termios()
        self._process = self._started(argv, self._environment(env or {}), cwd or ROOT, forks)
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._read, self._reap)
        ]
        for thread in self._threads:
            thread.start()

    def _started(
        self, argv: Sequence[str], env: dict[str, str], cwd: Path, forks: Forks | None
    ) -> subprocess.Popen[bytes] | Running:
        if forks:
            assert list(argv[:2]) == [sys.executable, "-P"]
            streams = [self._slave] * 3
            return forks.start(argv[2:], environ=env, cwd=cwd, streams=streams, has_terminal=True)
        return subprocess.Popen(
            [sys.executable, "-ISc", _TAKE_TERMINAL, *argv],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in {"PATH", "HOME", "LD_LIBRARY_PATH"} or name.startswith("XDG_")
        }
        terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        name, _, value = self._tag.partition("=")
        return {**inherited, **terminal, **env, name: value}

    def __exit__(self, *_error: object) -> None:
        self.close()

    # The terminal's side.

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._master, self._wake_read], [], [])
            self._flows.wait()
            if self._master in ready:
                data = os.read(self._master, 65536)
                with self._changed:
                    self._raw += data
                    self._screens.feed(data)
                    self._changed.notify_all()
            else:
                # The program is gone, or the terminal is to be closed, and all was read.
                with self._changed:
                    self._drained = True
                    self._changed.notify_all()
                return

    def _reap(self) -> None:
        status = self._process.wait()
        with self._changed:
            self._status = status
            self._changed.notify_all()
        os.write(self._wake_write, b"x")

    def write(self, data: str | bytes) -> None:
        os.write(self._master, data.encode() if isinstance(data, str) else data)

    def resize(self, columns: int, lines: int) -> None:
        with self._changed:
            self._screens.resize(columns, lines)
            self._resizes.append((len(self._raw), (columns, lines)))
        self._set_size(columns, lines)

    def _set_size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Take no output meanwhile, as a terminal does whose connection hangs."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    def hang_up(self) -> None:
        """Close the terminal as a closed window does."""
        os.write(self._wake_write, b"x")
        self._threads[0].join()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def termios(self) -> list[object]:
        return list(termios.tcgetattr(self._slave))

    # What can be seen.

    @property
    def raw(self) -> bytes:
        with self._changed:
            return bytes(self._raw)

    @property
    def resizes(self) -> list[tuple[int, tuple[int, int]]]:
        """After how many bytes the terminal took which size, as columns and rows."""
        return list(self._resizes)

    def forget(self) -> None:
        """Drop what was printed so far; the screen stays. For sessions that go on for long."""
        with self._changed:
            self._raw.clear()

    def screen_text(self) -> str:
        with self._changed:
            return "\n".join(self._screens.lines)

    @property
    def is_alternate_screen(self) -> bool:
        with self._changed:
            return self._screens.is_alternate

    def wait_for(self, condition: Condition, timeout: float = 30.0) -> None:
        """Wait until text is on the screen, bytes were printed, or the predicate is true."""
        with self._changed:
            self._wait(lambda: self._drained or self._holds(condition), timeout)
            if not self._holds(condition):
                state = "ended" if self._drained else f"not seen within {timeout} s"
                raise AssertionError(
                    f"{condition!r}: {state} (status {self._status})\n{self.screen_text()}\n"
                    f"last bytes: {bytes(self._raw[-400:])!r}"
                )

    def _wait(self, is_over: Callable[[], bool], timeout: float) -> None:
        end = time.monotonic() + timeout
        while not is_over() and (left := end - time.monotonic()) > 0:
            self._changed.wait(left)

    def _holds(self, condition: Condition) -> bool:
        match condition:
            case str():
                return condition in self.screen_text()
            case bytes():
                return condition in self._raw
            case _:
                return condition()

    def exit_status(self, timeout: float = 30.0) -> int:
        """Wait for the end of the program; as `subprocess` tells it, and all its output is read."""
        with self._changed:
            self._wait(lambda: self._status is not None and self._drained, timeout)
            if self._status is None:
                raise AssertionError(f"still running after {timeout} s\n{self.screen_text()}")
            return self._status

    # The processes.

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def state(self) -> str:
        """Return the kernel's letter for what the program does: T is stopped, S sleeps."""
        stat = _read_or_empty(Path(f"/proc/{self.pid}/stat"))
        return stat.rpartition(b")")[2].split()[0].decode()

    def processes(self) -> list[int]:
        """List every living process that was started from the program, whoever is its parent."""
        tag = self._tag.encode()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and (environ := _read_or_empty(entry / "environ"))
            # The system shows no environment of a copy's own.
            and (tag in environ or int(entry.name) == self.pid)
        ]

    def cpu_seconds(self) -> float:
        total = 0
        for pid in self.processes():
            fields = _read_or_empty(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
            total += sum(int(field) for field in fields[11:13])
        return total / os.sysconf("SC_CLK_TCK")

    def cpu_within(self, seconds: float) -> float:
        """Return the processor time used in the next seconds, with nobody typing."""
        before = self.cpu_seconds()
        sleep(seconds)
        return self.cpu_seconds() - before

    def close(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.kill()
        for thread in self._threads:
            thread.join(10)
        for descriptor in (self._master, self._slave, self._wake_read, self._wake_write):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self._slave = self._wake_read = self._wake_write = -1


def _read_or_empty(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def wait_until(condition: Callable[[], bool], timeout: float = 30.0) -> bool:
    """Ask until the condition is true; only for what sends no notice, such as `/proc`."""
    end = time.monotonic() + timeout
    pause = threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.02)
    return True
