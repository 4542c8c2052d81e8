"""Those who watch downloads: each gets the newest state of each job, however slowly it reads."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Self

import anyio

from ollm_tui.library.downloads.job import Job


class Watcher(AsyncIterator[Job]):
    """One reader; what it has not read yet is replaced by what is newer."""

    def __init__(self) -> None:
        self._waiting: dict[str, Job] = {}
        self._news = anyio.Event()
        self._is_over = False

    def put(self, job: Job) -> None:
        """Have a job read; it keeps its place among those that wait."""
        self._waiting[job.id] = job
        self._news.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._is_over = True
        self._news.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Job:
        while not self._waiting:
            if self._is_over:
                raise StopAsyncIteration
            self._news = anyio.Event()
            await self._news.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Watchers:
    """All readers."""

    def __init__(self) -> None:
        self._all: list[Watcher] = []
        self._is_over = False

    def __bool__(self) -> bool:
        return bool(self._all)

    def put(self, job: Job) -> None:
        """Have everybody read it."""
        for watcher in self._all:
            watcher.put(job)

    def end(self) -> None:
        """Nothing more comes."""
        self._is_over = True
        for watcher in self._all:
            watcher.end()

    @contextmanager
    def joined(self) -> Iterator[Watcher]:
        """Give a reader that is one of them within the block."""
        watcher = Watcher()
        if self._is_over:
            watcher.end()
        self._all.append(watcher)
        try:
            yield watcher
        finally:
            self._all.remove(watcher)
