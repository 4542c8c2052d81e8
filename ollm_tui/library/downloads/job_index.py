"""`JobIndex`: all known jobs, which program owns each, and the files that record them.

A job is owned by the program that holds its lock: only that one writes its file or runs it. Queued
and running jobs are owned; paused and ended ones are free.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final, Self

import anyio
import anyio.to_thread

from ollm_tui.library.downloads.job import Job, JobEvent, Origin
from ollm_tui.library.downloads.job_folder import FoundJob, JobFolder, as_seen
from ollm_tui.library.downloads.job_record import same
from ollm_tui.library.downloads.job_run import JobRun
from ollm_tui.library.downloads.locks import FileLock
from ollm_tui.protocol.errors import AIError, ErrorCode


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


@dataclass(slots=True, eq=False)
class Entry:
    """A job, and what of this program belongs to it."""

    job: Job
    is_kept: bool = False
    """Whether it has a file."""
    is_owned: bool = False
    """Whether this program has it in hand."""
    claim: FileLock | None = None
    """What shows that to others; None too where the folder cannot be written."""
    gate: anyio.Lock = field(default_factory=anyio.Lock)
    """One deed at a time."""
    run: JobRun | None = None
    """What runs now."""
    wanted: JobEvent = "interrupt"
    """What is to become of it once it has stopped."""

    @property
    def is_left(self) -> bool:
        """Whether its file says more of it than this program."""
        return self.is_kept and not self.is_owned and not self.gate.locked()


KEPT_S: Final = 7 * 24 * 3600.0
"""How long what is done or cancelled is listed unless it is dismissed."""
_TRIES: Final = 20
_BETWEEN_S: Final = 0.005
"""Somebody who only looks whether a download is in hand holds its lock for a moment."""

_OVER: Final = frozenset({"done", "cancelled"})
logger = logging.getLogger(__name__)


class JobIndex:
    """The downloads by id; `arrived` is told of each that is done, here or elsewhere."""

    def __init__(self, folder: JobFolder, arrived: Callable[[Job], None]) -> None:
        self._folder = folder
        self._arrived = arrived
        self._entries: dict[str, Entry] = {}
        self._looking = anyio.Lock()
        self.watchers = Watchers()

    def entries(self) -> list[Entry]:
        """Give all, the oldest first."""
        return sorted(self._entries.values(), key=lambda entry: entry.job.id)

    def get(self, job_id: str) -> Entry | None:
        """Give one; None when there is none of this id any more."""
        return self._entries.get(job_id)

    def known(self, origin: Origin) -> Entry | None:
        """Give the download of the same that is not done with, if there is one."""
        alike = (entry for entry in self.entries() if same(entry.job.origin, origin))
        return next((entry for entry in alike if entry.job.state not in _OVER), None)

    def earlier(self, origin: Origin) -> list[Entry]:
        """Give the downloads of the same that are over and done with."""
        return [
            entry
            for entry in self.entries()
            if entry.job.state in _OVER and same(entry.job.origin, origin)
        ]

    def put(self, job: Job) -> Entry:
        """Enter one that was not known."""
        entry = self._entries[job.id] = Entry(job)
        self.watchers.put(job)
        return entry

    def show(self, entry: Entry, job: Job) -> None:
        """Have everybody see how it stands now."""
        is_new = job.state == "done" and entry.job.state != "done"
        entry.job = job
        self.watchers.put(job)
        if is_new:
            try:
                self._arrived(job)
            except Exception:
                logger.exception("A finished download could not be made known")

    async def keep(self, job: Job) -> None:
        """Write it to its file; a failure is logged: the download itself can go on."""
        try:
            await anyio.to_thread.run_sync(self._folder.keep, job)
        except OSError as error:
            logger.warning("The download %s could not be kept: %s", job.id, error.strerror)
        else:
            if (entry := self._entries.get(job.id)) is not None:
                entry.is_kept = True

    async def forget(self, entry: Entry) -> None:
        """Take one that is in hand off the list."""
        try:
            await anyio.to_thread.run_sync(self._folder.remove, entry.job.id)
        except OSError as error:
            logger.warning("The download %s could not be removed: %s", entry.job.id, error.strerror)
        self._drop(entry)

    async def take_in_hand(self, entry: Entry) -> None:
        """Claim one for this program, and see how it stands; it may be gone then.

        Raises:
            AIError: CONFLICT, another running program has it.
        """
        if entry.is_owned:
            return
        before = entry.job
        try:
            claim = await self._claim(entry.job.id)
        except OSError as error:
            logger.warning("Downloads cannot be kept: %s", error.strerror)
            entry.is_owned = True
            return
        if claim is None:
            self.show(entry, replace(entry.job, is_elsewhere=True))
            raise _elsewhere(entry.job)
        entry.claim, entry.is_owned = claim, True
        if not entry.is_kept:
            return
        found = await anyio.to_thread.run_sync(self._folder.find, entry.job.id)
        if found is None:
            self._drop(entry)
        elif entry.job is before and (job := as_seen(found, before)) != before:
            self.show(entry, job)

    async def _claim(self, job_id: str) -> FileLock | None:
        for _ in range(_TRIES):
            claim = self._folder.claim(job_id)
            if claim is not None:
                return claim
            await anyio.sleep(_BETWEEN_S)
        return None

    def let_go(self, entry: Entry) -> None:
        """Give one back, so that any program can take it."""
        if entry.claim is not None:
            entry.claim.release()
        entry.claim, entry.is_owned = None, False

    def _drop(self, entry: Entry) -> None:
        self._entries.pop(entry.job.id, None)
        self.let_go(entry)

    async def look(self) -> None:
        """See what other programs have done, and what ended programs have left."""
        async with self._looking:
            before = {entry.job.id: entry.job for entry in self.entries()}
            found = await anyio.to_thread.run_sync(self._folder.all)
            there = {one.job.id for one in found}
            for entry in self.entries():
                if entry.job.id in before and entry.job.id not in there and entry.is_left:
                    self._drop(entry)
            for one in found:
                self._see(one, before.get(one.job.id))

    def _see(self, found: FoundJob, before: Job | None) -> None:
        entry = self._entries.get(found.job.id)
        if entry is None:
            if before is None:  # else it was dismissed meanwhile
                self.put(as_seen(found, None)).is_kept = True
        elif entry.job is before and entry.is_left and (job := as_seen(found, before)) != before:
            self.show(entry, job)

    async def clear_old(self, now: float) -> None:
        """Forget what was done or cancelled long ago."""
        for entry in self.entries():
            is_over = entry.job.state in {"done", "cancelled"} and not entry.job.is_elsewhere
            if is_over and entry.job.changed_at + KEPT_S < now:
                with suppress(AIError):  # another program has just taken it in hand
                    await self.take_in_hand(entry)
                    await self.forget(entry)


def _elsewhere(job: Job) -> AIError:
    return AIError(
        ErrorCode.CONFLICT,
        f"Another running ollm is downloading {job.title}.",
        hint="Do it there, or quit that one.",
    )
