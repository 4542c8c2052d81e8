"""`DownloadQueue`: downloads one after another, a few at a time, kept across restarts.

The states are in `job_states`. A deed of a person on a running download is done when what runs has
stopped. Programs side by side see each other's downloads through the folder; each download is run
by the one that holds its claim, and what an ended program left is anybody's.
"""

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio

from ollm_tui.library.downloads.dispatcher import Dispatcher
from ollm_tui.library.downloads.downloader import WorkFor
from ollm_tui.library.downloads.job import ENDED, Job, Origin, can
from ollm_tui.library.downloads.job_folder import ADDRESS_LOST, JobFolder
from ollm_tui.library.downloads.job_index import Entry, JobIndex
from ollm_tui.library.downloads.job_record import settled
from ollm_tui.library.downloads.job_run import Times
from ollm_tui.protocol.errors import AIError, ErrorCode

LOOK_S: Final = 2.0
"""How often a watcher's queue looks what other programs do."""
LONGEST_TITLE: Final = 300

logger = logging.getLogger(__name__)


def _nobody(_job: Job) -> None:
    pass


class DownloadQueue:
    """The downloads of a person; use it as an async context manager.

    Deeds wait until the block is entered and the folder was read. `arrived` is told of each
    download that is done. Nothing runs that this queue was not asked for: `go_on` takes up what an
    earlier program left.
    """

    def __init__(
        self,
        folder: Path,
        work_for: WorkFor,
        *,
        at_once: int = 2,
        arrived: Callable[[Job], None] = _nobody,
        times: Times | None = None,
    ) -> None:
        self._work_for = work_for
        self._times = times or Times()
        self._group = anyio.create_task_group()
        self._roster = JobIndex(JobFolder(folder), arrived)
        self._dispatcher = Dispatcher(self._roster, self._group, work_for, at_once, self._times)
        self._newest = 0
        self._is_open = anyio.Event()
        self._is_over = False
        self._takes_over = False
        self._is_looking = False

    async def __aenter__(self) -> Self:
        try:
            await self._roster.look()
            await self._roster.clear_old(self._times.now())
        except Exception:
            logger.exception("Earlier downloads cannot be read")
        await self._group.__aenter__()  # the last step: whoever is cancelled before leaves nothing
        self._is_open.set()
        self._look_on()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop what runs, so that the next program can go on with it."""
        self._is_over = True
        await self._dispatcher.stop_all()
        self._roster.watchers.end()
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)
        for entry in self._roster.entries():
            self._roster.let_go(entry)

    def jobs(self) -> Sequence[Job]:
        """Give all that is known, the oldest first."""
        return [entry.job for entry in self._roster.entries()]

    async def known(self) -> Sequence[Job]:
        """Give what `jobs` does, as soon as the folder was read."""
        await self._is_open.wait()
        return self.jobs()

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Job]]:
        """Give each job as it changes; see the port."""
        with self._roster.watchers.joined() as watcher:
            self._look_on()
            yield watcher

    # What a person does

    async def add(self, origin: Origin) -> Job:
        """Put a download at the end of the queue.

        One of the same that has not ended is given; one that has failed is begun again, and one
        that is over gives its place in the list to this one.

        Raises:
            AIError: it cannot be downloaded at all.
        """
        await self._is_open.wait()
        origin = settled(origin)
        title = (await self._work_for(origin).title())[:LONGEST_TITLE]
        entry = self._roster.known(origin)
        if entry is None:
            for earlier in self._roster.earlier(origin):
                with suppress(AIError):  # another program has it in hand
                    await self.dismiss(earlier.job.id)
            entry = await self._added(origin, title)
        elif entry.job.state == "failed":
            await self._begun_again(entry, origin, title)
        else:
            await self._take_over(entry)
        return entry.job

    async def _added(self, origin: Origin, title: str) -> Entry:
        now = self._times.now()
        # The order of ids is that of the queue, also of two within a millisecond.
        self._newest = max(int(now * 1000), self._newest + 1)
        job_id = f"{self._newest:013d}-{secrets.token_hex(4)}"
        entry = self._roster.put(Job(id=job_id, origin=origin, title=title, changed_at=now))
        async with entry.gate:
            await self._roster.take_in_hand(entry)
            await self._roster.keep(entry.job)
        self._dispatcher.start_ready()
        return entry

    async def _begun_again(self, entry: Entry, origin: Origin, title: str) -> None:
        async with self._in_hand(entry.job.id) as own:
            if own is not None and own.job.state == "failed":
                if own.job.trouble == ADDRESS_LOST and origin == own.job.origin:
                    raise _address_lost()
                own.job = replace(own.job, origin=origin, title=title)
                await self._dispatcher.move(own, "resume")
        self._dispatcher.start_ready()

    async def pause(self, job_id: str) -> None:
        """Stop one and keep what has come.

        Raises:
            AIError: CONFLICT, another running program has it in hand.
        """
        async with self._in_hand(job_id) as entry:
            if entry is not None:
                await self._dispatcher.stop(entry, "pause")

    async def resume(self, job_id: str) -> None:
        """Let a paused or failed one go on where it stopped.

        Raises:
            AIError: CONFLICT, as above; BAD_REQUEST, its address was not kept whole.
        """
        async with self._in_hand(job_id) as entry:
            if entry is None or not can(entry.job, "resume"):
                return
            if entry.job.trouble == ADDRESS_LOST:
                raise _address_lost()
            await self._dispatcher.move(entry, "resume")
        self._dispatcher.start_ready()

    async def cancel(self, job_id: str) -> None:
        """Stop one for good and remove what has come.

        Raises:
            AIError: CONFLICT, as above, or what has come cannot be removed.
        """
        async with self._in_hand(job_id) as entry:
            if entry is not None:
                await self._dispatcher.stop(entry, "cancel")

    async def dismiss(self, job_id: str) -> None:
        """Remove a finished download from the list; its files stay.

        Raises:
            AIError: CONFLICT, as above.
        """
        async with self._in_hand(job_id) as entry:
            if entry is not None and entry.job.state in ENDED:
                await self._roster.forget(entry)

    async def go_on(self) -> None:
        """Take up what an ended program left running or waiting, from now on."""
        self._takes_over = True
        await self._is_open.wait()
        await self._look()

    # What they have in common

    @asynccontextmanager
    async def _in_hand(self, job_id: str) -> AsyncIterator[Entry | None]:
        await self._is_open.wait()
        entry = self._roster.get(job_id)
        if entry is None:
            yield None
            return
        async with entry.gate:
            if entry.run is not None and entry.job.state != "running":
                await entry.run.ended.wait()  # its end is being kept
            await self._roster.take_in_hand(entry)
            try:
                yield None if self._roster.get(job_id) is None else entry
            finally:
                self._dispatcher.let_go_of_idle(entry)

    # Other programs

    def _look_on(self) -> None:
        """Look around now and then, as long as somebody watches."""
        is_open = self._is_open.is_set() and not self._is_over
        if is_open and self._roster.watchers and not self._is_looking:
            self._is_looking = True
            self._group.start_soon(self._keep_looking)

    async def _keep_looking(self) -> None:
        try:
            while self._roster.watchers:
                await self._look()
                await self._times.sleep(LOOK_S)
        except Exception:
            logger.exception("The downloads of other programs cannot be followed")
        finally:
            self._is_looking = False

    async def _look(self) -> None:
        await self._roster.look()
        if self._takes_over:
            for entry in self._roster.entries():
                await self._take_over(entry)

    async def _take_over(self, entry: Entry) -> None:
        """Run one that waits and that nobody has in hand."""
        if entry.is_owned or entry.job.is_elsewhere or entry.job.state != "queued":
            return
        try:
            async with self._in_hand(entry.job.id) as own:
                if own is not None and own.job.state == "queued":
                    self._roster.show(own, replace(own.job, note=""))
        except AIError:
            return  # another program was faster
        self._dispatcher.start_ready()


def _address_lost() -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, ADDRESS_LOST.message, hint=ADDRESS_LOST.hint)
