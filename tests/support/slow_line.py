"""A line that is slow: it delays both directions, and delivers what is typed byte by byte.

    python -m tests.support.slow_line PROGRAM [ARGUMENT]...

It runs a program on a pseudo-terminal of its own, whose other side is this one, as SSH does.
"""

import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time
import tty
from collections import deque

DELAY_S = 0.04
GAP_S = 0.004
"""From one byte of what is typed to the next."""
READ_SIZE = 65536


class Direction:
    """What is on its way from one descriptor to another."""

    def __init__(self, source: int, target: int, gap_s: float = 0.0) -> None:
        self.source = source
        self.target = target
        self._gap_s = gap_s
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._last_due = 0.0

    @property
    def due(self) -> float | None:
        """When the next part arrives, if there is one."""
        return self._waiting[0][0] if self._waiting else None

    def take(self) -> bool:
        """Read what there is; False at the end."""
        try:
            data = os.read(self.source, READ_SIZE)
        except OSError:
            return False
        parts = [data[at : at + 1] for at in range(len(data))] if self._gap_s else [data]
        for part in parts:
            self._last_due = max(self._last_due + self._gap_s, time.perf_counter() + DELAY_S)
            self._waiting.append((self._last_due, part))
        return bool(data)

    def deliver(self) -> None:
        """Write what has arrived."""
        while self._waiting and self._waiting[0][0] <= time.perf_counter():
            data = self._waiting.popleft()[1]
            while data:
                data = data[os.write(self.target, data) :]


def relay(typed: Direction, shown: Direction) -> None:
    """Pass on both directions until the program has ended and all of its output has arrived."""
    is_open = True
    while is_open or shown.due is not None:
        dues = [direction.due for direction in (typed, shown) if direction.due is not None]
        wait = max(0.0, min(dues) - time.perf_counter()) if dues else None
        sources = [typed.source, shown.source] if is_open else []
        ready, _, _ = select.select(sources, [], [], wait)
        if typed.source in ready:
            typed.take()
        if shown.source in ready:
            is_open = shown.take()
        if is_open:
            typed.deliver()
        shown.deliver()


def adopt_size(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))


def main(argv: list[str]) -> int:
    process, terminal = pty.fork()
    if not process:
        os.execvp(argv[0], argv)
    adopt_size(terminal)
    signal.signal(signal.SIGWINCH, lambda _number, _frame: adopt_size(terminal))
    tty.setraw(0)
    relay(Direction(0, terminal, GAP_S), Direction(terminal, 1))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
