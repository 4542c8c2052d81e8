"""The log of one server: its errors and messages, and what happened to it; only the end is kept."""

import time
from collections import deque
from typing import Final

MAX_LOG_BYTES: Final = 256 * 1024
MAX_LINE_LENGTH: Final = 4_000
_MAX_NOTIFICATIONS: Final = 200
"""Within a second; further ones are left out."""


class ServerLog:
    """Takes any number of lines in bounded memory; every text in it may be foreign."""

    def __init__(self, largest: int = MAX_LOG_BYTES) -> None:
        self._largest = largest
        self._lines: deque[str] = deque()
        self._size = 0
        self._open = ""

    def add(self, line: str) -> None:
        """Add a line of its own."""
        line = line[:MAX_LINE_LENGTH]
        self._lines.append(line)
        self._size += len(line) + 1
        while self._size > self._largest:
            self._size -= len(self._lines.popleft()) + 1

    def feed(self, data: bytes) -> None:
        """Add what a server writes as its errors, in pieces of any size."""
        *lines, self._open = (self._open + data.decode("utf-8", "replace")).split("\n")
        if len(self._open) > MAX_LINE_LENGTH:
            lines.append(self._open)
            self._open = ""
        for line in lines:
            self.add(line.rstrip("\r"))

    def tail(self, lines: int) -> list[str]:
        """Return the last lines."""
        whole = [*self._lines, self._open] if self._open else list(self._lines)
        return whole[-lines:]


class FloodLimit:
    """Lets so many notifications of a server through in a second."""

    def __init__(self, log: ServerLog) -> None:
        self._log = log
        self._began = 0.0
        self._count = 0

    def lets_through(self) -> bool:
        """Count one more; return whether it may pass."""
        now = time.monotonic()
        if now >= self._began + 1:
            self._began, self._count = now, 0
        self._count += 1
        if self._count == _MAX_NOTIFICATIONS + 1:
            self._log.add("More notifications than can be shown; some are left out.")
        return self._count <= _MAX_NOTIFICATIONS
