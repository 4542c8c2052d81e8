"""What a checked download costs against the plainest one: httpx, a file, and nothing looked at.

A server in a process of its own sends a body of zeroes and ones at full speed. Both ways fetch it
in turn, in the same run, and the medians are compared: `plain` reads with httpx and writes in the
loop; `transfer` bounds memory, writes and sums in a thread, forces to the disk and renames. The
`and sum` way is plain with the sum made in the loop: what anybody pays who checks at all.

    python -m benchmarks.download [MEGABYTES] [ROUNDS]
"""

import asyncio
import hashlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.stalls import watched_loop
from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.providers.fetcher import HttpFetcher

MEGABYTES, ROUNDS = 400, 7
LIMIT = 1.5
STALL_S = 0.1
PIECE = bytes(range(256)) * 4096
"""One mebibyte."""


def serve() -> None:
    """Answer every request with the number of pieces in its path, until killed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (came := connection.recv(65536)):
                    head += came
                count = int(head.split(b" ", 2)[1][1:] or 0) if head else 0
                size = count * len(PIECE)
                connection.sendall(
                    f"HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n"
                    'etag: "same"\r\nconnection: close\r\n\r\n'.encode()
                )
                try:
                    for _ in range(count):
                        connection.sendall(PIECE)
                except OSError:
                    continue


async def plain(url: str, target: Path, *, sums: bool = False) -> None:
    """Fetch without looking."""
    digest = hashlib.sha256()
    async with httpx.AsyncClient() as client, client.stream("GET", url) as answer:
        with target.open("wb") as file:
            async for piece in answer.aiter_raw():
                if sums:
                    digest.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())


async def checked(url: str, target: Path, sha256: str, size: int) -> None:
    """Fetch as the program does."""

    def report(_step: Progress) -> None:
        return

    async with aclosing(HttpFetcher()) as fetcher:
        source = FileSource(url=url, sha256=sha256, size=size)
        await transfer(fetcher, source, target, report=report)


@dataclass
class Taken:
    """What one way took in each round."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    stall_s: list[float] = field(default_factory=list)

    @property
    def wall(self) -> float:
        """The median of the seconds."""
        return statistics.median(self.wall_s)

    @property
    def cpu(self) -> float:
        """The median of the seconds of processor time, of all threads."""
        return statistics.median(self.cpu_s)


async def timed(way: Callable[[], Awaitable[None]], target: Path, taken: Taken) -> None:
    """Go one way once."""
    target.unlink(missing_ok=True)
    async with watched_loop() as stalls:
        began, worked = time.perf_counter(), time.process_time()
        await way()
        taken.wall_s.append(time.perf_counter() - began)
        taken.cpu_s.append(time.process_time() - worked)
    taken.stall_s.append(stalls.longest)


async def run(megabytes: int, rounds: int) -> int:
    """Take turns, print the figures."""
    size = megabytes * len(PIECE)
    digest = hashlib.sha256()
    for _ in range(megabytes):
        digest.update(PIECE)
    command = [sys.executable, "-m", "benchmarks.download", "serve"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        url = f"{server.stdout.readline().strip()}/{megabytes}"
        target = Path(folder) / "m.gguf"
        ways: dict[str, Callable[[], Awaitable[None]]] = {
            "plain": lambda: plain(url, target),
            "plain and sum": lambda: plain(url, target, sums=True),
            "transfer": lambda: checked(url, target, digest.hexdigest(), size),
        }
        costs = {name: Taken() for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                await timed(way, target, costs[name])
        server.kill()
    reference = costs["plain"]
    for name, cost in costs.items():
        print(
            f"{name:14} {cost.wall:5.2f} s ({cost.wall / reference.wall:4.2f} x plain)   "
            f"CPU {cost.cpu:5.2f} s ({cost.cpu / reference.cpu:4.2f} x plain)   "
            f"{size / cost.wall / 1e6:5.0f} MB/s   "
            f"longest stall {max(cost.stall_s) * 1000:5.1f} ms"
        )
    cost = costs["transfer"]
    return int(cost.wall > LIMIT * reference.wall or max(cost.stall_s) > STALL_S)


def main() -> int:
    """Measure, or serve."""
    if sys.argv[1:] == ["serve"]:
        serve()
    numbers = [*map(int, sys.argv[1:]), *(MEGABYTES, ROUNDS)[len(sys.argv) - 1 :]]
    return asyncio.run(run(numbers[0], numbers[1]))


if __name__ == "__main__":
    sys.exit(main())
