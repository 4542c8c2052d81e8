"""`JobIndex`: all known jobs, which program owns each, and the files that record them.

A job is owned by the program that holds its lock: only that one writes its file or runs it. Queued
and running jobs are owned; paused and ended ones are free.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final, Self

import anyio
import anyio.to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.library.downloads.job import Job, JobEvent, Origin
from ollm_tui.library.downloads.job_folder import FileLock, JobFolder, StoredJob, recovered_job
from ollm_tui.library.downloads.job_record import same_origin
from ollm_tui.library.downloads.job_run import JobRun
from ollm_tui.protocol.errors import AIError, ErrorCode

KEPT_S: Final = 7 * 24 * 3600.0
"""How long done and cancelled jobs stay listed unless they are dismissed."""
_LOCK_TRIES: Final = 20
_BETWEEN_TRIES_S: Final = 0.005
"""A program that only tests whether a job is locked holds its lock for a moment."""
_OVER: Final = frozenset({"done", "cancelled"})

logger = logging.getLogger(__name__)


class Watcher(AsyncIterator[Job]):
    """One reader of changes; a newer state of a job replaces the one that was not read yet."""

    def __init__(self) -> None:
        self._unread: dict[str, Job] = {}
        self._changed = anyio.Event()
        self._is_over = False

    def put(self, job: Job) -> None:
        """Queue a job; one that is queued already keeps its place."""
        self._unread[job.id] = job
        self._changed.set()

    def end(self) -> None:
        """Stop the iteration once everything queued was read."""
        self._is_over = True
        self._changed.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Job:
        while not self._unread:
            if self._is_over:
                raise StopAsyncIteration
            self._changed = anyio.Event()
            await self._changed.wait()
        return self._unread.pop(next(iter(self._unread)))


class Watchers:
    """All readers of changes."""

    def __init__(self) -> None:
        self._all: list[Watcher] = []
        self._is_over = False

    def __bool__(self) -> bool:
        return bool(self._all)

    def put(self, job: Job) -> None:
        """Queue a job for every reader."""
        for watcher in self._all:
            watcher.put(job)

    def end(self) -> None:
        """End every reader, also those that subscribe later."""
        self._is_over = True
        for watcher in self._all:
            watcher.end()

    @contextmanager
    def subscribed(self) -> Iterator[Watcher]:
        """Yield a reader that receives changes within the block."""
        watcher = Watcher()
        if self._is_over:
            watcher.end()
        self._all.append(watcher)
        try:
            yield watcher
        finally:
            self._all.remove(watcher)


@dataclass(slots=True, eq=False)
class JobEntry:
    """A job, and what this program has of it."""

    job: Job
    is_stored: bool = False
    """Whether it has a file."""
    is_owned: bool = False
    """Whether this program owns it."""
    file_lock: FileLock | None = None
    """Shows that to other programs; None also where the folder cannot be written."""
    mutex: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by one operation at a time."""
    run: JobRun | None = None
    """The current run."""
    wanted: JobEvent = "interrupt"
    """The event that applies once the run has stopped."""

    @property
    def is_followed(self) -> bool:
        """Whether its file is newer than what this program knows: nothing here changes it."""
        return self.is_stored and not self.is_owned and not self.mutex.locked()


