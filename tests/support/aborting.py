"""Servers in processes of their own, and a count of what is open in this one."""

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio._backends._asyncio import _threadpool_idle_workers

ROOT = Path(__file__).parents[2]
MODULES = {"ollama": "fake_ollama", "openai-compatible": "fake_openai"}
SETTLE_S = 2.0


class Census(NamedTuple):
    tasks: int
    files: int
    sockets: int
    threads: int

    @classmethod
    def take(cls) -> "Census":
        """Count what this process holds."""
        targets = [_target(entry) for entry in Path("/proc/self/fd").iterdir()]
        sockets = sum(target.startswith("socket:") for target in targets)
        # The pool keeps workers that wait, as many as once had work at the same moment.
        threads = threading.active_count() - len(_threadpool_idle_workers.get(()))
        return cls(len(asyncio.all_tasks()), len(targets), sockets, threads)

    def is_within(self, other: "Census") -> bool:
        return all(mine <= theirs for mine, theirs in zip(self, other, strict=True))


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""


@contextmanager
def server_process(module: str) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", f"tests.support.{module}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def answering(url: str) -> int:
    """Ask a server how many answers it is giving, beside this one."""
    with urllib.request.urlopen(f"{url}/_seen", timeout=5) as reply:
        return int(json.load(reply)["answering"]) - 1


async def settles(test: Callable[[], bool]) -> bool:
    with anyio.move_on_after(SETTLE_S):
        while not test():
            await anyio.sleep(0.002)
    return test()
