"""Starts jobs in their order, a few at a time, and applies what becomes of each."""

import logging
from dataclasses import replace
from functools import partial
from typing import Final

import anyio
from anyio.abc import TaskGroup

from ollm_tui.dataclass import dataclass, field
from ollm_tui.library.downloads.downloader import DownloaderFor
from ollm_tui.library.downloads.job import JobEvent, can, transition
from ollm_tui.library.downloads.job_index import JobEntry, JobIndex
from ollm_tui.library.downloads.job_run import (
    INTERNAL_ERROR,
    Clocks,
    JobRun,
    Outcome,
    failed,
    job_error,
)
from ollm_tui.protocol.errors import AIError, ErrorCode

CLOSE_S: Final = 1.5
SETTLE_S: Final = 5.0
"""How long deleting and storing may take; files in use elsewhere are not waited for."""
STOPPING: Final = "stopping"

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Dispatcher:
    """Runs the jobs of an index that are queued and owned."""

    index: JobIndex
    group: TaskGroup
    downloader_for: DownloaderFor
    at_once: int
    clocks: Clocks
    is_closing: bool = field(default=False, init=False)

    def start_ready(self) -> None:
        """Start queued jobs, the oldest first, up to the limit of jobs at once."""
        entries = self.index.entries()
        free = self.at_once - sum(entry.run is not None for entry in entries)
        ready = [entry for entry in entries if entry.is_owned and entry.run is None]
        for entry in [one for one in ready if one.job.state == "queued"][: max(0, free)]:
            if not self.is_closing:
                self._start(entry)

    async def stop(self, entry: JobEntry, event: JobEvent) -> None:
        """Pause or cancel a job; returns once that is done.

        Raises:
            AIError: what arrived cannot be deleted.
        """
        if (run := entry.run) is not None:
            entry.wanted = event
            run.stop()
            self.index.update(entry, replace(entry.job, note=STOPPING))
            await run.ended.wait()
        elif can(entry.job, event):
            if event == "cancel":
                await self._discard(entry)
            await self.apply(entry, event)

    async def stop_all(self) -> None:
        """Interrupt all runs, so that the next program can continue them; start no others."""
        self.is_closing = True
        runs = [entry.run for entry in self.index.entries() if entry.run is not None]
        for run in runs:
            run.stop()
        with anyio.move_on_after(CLOSE_S, shield=True):
            for run in runs:
                await run.ended.wait()

    async def apply(
        self, entry: JobEntry, event: JobEvent, outcome: Outcome | None = None, note: str = ""
    ) -> None:
        """Apply an event to a job and store the result."""
        outcome = outcome or Outcome()
        now = self.clocks.now()
        job = transition(entry.job, event, now, error=outcome.error, model=outcome.model)
        self.index.update(entry, replace(job, note=note))
        await self.index.store(entry.job)

    def release_idle(self, entry: JobEntry) -> None:
        """Release a job that is neither queued nor running."""
        if entry.run is None and entry.job.state not in {"queued", "running"}:
            self.index.release(entry)

    def _start(self, entry: JobEntry) -> None:
        self.index.update(entry, transition(entry.job, "start", self.clocks.now()))
        entry.wanted = "interrupt"
        show = partial(self.index.update, entry)
        store = self.index.store
        entry.run = run = JobRun(entry.job, self.downloader_for, self.clocks, show, store)
        self.group.start_soon(self._run, entry, run)

    async def _run(self, entry: JobEntry, run: JobRun) -> None:
        outcome = Outcome()
        try:
            await self.index.store(entry.job)
            outcome = await run.run()
        except Exception:
            logger.exception("The download %s failed unexpectedly", entry.job.id)
            outcome = failed(INTERNAL_ERROR)
        finally:
            with anyio.move_on_after(SETTLE_S, shield=True):
                await self._end(entry, run, outcome)
            entry.run = None
            self.release_idle(entry)
            run.ended.set()
            self.start_ready()

    async def _end(self, entry: JobEntry, run: JobRun, outcome: Outcome) -> None:
        try:
            await self._settle(entry, run, outcome)
        except Exception:
            logger.exception("The download %s ended unexpectedly", entry.job.id)
            await self.apply(entry, "fail", failed(INTERNAL_ERROR))

    async def _settle(self, entry: JobEntry, run: JobRun, outcome: Outcome) -> None:
        entry.job = run.job
        if outcome.event == "finish" or entry.wanted == "interrupt":
            await self.apply(entry, outcome.event, outcome)
            return
        if entry.wanted == "cancel":
            try:
                await self._discard(entry)
            except AIError as error:
                await self.apply(entry, "fail", failed(job_error(error)))
                return
        note = run.pause_note if entry.wanted == "pause" else ""
        await self.apply(entry, entry.wanted, note=note)

    async def _discard(self, entry: JobEntry) -> None:
        try:
            downloader = self.downloader_for(entry.job.origin)
        except AIError:
            return  # what cannot be downloaded any more has left nothing that could be found
        try:
            await downloader.discard()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            message = f"What arrived could not be removed: {reason}."
            raise AIError(ErrorCode.INTERNAL_ERROR, message) from error
