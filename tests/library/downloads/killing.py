"""A program that downloads until it is killed, and the count of what a server has to send then.

    python -m tests.library.downloads.killing URL TARGET SHA256

The program says `READY` and then how far it is. It is killed at a moment drawn from a seed: after
so many bytes, or while it sums up or gives the file its name; then it is run to its end.
"""

import random
import subprocess
import sys
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import to_thread

from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.providers.fetcher import HttpFetcher
from tests.library.downloads.file_host import FileHost
from tests.support.http_server import serve

ROOT = Path(__file__).parents[3]
ON_THE_WAY = 320 * 1024


def say(*parts: object) -> None:
    sys.stdout.write(" ".join(map(str, parts)) + "\n")
    sys.stdout.flush()


async def download(url: str, target: Path, sha256: str) -> None:
    def tell(step: Progress) -> None:
        say("STEP", step.completed, step.note)

    async with aclosing(HttpFetcher()) as fetcher:
        await transfer(fetcher, FileSource(url=url, sha256=sha256), target, report=tell)
    say("DONE")


@dataclass
class Verdict:
    """What a download took that was killed some times."""

    kills: int = 0
    is_right: bool = False
    corrupt: int = 0
    """Finals with a wrong sum that were seen after a kill."""
    sent: int = 0
    size: int = 0

    @property
    def reused(self) -> float:
        """Which part of what was sent did not must be sent again."""
        return 1 - max(0, self.sent - self.size) / self.size


class Line:
    """A network that is slower than the disk: not much is on the way that was not told yet."""

    def __init__(self) -> None:
        self.reported = 0

    async def wait(self, place: int) -> None:
        while place > self.reported + ON_THE_WAY:
            await anyio.sleep(0.0005)


async def killed(data: bytes, target: Path, seed: int, kills: int) -> Verdict:
    """Download a file in a program that is killed so many times on the way."""
    chance, line = random.Random(seed), Line()
    host = FileHost(data, piece=16 * 1024, between=line.wait)
    verdict = Verdict(size=len(data))
    async with serve(host) as server:
        command = [sys.executable, "-m", "tests.library.downloads.killing"]
        command += [f"{server.url}/m.gguf", str(target), host.sum]
        for _ in range(kills):
            at = chance.randrange(len(data)) if chance.random() < 0.75 else None
            verdict.kills += not await to_thread.run_sync(run_until, command, at, line)
            verdict.corrupt += target.exists() and target.read_bytes() != data
        assert await to_thread.run_sync(run_until, command, len(data) + 1, line)
    verdict.is_right = target.read_bytes() == data
    verdict.sent = host.sent
    return verdict


def run_until(command: list[str], at: int | None, line: Line) -> bool:
    """Run the program until so many bytes were told, or until it sums up, and kill it there.

    Gives whether it came to its end before that.
    """
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for output_line in program.stdout:
            match output_line.split():
                case ["STEP", _, "checking", *_] if at is None:
                    break
                case ["STEP", done, *_] if at is not None and int(done) >= at:
                    break
                case ["STEP", done, *_]:
                    line.reported = int(done)
                case _:
                    program.wait(20)
                    return program.returncode == 0
        program.kill()
    return False


if __name__ == "__main__":
    anyio.run(download, sys.argv[1], Path(sys.argv[2]), sys.argv[3])
