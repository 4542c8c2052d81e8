"""Starts downloads in their order, a few at a time, and sees to what becomes of each."""

import logging
from dataclasses import replace
from typing import Final

import anyio
from anyio.abc import TaskGroup

from ollm_tui.library.downloads.downloader import Downloader, Report, WorkFor
from ollm_tui.library.downloads.job import JobEvent, can, moved
from ollm_tui.library.downloads.job_index import Entry, JobIndex
from ollm_tui.library.downloads.job_run import WENT_WRONG, Ending, JobRun, Times, trouble_of
from ollm_tui.protocol.errors import AIError, ErrorCode

CLOSE_S: Final = 1.5
SETTLE_S: Final = 5.0
"""What removing and keeping may take; files that are in use elsewhere are not waited for."""
STOPPING: Final = "stopping"

logger = logging.getLogger(__name__)


class Dispatcher:
    """Runs what of the roster is queued and in hand."""

    def __init__(
        self, roster: JobIndex, group: TaskGroup, work_for: WorkFor, at_once: int, times: Times
    ) -> None:
        self._roster = roster
        self._group = group
        self._work_for = work_for
        self._at_once = at_once
        self._times = times
        self._is_closing = False

    def start_ready(self) -> None:
        """Start as many as may run, the oldest first."""
        entries = self._roster.entries()
        free = self._at_once - sum(entry.run is not None for entry in entries)
        ready = [one for one in entries if one.is_owned and one.run is None]
        for entry in [one for one in ready if one.job.state == "queued"][: max(0, free)]:
            if not self._is_closing:
                self._start(entry)

    async def stop(self, entry: Entry, event: JobEvent) -> None:
        """Pause or cancel one; returns when that is done.

        Raises:
            AIError: what has come cannot be removed.
        """
        if (run := entry.run) is not None:
            entry.wanted = event
            run.stop()
            self._roster.show(entry, replace(entry.job, note=STOPPING))
            await run.ended.wait()
        elif can(entry.job, event):
            if event == "cancel":
                await self._discard(entry)
            await self.move(entry, event)

    async def stop_all(self) -> None:
        """Stop what runs, so that the next program can go on with it; start nothing more."""
        self._is_closing = True
        runs = [one.run for one in self._roster.entries() if one.run is not None]
        for run in runs:
            run.stop()
        with anyio.move_on_after(CLOSE_S, shield=True):
            for run in runs:
                await run.ended.wait()

    async def move(
        self, entry: Entry, event: JobEvent, ending: Ending | None = None, note: str = ""
    ) -> None:
        """Let an event count, for everybody and in the file."""
        ending = ending or Ending()
        now = self._times.now()
        job = moved(entry.job, event, now, trouble=ending.trouble, model=ending.model)
        self._roster.show(entry, replace(job, note=note))
        await self._roster.keep(entry.job)

    def let_go_of_idle(self, entry: Entry) -> None:
        """Let any program have what neither waits nor runs."""
        if entry.run is None and entry.job.state not in {"queued", "running"}:
            self._roster.let_go(entry)

    def _start(self, entry: Entry) -> None:
        self._roster.show(entry, moved(entry.job, "start", self._times.now()))
        entry.wanted = "interrupt"
        try:
            work = self._work_for(entry.job.origin)
        except AIError as error:
            work = _Refused(error)
        entry.run = run = JobRun(
            entry.job,
            work,
            self._times,
            lambda job: self._roster.show(entry, job),
            self._roster.keep,
        )
        self._group.start_soon(self._run, entry, work, run)

    async def _run(self, entry: Entry, work: Downloader, run: JobRun) -> None:
        ending = Ending()
        try:
            await self._roster.keep(entry.job)
            ending = await run.run()
        except Exception:
            logger.exception("The download %s failed unexpectedly", entry.job.id)
            ending = Ending(event="fail", trouble=WENT_WRONG)
        finally:
            with anyio.move_on_after(SETTLE_S, shield=True):
                await self._end(entry, work, run, ending)
            entry.run = None
            self.let_go_of_idle(entry)
            run.ended.set()
            self.start_ready()

    async def _end(self, entry: Entry, work: Downloader, run: JobRun, ending: Ending) -> None:
        try:
            await self._settle(entry, work, run, ending)
        except Exception:
            logger.exception("The download %s ended unexpectedly", entry.job.id)
            await self.move(entry, "fail", Ending(event="fail", trouble=WENT_WRONG))

    async def _settle(self, entry: Entry, work: Downloader, run: JobRun, ending: Ending) -> None:
        entry.job = run.job
        if ending.event == "finish" or entry.wanted == "interrupt":
            await self.move(entry, ending.event, ending)
            return
        if entry.wanted == "cancel":
            try:
                await _discard(work)
            except AIError as error:
                await self.move(entry, "fail", Ending(event="fail", trouble=trouble_of(error)))
                return
        await self.move(entry, entry.wanted, note=work.parting if entry.wanted == "pause" else "")

    async def _discard(self, entry: Entry) -> None:
        try:
            work = self._work_for(entry.job.origin)
        except AIError:
            return  # what cannot be downloaded any more has left nothing that could be found
        await _discard(work)


async def _discard(work: Downloader) -> None:
    try:
        await work.discard()
    except OSError as error:
        said = error.strerror or type(error).__name__
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"What arrived could not be removed: {said}."
        ) from error


class _Refused(Downloader):
    """Work that cannot even begin."""

    parting = ""

    def __init__(self, error: AIError) -> None:
        self._error = error

    async def title(self) -> str:
        raise self._error

    async def run(self, report: Report) -> str | None:
        raise self._error

    async def discard(self) -> None:
        """Nothing has come."""
