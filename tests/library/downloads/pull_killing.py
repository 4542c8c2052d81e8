"""A program that pulls a model in parts through the queue until it is killed, and what is left.

    python -m tests.library.downloads.pull_killing HUB FOLDER

The program takes up what the last one left, or begins when there is nothing. It is killed at a
moment drawn from a seed: when so much has come, while it sums a part up, or while it starts.
"""

import hashlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from ollm_tui.library.downloads.downloader import Downloader, Progress, Report
from ollm_tui.library.downloads.job import HubFiles, Job, Origin
from ollm_tui.library.downloads.queue import DownloadQueue
from ollm_tui.library.downloads.web_download import HubDownload
from ollm_tui.library.hub.client import HubClient
from ollm_tui.providers.fetcher import HttpFetcher
from tests.support.fake_hub import FakeHub, hub_in_thread
from tests.support.hub_repos import FakeFile, FakeRepo
from tests.support.hub_samples import shards_of

ROOT = Path(__file__).parents[3]
REPO, NAME = "someone/Large-GGUF", "Large-Q4_K_M"
PIECES_PER_S = 1000


def say(*parts: object) -> None:
    sys.stdout.write(" ".join(map(str, parts)) + "\n")
    sys.stdout.flush()


class _Reported:
    """A download that says each of its steps at once, and not a few times a second."""

    def __init__(self, work: Downloader) -> None:
        self._work = work

    async def title(self) -> str:
        return await self._work.title()

    async def run(self, report: Report) -> str | None:
        def tell(step: Progress) -> None:
            report(step)
            say("STEP", step.completed, step.note or "-")

        return await self._work.run(tell)

    async def discard(self) -> None:
        await self._work.discard()

    @property
    def pause_note(self) -> str:
        return self._work.pause_note


async def pull(url: str, folder: Path) -> None:
    async def address_of(path: Path) -> str:
        return f"embedded://{path.stem}"

    async with aclosing(HttpFetcher()) as fetcher:
        hub = HubClient(fetcher, url, None)

        def work_for(origin: Origin) -> Downloader:
            assert isinstance(origin, HubFiles)
            return _Reported(HubDownload(origin, hub, fetcher, folder / "models", address_of))

        async with (
            DownloadQueue(folder / "state" / "downloads", work_for) as queue,
            queue.changes() as changes,
        ):
            await queue.take_over()
            if not queue.jobs():
                repo = await hub.repo(REPO)
                (variant,) = repo.variants
                await queue.add(
                    HubFiles(
                        repo=REPO, revision=repo.revision, name=variant.name, files=variant.files
                    )
                )
            while queue.jobs()[0].state in {"queued", "running"}:
                await _change(changes)
            say("END", queue.jobs()[0].state, queue.jobs()[0].error or "")


async def _change(changes: AsyncIterator[Job]) -> None:
    """Wait for a change, or look again soon: the last one may have come before."""
    with anyio.move_on_after(0.2):
        await anext(changes)


@dataclass
class Verdict:
    """What became of pulls that were killed."""

    kills: int = 0
    reported: int = 0
    """Bytes that had come by the kills, all kills together."""
    reused: int = 0
    """Bytes that the next runs went on after."""
    wrong: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)

    def add(self, other: "Verdict") -> None:
        self.kills += other.kills
        self.reported += other.reported
        self.reused += other.reused
        self.wrong += other.wrong
        self.ends += other.ends

    @property
    def share(self) -> float:
        return self.reused / self.reported if self.reported else 1.0


def killed_pull(folder: Path, seed: int, kills: int, size: int) -> Verdict:
    """Pull one model of three parts in a program that is killed so many times."""
    chance = random.Random(seed)
    shards = shards_of(f"Q4/{NAME}", 3, size, seed)
    total = sum(file.size for file in shards)
    hub = FakeHub([FakeRepo(REPO, shards)], pace=lambda _count: 1 / PIECES_PER_S)
    verdict = Verdict()
    before = 0
    with hub_in_thread(hub) as running:
        command = [sys.executable, "-m", __name__, running.url, str(folder)]
        for _ in range(kills):
            run = _run(command, _moment(chance, total))
            verdict.kills += run.was_killed
            if before:
                verdict.reported += before
                verdict.reused += min(before, run.first if run.first is not None else before)
            before = run.last if run.last is not None else before
            verdict.wrong += _wrong(folder, shards)
        run = _run(command, None)
        verdict.reported += before
        verdict.reused += min(before, run.first if run.first is not None else before)
    verdict.ends.append(run.end)
    verdict.wrong += _wrong(folder, shards)
    there = {path.name for path in _files(folder)}
    names = {Path(file.path).name for file in shards}
    verdict.wrong += sorted(there ^ {*names, f"{min(names)}.origin.json"})
    return verdict


@dataclass
class _Run:
    first: int | None = None
    last: int | None = None
    end: str = ""
    was_killed: bool = False


def _moment(chance: random.Random, total: int) -> "int | str":
    """Draw when to kill: at so many bytes, at a word, or after so many lines."""
    kind = chance.random()
    if kind < 0.7:
        return chance.randrange(total)
    return "checking" if kind < 0.9 else "STEP"


def _run(command: list[str], moment: "int | str | None") -> _Run:
    run = _Run()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        for line in program.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "END":
                run.end = rest.strip()
                break
            run.last = int(rest.split()[0])
            run.first = run.last if run.first is None else run.first
            is_now = run.last >= moment if isinstance(moment, int) else (moment or "\0") in line
            if is_now:
                os.kill(program.pid, signal.SIGKILL)
                run.was_killed = True
                break
        program.wait(30)
    return run


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in (folder / "models").rglob("*") if path.is_file())


def _wrong(folder: Path, shards: list[FakeFile]) -> list[str]:
    """Give the files that have a final name and other content."""
    sums = {Path(file.path).name: file.sha256 for file in shards}
    return [
        path.name
        for path in _files(folder)
        if path.name in sums and hashlib.sha256(path.read_bytes()).hexdigest() != sums[path.name]
    ]


if __name__ == "__main__":
    anyio.run(pull, sys.argv[1], Path(sys.argv[2]))
