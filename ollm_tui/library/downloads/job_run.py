"""One run of one job: progress reported a few times a second, a failure made a sentence."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Literal

import anyio

from ollm_tui.dataclass import dataclass
from ollm_tui.library.downloads.downloader import Downloader, DownloaderFor, Progress, SpeedMeter
from ollm_tui.library.downloads.job import Job, JobError
from ollm_tui.protocol.errors import AIError

REPORT_INTERVAL_S: Final = 0.25
REPORTS_PER_STORE: Final = 20
"""Progress is stored every five seconds, for other programs and for the next start."""
MAX_NOTE_CHARS: Final = 300
INTERNAL_ERROR: Final = JobError(
    message="The download failed because of an internal error.",
    hint="What arrived is kept. `ollm.log` in the state folder says more.",
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Sources of time, in seconds; tests replace them."""

    monotonic: Callable[[], float] = time.monotonic
    """For speeds."""
    now: Callable[[], float] = time.time
    """Since 1970."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a run."""

    event: Literal["finish", "fail", "interrupt"] = "interrupt"
    """`interrupt`: it was stopped."""
    error: JobError | None = None
    model: str | None = None


def failed(error: JobError) -> Outcome:
    """Return the outcome of a run that failed."""
    return Outcome(event="fail", error=error)


class JobRun:
    """A job while it runs; `show` is called as it changes, `store` every few seconds."""

    def __init__(
        self,
        job: Job,
        downloader_for: DownloaderFor,
        clocks: Clocks,
        show: Callable[[Job], None],
        store: Callable[[Job], Awaitable[None]],
    ) -> None:
        self._job = job
        self._downloader_for = downloader_for
        self._downloader: Downloader | None = None
        self._clocks = clocks
        self._show = show
        self._store = store
        self._speed = SpeedMeter()
        self._scope = anyio.CancelScope()
        self.ended = anyio.Event()
        """Set by the dispatcher once everything that follows from the end is done."""

    @property
    def job(self) -> Job:
        """The job with the newest progress."""
        return self._job

    @property
    def pause_note(self) -> str:
        """The note of the job if it is paused now."""
        return self._downloader.pause_note if self._downloader is not None else ""

    def stop(self) -> None:
        """Cancel the run; it ends soon."""
        self._scope.cancel()

    async def run(self) -> Outcome:
        """Download, and return how that ended; an error becomes the outcome `fail`."""
        outcome = Outcome()
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self._report_regularly)
                outcome = await self._outcome()
                group.cancel_scope.cancel()
        return outcome

    async def _outcome(self) -> Outcome:
        try:
            self._downloader = self._downloader_for(self._job.origin)
            model = await self._downloader.run(self._take)
        except AIError as error:
            return failed(job_error(error))
        except OSError as error:
            logger.warning("The download %s failed: %s", self._job.id, type(error).__name__)
            reason = error.strerror or type(error).__name__
            return failed(JobError(message=f"The download failed: {reason}."))
        except Exception as error:
            inner = _inner_error(error)
            if inner is None:
                logger.exception("The download %s failed unexpectedly", self._job.id)
            return failed(INTERNAL_ERROR if inner is None else job_error(inner))
        return Outcome(event="finish", model=model)

    def _take(self, progress: Progress) -> None:
        if progress.is_jump or progress.completed < self._job.completed:
            self._speed.clear()
        self._speed.sample(self._clocks.monotonic(), progress.completed)
        self._job = replace(
            self._job,
            completed=progress.completed,
            total=progress.total,
            note=progress.note[:MAX_NOTE_CHARS],
        )

    async def _report_regularly(self) -> None:
        shown, reports = self._job, 0
        while True:
            await self._clocks.sleep(REPORT_INTERVAL_S)
            reports += 1
            # sampled also without progress: the speed drops while nothing arrives
            self._speed.sample(self._clocks.monotonic(), self._job.completed)
            rest = (self._job.total or 0) - self._job.completed
            self._job = replace(
                self._job,
                bytes_per_s=self._speed.bytes_per_s,
                seconds_left=self._speed.seconds_left(rest) if self._job.total else None,
            )
            if self._job != shown:
                shown = self._job
                self._show(shown)
            if reports % REPORTS_PER_STORE == 0:
                await self._store(self._job)


def job_error(error: AIError) -> JobError:
    """Return the message and hint of an error."""
    return JobError(message=error.message, hint=error.hint)


def _inner_error(error: BaseException) -> AIError | None:
    """Return the first AIError in a possibly nested exception group."""
    if isinstance(error, AIError):
        return error
    group = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((inner for one in group if (inner := _inner_error(one)) is not None), None)