class JobIndex:
    """The jobs by id; `on_done` is called for each that gets done, in this program or another."""

    def __init__(self, folder: JobFolder, on_done: Callable[[Job], None]) -> None:
        self._folder = folder
        self._on_done = on_done
        self._entries: dict[str, JobEntry] = {}
        self._refreshing = anyio.Lock()
        self.watchers = Watchers()

    def entries(self) -> list[JobEntry]:
        """Return all entries, the oldest first."""
        return sorted(self._entries.values(), key=lambda entry: entry.job.id)

    def get(self, job_id: str) -> JobEntry | None:
        """Return the entry of an id, or None if it does not exist any more."""
        return self._entries.get(job_id)

    def active(self, origin: Origin) -> JobEntry | None:
        """Return the oldest job of the same origin that is neither done nor cancelled."""
        return next((one for one in self._alike(origin) if one.job.state not in _OVER), None)

    def over(self, origin: Origin) -> list[JobEntry]:
        """Return the jobs of the same origin that are done or cancelled."""
        return [entry for entry in self._alike(origin) if entry.job.state in _OVER]

    def _alike(self, origin: Origin) -> list[JobEntry]:
        return [entry for entry in self.entries() if same_origin(entry.job.origin, origin)]

    def add(self, job: Job) -> JobEntry:
        """Add a new job."""
        entry = self._entries[job.id] = JobEntry(job)
        self.watchers.put(job)
        return entry

    def update(self, entry: JobEntry, job: Job) -> None:
        """Replace the job of an entry and notify the watchers."""
        is_new = job.state == "done" and entry.job.state != "done"
        entry.job = job
        self.watchers.put(job)
        if is_new:
            try:
                self._on_done(job)
            except Exception:
                logger.exception("A finished download could not be made known")

    async def store(self, job: Job) -> None:
        """Write a job to its file; a failure is logged, as the download itself can continue."""
        try:
            await anyio.to_thread.run_sync(self._folder.save, job)
        except OSError as error:
            logger.warning("The download %s could not be kept: %s", job.id, error.strerror)
        else:
            if (entry := self._entries.get(job.id)) is not None:
                entry.is_stored = True

    async def remove(self, entry: JobEntry) -> None:
        """Delete an owned job with its file."""
        try:
            await anyio.to_thread.run_sync(self._folder.remove, entry.job.id)
        except OSError as error:
            logger.warning("The download %s could not be removed: %s", entry.job.id, error.strerror)
        self._drop(entry)

    async def acquire(self, entry: JobEntry) -> None:
        """Own a job and bring it up to date with its file; it is dropped if the file is gone.

        Raises:
            AIError: CONFLICT, another running program owns it.
        """
        if entry.is_owned:
            return
        before = entry.job
        try:
            file_lock = await self._lock(entry.job.id)
        except OSError as error:
            logger.warning("Downloads cannot be kept: %s", error.strerror)
            entry.is_owned = True
            return
        if file_lock is None:
            self.update(entry, replace(entry.job, is_elsewhere=True))
            raise AIError(
                ErrorCode.CONFLICT,
                f"Another running ollm is downloading {entry.job.title}.",
                hint="Do it there, or quit that one.",
            )
        entry.file_lock, entry.is_owned = file_lock, True
        if not entry.is_stored:
            return
        stored = await anyio.to_thread.run_sync(self._folder.load, entry.job.id)
        if stored is None:
            self._drop(entry)
        elif entry.job is before and (job := recovered_job(stored, before)) != before:
            self.update(entry, job)

    async def _lock(self, job_id: str) -> FileLock | None:
        for _ in range(_LOCK_TRIES):
            if (file_lock := self._folder.lock(job_id)) is not None:
                return file_lock
            await anyio.sleep(_BETWEEN_TRIES_S)
        return None

    def release(self, entry: JobEntry) -> None:
        """Give up a job, so that any program can own it."""
        if entry.file_lock is not None:
            entry.file_lock.release()
        entry.file_lock, entry.is_owned = None, False

    def _drop(self, entry: JobEntry) -> None:
        self._entries.pop(entry.job.id, None)
        self.release(entry)

    async def refresh(self) -> None:
        """Read the folder: what other programs have changed, and what ended ones have left."""
        async with self._refreshing:
            before = {entry.job.id: entry.job for entry in self.entries()}
            stored_jobs = await anyio.to_thread.run_sync(self._folder.load_all)
            stored_ids = {stored.job.id for stored in stored_jobs}
            for entry in self.entries():
                is_gone = entry.job.id in before and entry.job.id not in stored_ids
                if is_gone and entry.is_followed:
                    self._drop(entry)
            for stored in stored_jobs:
                self._take(stored, before.get(stored.job.id))

    def _take(self, stored: StoredJob, before: Job | None) -> None:
        entry = self._entries.get(stored.job.id)
        if entry is None:
            if before is None:  # else it was dismissed in the meantime
                self.add(recovered_job(stored, None)).is_stored = True
        elif entry.job is before and entry.is_followed:
            job = recovered_job(stored, before)
            if job != before:
                self.update(entry, job)

    async def remove_expired(self, now: float) -> None:
        """Remove jobs that were done or cancelled more than KEPT_S ago."""
        for entry in self.entries():
            is_over = entry.job.state in _OVER and not entry.job.is_elsewhere
            if is_over and entry.job.changed_at + KEPT_S < now:
                with suppress(AIError):  # another program has just acquired it
                    await self.acquire(entry)
                    await self.remove(entry)
