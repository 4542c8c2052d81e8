"""Whether a server is at work: in its own words where it has them, else by its processor time."""

import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from benchmarks.terminal.process_tree import cpu_of

EVERY_S = 0.002
QUIET_S = 0.1
"""Processor time that stands still this long belongs to an idle server."""
QUIET_CPU_S = 0.002
"""What an idle server uses in that time at most: its clocks and its collector keep running."""
WAIT_S = 10.0
_RUNNING = re.compile(r"^vllm:num_requests_running(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
_LISTENING = "0A"


class CannotTell(Exception):
    """Why nothing can be said about this server."""


class Watch(Protocol):
    """A running look at a server."""

    how: str
    """What tells that the server is idle, in words."""

    def begin(self) -> None:
        """Look from now on."""

    def idle_after(self, stopped: float) -> float:
        """Return the seconds from this moment of the monotonic clock until the server is idle."""

    def end(self) -> None:
        """Look no more."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look: when it began and ended, and the number that it gave."""

    began: float
    ended: float
    number: float


class Sampling:
    """Look again and again in a thread, and keep every look."""

    def __init__(
        self, how: str, look: Callable[[], float], idle: "Idle", page: "_Page | None" = None
    ) -> None:
        self.how = how
        self._look, self._idle, self._page = look, idle, page
        self._looks: list[Look] = []
        self._problem = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """See `Watch`."""
        self._looks, self._problem = [], ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def idle_after(self, stopped: float) -> float:
        """See `Watch`.

        Raises:
            CannotTell: the server was not seen at work, or did not become idle.
        """
        deadline = stopped + WAIT_S
        while time.monotonic() < deadline and not self._problem:
            idle_since = self._idle(self._looks[:], stopped)
            if idle_since is not None:
                return idle_since - stopped
            self._over.wait(QUIET_S / 2)
        raise CannotTell(self._problem or f"still at work {WAIT_S:g} s after the stop")

    def end(self) -> None:
        """See `Watch`."""
        self._over.set()
        self._thread.join()
        if self._page is not None:
            self._page.close()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            began = time.monotonic()
            try:
                number = self._look()
            except (OSError, CannotTell) as error:
                self._problem = str(error) or type(error).__name__
                return
            self._looks.append(Look(began, time.monotonic(), number))


Idle = Callable[[list[Look], float], float | None]
"""Out of the looks and the moment of the stop: when the server was idle; None while it is not."""


def by_requests(looks: list[Look], stopped: float) -> float | None:
    """Return the end of the first look that saw no request, of a server that had one before.

    Raises:
        CannotTell: there was none before the stop either.
    """
    before = [look for look in looks if look.ended <= stopped]
    if not before or not before[-1].number:
        raise CannotTell("the answer had ended before it was stopped")
    idle = (look.ended for look in looks if look.began >= stopped and not look.number)
    return next(idle, None)


def by_processor_time(looks: list[Look], stopped: float) -> float | None:
    """Return the moment from which the processor time stands still.

    Raises:
        CannotTell: it stood still before the stop too.
    """
    before = [look for look in looks if stopped - QUIET_S <= look.ended <= stopped]
    if not before or before[-1].number - before[0].number < QUIET_CPU_S:
        raise CannotTell("it used next to no processor time before the stop")
    after = [look for look in looks if look.ended >= stopped]
    end = 0
    for look in after:
        while end < len(after) and after[end].ended < look.ended + QUIET_S:
            end += 1
        if end == len(after):
            return None
        if after[end].number - look.number < QUIET_CPU_S:
            return look.ended
    return None


def watch_of(url: str) -> Watch:
    """Find out how this server can be watched.

    Raises:
        CannotTell: in no way.
    """
    page = _Page(url)
    try:
        if "is_processing" in page.get("/slots"):
            return Sampling("/slots", lambda: _busy_slots(page.get("/slots")), by_requests, page)
        if _RUNNING.search(page.get("/metrics")):
            return Sampling("/metrics", lambda: _running(page.get("/metrics")), by_requests, page)
    finally:
        page.close()
    pid = listener(url)
    return Sampling("processor time", lambda: _tree_cpu_s(pid), by_processor_time)


class _Page:
    """Pages of a server, over one connection."""

    def __init__(self, url: str) -> None:
        host, port = _place(url)
        self._connection = HTTPConnection(host, port, timeout=WAIT_S)

    def get(self, path: str) -> str:
        """Return a page's text; empty where there is none.

        Raises:
            CannotTell: what answers is no web page.
        """
        try:
            self._connection.request("GET", path)
            reply = self._connection.getresponse()
            text = reply.read().decode(errors="replace")
        except HTTPException as error:
            raise CannotTell(f"{path} is not answered in HTTP: {error!r}") from error
        return text if reply.status == 200 else ""

    def close(self) -> None:
        """Close the connection; the next page opens it again."""
        self._connection.close()


def _place(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError as error:
        raise CannotTell(f"{url} is no address: {error}") from error
    if parts.scheme != "http" or host is None:
        raise CannotTell(f"{url} is no plain http address")
    return host, port


def _busy_slots(text: str) -> float:
    return len(re.findall(r'"is_processing":\s*true', text))


def _running(text: str) -> float:
    return sum(float(number) for number in _RUNNING.findall(text))


def listener(url: str) -> int:
    """Return the process that listens at this address.

    Raises:
        CannotTell: it does not run on this machine, or may not be inspected.
    """
    host, number = _place(url)
    port = f":{number:04X}"
    sockets = set[str]()
    for table in ("tcp", "tcp6"):
        rows = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        fields = [row.split() for row in rows]
        sockets |= {row[9] for row in fields if row[1].endswith(port) and row[3] == _LISTENING}
    targets = {f"socket:[{inode}]" for inode in sockets}
    is_here = host in {"127.0.0.1", "localhost", "::1", socket.gethostname()}
    for link in Path("/proc").glob("[0-9]*/fd/*") if is_here and targets else ():
        try:
            if str(link.readlink()) in targets:
                return int(link.parts[2])
        except OSError:
            continue
    raise CannotTell("no process of this machine listens there, and it does not say itself")


def _tree_cpu_s(root: int) -> float:
    """Return the processor time of a process and all below it."""
    if not Path(f"/proc/{root}").exists():
        raise CannotTell("the server has ended")
    waiting, total = [root], 0.0
    while waiting:
        pid = waiting.pop()
        total += cpu_of(pid)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                waiting += [int(child) for child in children.read_text().split()]
            except OSError:
                continue
    return total
