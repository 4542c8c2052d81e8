"""The server as a child process, and what it noted."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Self

from benchmarks.terminal.backend.server import LOG_PATH, Record

ROOT = Path(__file__).resolve().parents[3]
_LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Backend:
    """A server in a process of its own, so that its work is not the driver's."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "benchmarks.terminal.backend"],
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def freeze(self) -> None:
        """Let the server hang with all its connections open, until it is ended."""
        self._process.send_signal(signal.SIGSTOP)

    def records(self) -> list[Record]:
        """Return what the server noted, the oldest first."""
        with _LOCAL.open(self.url + LOG_PATH, timeout=10) as reply:
            return [Record(**row) for row in json.load(reply)]

    def record(self, ident: int, timeout_s: float = 10.0) -> Record | None:
        """Return what was noted about one answer, as soon as it was asked for."""
        end = time.perf_counter() + timeout_s
        while time.perf_counter() < end:
            matching = [record for record in self.records() if record.ident == ident]
            if matching:
                return matching[-1]
            time.sleep(0.02)
        return None
