"""`DownloadQueue`: downloads one after another, a few at a time, kept across restarts.

Programs running side by side see each other's jobs through the folder: each job is run by the
program that holds its lock, and any program may take over what an ended one has left.
"""

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Self

import anyio

from ollm_tui.library.downloads.dispatcher import Dispatcher
from ollm_tui.library.downloads.downloader import DownloaderFor
from ollm_tui.library.downloads.job import ENDED, Job, Origin, can
from ollm_tui.library.downloads.job_folder import ADDRESS_LOST, JobFolder
from ollm_tui.library.downloads.job_index import JobEntry, JobIndex
from ollm_tui.library.downloads.job_record import absolute_origin
from ollm_tui.library.downloads.job_run import Clocks
from ollm_tui.protocol.errors import AIError, ErrorCode

REFRESH_S: Final = 2.0
"""How often the folder is read while there are watchers."""
MAX_TITLE_CHARS: Final = 300

logger = logging.getLogger(__name__)


class DownloadQueue:
    """The downloads of the user; use it as an async context manager.

    Its methods wait until the block is entered and the folder was read. `on_done` is called for
    each job that gets done. Only jobs added here run, until `take_over` is called. Pausing,
    resuming, cancelling or dismissing a job that does not exist is a no-op.
    """

    def __init__(
        self,
        folder: Path,
        downloader_for: DownloaderFor,
        *,
        at_once: int = 2,
        on_done: Callable[[Job], None] = lambda _job: None,
        clocks: Clocks | None = None,
    ) -> None:
        self._downloader_for = downloader_for
        self._clocks = clocks or Clocks()
        self._group = anyio.create_task_group()
        self._index = JobIndex(JobFolder(folder), on_done)
        self._dispatcher = Dispatcher(
            self._index, self._group, downloader_for, at_once, self._clocks
        )
        self._newest = 0
        self._is_open = anyio.Event()
        self._is_over = False
        self._takes_over = False
        self._is_refreshing = False

    async def __aenter__(self) -> Self:
        try:
            await self._index.refresh()
            await self._index.remove_expired(self._clocks.now())
        except Exception:
            logger.exception("Earlier downloads cannot be read")
        # The last step: nothing is left to close if this is cancelled before.
        await self._group.__aenter__()
        self._is_open.set()
        self._keep_refreshed()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Interrupt what runs, so that the next program can continue it."""
        self._is_over = True
        await self._dispatcher.stop_all()
        self._index.watchers.end()
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)
        for entry in self._index.entries():
            self._index.release(entry)

    def jobs(self) -> Sequence[Job]:
        """Return all known jobs, the oldest first."""
        return [entry.job for entry in self._index.entries()]

    async def loaded_jobs(self) -> Sequence[Job]:
        """Return `jobs()` once the folder was read."""
        await self._is_open.wait()
        return self.jobs()

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Job]]:
        """Yield each job as it changes, at most a few times a second each.

        A slow reader gets the newest state of each job, never all states in between. A dismissed
        job is not reported.
        """
        with self._index.watchers.subscribed() as watcher:
            self._keep_refreshed()
            yield watcher

    async def add(self, origin: Origin) -> Job:
        """Add a download at the end of the queue.

        An unfinished job of the same origin is returned as it is, a failed one is started again,
        and one that is done or cancelled is replaced.

        Raises:
            AIError: it cannot be downloaded: a refused name, a provider that cannot pull, ...
        """
        await self._is_open.wait()
        origin = absolute_origin(origin)
        title = (await self._downloader_for(origin).title())[:MAX_TITLE_CHARS]
        entry = self._index.active(origin)
        if entry is None:
            for earlier in self._index.over(origin):
                with suppress(AIError):  # another program owns it
                    await self.dismiss(earlier.job.id)
            entry = await self._add(origin, title)
        elif entry.job.state == "failed":
            await self._restart(entry, origin, title)
        else:
            await self._adopt(entry)
        return entry.job

    async def _add(self, origin: Origin, title: str) -> JobEntry:
        now = self._clocks.now()
        # The order of ids is that of the queue, also of two within a millisecond.
        self._newest = max(int(now * 1000), self._newest + 1)
        job_id = f"{self._newest:013d}-{secrets.token_hex(4)}"
        entry = self._index.add(Job(id=job_id, origin=origin, title=title, changed_at=now))
        async with entry.mutex:
            await self._index.acquire(entry)
            await self._index.store(entry.job)
        self._dispatcher.start_ready()
        return entry

    async def _restart(self, entry: JobEntry, origin: Origin, title: str) -> None:
        async with self._owned(entry.job.id) as owned:
            if owned is not None and owned.job.state == "failed":
                if owned.job.error == ADDRESS_LOST and origin == owned.job.origin:
                    raise _address_lost()
                owned.job = replace(owned.job, origin=origin, title=title)
                await self._dispatcher.apply(owned, "resume")
        self._dispatcher.start_ready()

    async def pause(self, job_id: str) -> None:
        """Stop a job and keep what arrived; one that has ended or is paused stays as it is.

        Raises:
            AIError: CONFLICT, another running program owns it.
        """
        async with self._owned(job_id) as entry:
            if entry is not None:
                await self._dispatcher.stop(entry, "pause")

    async def resume(self, job_id: str) -> None:
        """Continue a paused or failed job where it stopped.

        Raises:
            AIError: CONFLICT, as above; BAD_REQUEST, its address was not stored whole.
        """
        async with self._owned(job_id) as entry:
            if entry is None or not can(entry.job, "resume"):
                return
            if entry.job.error == ADDRESS_LOST:
                raise _address_lost()
            await self._dispatcher.apply(entry, "resume")
        self._dispatcher.start_ready()

    async def cancel(self, job_id: str) -> None:
        """Cancel a job and delete what arrived; returns once that is done.

        Raises:
            AIError: CONFLICT, as above, or what arrived cannot be deleted.
        """
        async with self._owned(job_id) as entry:
            if entry is not None:
                await self._dispatcher.stop(entry, "cancel")

    async def dismiss(self, job_id: str) -> None:
        """Remove an ended job from the list; its files stay, and no change is reported.

        Raises:
            AIError: CONFLICT, as above.
        """
        async with self._owned(job_id) as entry:
            if entry is not None and entry.job.state in ENDED:
                await self._index.remove(entry)

    async def take_over(self) -> None:
        """Run what ended programs have left queued or running, from now on."""
        self._takes_over = True
        await self._is_open.wait()
        await self._refresh()

    @asynccontextmanager
    async def _owned(self, job_id: str) -> AsyncIterator[JobEntry | None]:
        await self._is_open.wait()
        entry = self._index.get(job_id)
        if entry is None:
            yield None
            return
        async with entry.mutex:
            if entry.run is not None and entry.job.state != "running":
                await entry.run.ended.wait()  # its end is being stored
            await self._index.acquire(entry)
            try:
                yield None if self._index.get(job_id) is None else entry
            finally:
                self._dispatcher.release_idle(entry)

    def _keep_refreshed(self) -> None:
        """Read the folder regularly as long as there are watchers."""
        is_open = self._is_open.is_set() and not self._is_over
        if is_open and self._index.watchers and not self._is_refreshing:
            self._is_refreshing = True
            self._group.start_soon(self._refresh_regularly)

    async def _refresh_regularly(self) -> None:
        try:
            while self._index.watchers:
                await self._refresh()
                await self._clocks.sleep(REFRESH_S)
        except Exception:
            logger.exception("The downloads of other programs cannot be followed")
        finally:
            self._is_refreshing = False

    async def _refresh(self) -> None:
        await self._index.refresh()
        if self._takes_over:
            for entry in self._index.entries():
                await self._adopt(entry)

    async def _adopt(self, entry: JobEntry) -> None:
        """Run a queued job that no program owns."""
        if entry.is_owned or entry.job.is_elsewhere or entry.job.state != "queued":
            return
        try:
            async with self._owned(entry.job.id) as owned:
                if owned is not None and owned.job.state == "queued":
                    self._index.update(owned, replace(owned.job, note=""))
        except AIError:
            return  # another program was faster
        self._dispatcher.start_ready()


def _address_lost() -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, ADDRESS_LOST.message, hint=ADDRESS_LOST.hint)
