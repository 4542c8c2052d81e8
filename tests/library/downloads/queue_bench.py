"""A queue, work whose every step the test decides, and a clock that moves when it is told to."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ollm_tui.library.downloads.job import Job, JobState
from ollm_tui.library.downloads.job_run import Clocks
from ollm_tui.library.downloads.queue import DownloadQueue
from tests.library.downloads.puppet_work import Puppets


class Clock:
    """Time that moves when it is told to; who sleeps wakes up then."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._moved = anyio.Event()

    @property
    def clocks(self) -> Clocks:
        return Clocks(monotonic=lambda: self.now, now=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            await self._moved.wait()

    async def move(self, seconds: float) -> None:
        self.now += seconds
        self._moved.set()
        self._moved = anyio.Event()
        await anyio.wait_all_tasks_blocked()


class Bench:
    """A queue, its work and its clock."""

    def __init__(self, folder: Path, at_once: int = 2) -> None:
        self.work, self.clock = Puppets(), Clock()
        self.arrived: list[Job] = []
        self.queue = DownloadQueue(
            folder / "downloads",
            self.work,
            at_once=at_once,
            on_done=self.arrived.append,
            clocks=self.clock.clocks,
        )

    def states(self) -> dict[str, JobState]:
        return {job.title.removeprefix("the "): job.state for job in self.queue.jobs()}

    def job(self, name: str) -> Job:
        return next(job for job in self.queue.jobs() if job.title == f"the {name}")

    async def until(self, holds: Callable[[], bool]) -> None:
        with anyio.fail_after(10):
            while not holds():
                await anyio.sleep(0.001)

    async def until_state(self, name: str, state: JobState) -> None:
        await self.until(lambda: self.states().get(name) == state)

    async def running(self, name: str) -> None:
        with anyio.fail_after(10):
            await self.work[name].started.wait()


@asynccontextmanager
async def bench(folder: Path, at_once: int = 2) -> AsyncIterator[Bench]:
    made = Bench(folder, at_once)
    async with made.queue:
        yield made
