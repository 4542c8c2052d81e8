"""A program on a pseudo-terminal, watched from outside."""

import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from benchmarks.terminal.emulator import Emulator
from benchmarks.terminal.process_tree import ProcessTree

SIZE = (120, 40)
MARK = "BENCH_SESSION"
KEY_GAP_S = 0.004
now = time.perf_counter

Seen = Callable[[Emulator], object]


class Watch:
    """Something to come on the screen, and when it did."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.at: float | None = None


class Session:
    """A thread reads what the program writes, notes when, and looks whether what is waited for is
    there, so that times are those of the bytes and not those of the waiting thread.
    """

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, *, echoes: bool = False
    ) -> None:
        columns, rows = SIZE
        self.bytes = 0
        self.newest_output = 0.0
        self.ended = False
        self.emulator = Emulator(columns, rows, self.write)
        self._changed = threading.Condition()
        self._awaited = Watch(lambda _: False)
        self._others: list[Watch] = []
        mark = uuid.uuid4().hex
        self.tree = ProcessTree(f"{MARK}={mark}")
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if not echoes:
            _silence(slave)
        terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        terminal |= {"LC_ALL": "C.UTF-8", MARK: mark}
        self.started = now()
        self._process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**env, **terminal},
            cwd=cwd,
            start_new_session=True,
            # A helper program that took the terminal would add its own start to what is measured.
            preexec_fn=_take_terminal,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # how Linux reports that the terminal has no process any more
                data = b""
            at = now()
            with self._changed:
                if not data:
                    self.ended = True
                    self._changed.notify_all()
                    return
                self.bytes += len(data)
                self.newest_output = at
                self.emulator.feed(data)
                for watch in (self._awaited, *self._others):
                    if watch.at is None and watch.seen(self.emulator):
                        watch.at = at
                        self._changed.notify_all()

    def write(self, data: bytes | str) -> None:
        """Send bytes as the terminal would."""
        os.write(self._master, data.encode() if isinstance(data, str) else data)

    def type(self, text: str, gap_s: float = KEY_GAP_S) -> None:
        """Type like a fast person, so that nothing takes it for a paste."""
        for character in text:
            self.write(character)
            time.sleep(gap_s)

    def click(self, text: str) -> None:
        """Press the left button on the first place that shows `text`."""
        for y, line in enumerate(self.screen().split("\n")):
            if (x := line.find(text)) >= 0:
                self.write(f"\x1b[<0;{x + 2};{y + 1}M")
                time.sleep(0.05)
                self.write(f"\x1b[<0;{x + 2};{y + 1}m")
                return

    def expect(self, wanted: str | Seen) -> None:
        """Begin to look for a pattern on the screen; do it before the key that brings it."""
        self._awaited = self._look_for(wanted)

    def wait(self, timeout_s: float = 20.0) -> float | None:
        """Return when what is expected came; None if it has not, or the program ended."""
        return self.wait_watch(self._awaited, timeout_s)

    def watch(self, wanted: str | Seen) -> Watch:
        """Look for something beside what is expected."""
        watch = self._look_for(wanted)
        self._others.append(watch)
        return watch

    def wait_watch(self, watch: Watch, timeout_s: float) -> float | None:
        """Return when it came; None as in `wait`."""
        with self._changed:
            self._changed.wait_for(lambda: watch.at is not None or self.ended, timeout_s)
            return watch.at

    def _look_for(self, wanted: str | Seen) -> Watch:
        watch = Watch(pattern_seen(wanted) if isinstance(wanted, str) else wanted)
        with self._changed:
            watch.at = now() if watch.seen(self.emulator) else None
        return watch

    def wait_for(self, wanted: str | Seen, timeout_s: float = 20.0) -> float | None:
        """Expect and wait in one."""
        self.expect(wanted)
        return self.wait(timeout_s)

    def screen(self) -> str:
        """Return the text on the screen."""
        with self._changed:
            return self.emulator.text

    def lines(self) -> list[str]:
        """Return the rows on the screen."""
        with self._changed:
            return self.emulator.lines

    def settle(self, silence_s: float = 0.4, timeout_s: float = 5.0) -> None:
        """Wait until the program has written nothing for a while, but not forever."""
        end = now() + timeout_s
        while now() < end and now() - self.newest_output < silence_s:
            time.sleep(0.02)

    def close(self) -> None:
        """End the program and all it started."""
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            for pid in self.tree.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            end = now() + 1.0
            while now() < end and self._lives():
                time.sleep(0.02)
        self._process.kill()
        self._process.wait()
        self._reader.join(1)
        os.close(self._master)

    def _lives(self) -> bool:
        self._process.poll()
        return bool(self.tree.pids())


def pattern_seen(pattern: str) -> Seen:
    """Look for a regular expression in the text of the screen."""
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda emulator: compiled.search(emulator.text)


def _silence(terminal: int) -> None:
    """Let only the program itself show what is typed."""
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
