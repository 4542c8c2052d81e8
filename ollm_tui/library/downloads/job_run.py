"""One run of one job: progress reported a few times a second, a failure made a sentence."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

import anyio

from ollm_tui.library.downloads.downloader import Downloader, Pace, Progress
from ollm_tui.library.downloads.job import Job, JobError
from ollm_tui.protocol.errors import AIError


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What tells the time; all in seconds."""

    clock: Callable[[], float] = time.monotonic
    """For speeds."""
    now: Callable[[], float] = time.time
    """Since 1970."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


TELL_S: Final = 0.25
TELLS_PER_KEEP: Final = 20
"""How far it is, is kept every five seconds, for other programs and for the next start."""
LONGEST_NOTE: Final = 300
WENT_WRONG: Final = JobError(
    message="The download failed because of an internal error.",
    hint="What arrived is kept. `ollm.log` in the state folder says more.",
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended."""

    event: Literal["finish", "fail", "interrupt"] = "interrupt"
    """`interrupt`: it was stopped."""
    trouble: JobError | None = None
    model: str | None = None


class JobRun:
    """A download while it runs; `show` gets the job as it changes, `keep` now and then."""

    def __init__(
        self,
        job: Job,
        work: Downloader,
        times: Times,
        show: Callable[[Job], None],
        keep: Callable[[Job], Awaitable[None]],
    ) -> None:
        self._job = job
        self._work = work
        self._times = times
        self._show = show
        self._keep = keep
        self._pace = Pace()
        self._scope = anyio.CancelScope()
        self.ended = anyio.Event()
        """Set by who ran it, when all that follows from its end is done."""

    @property
    def job(self) -> Job:
        """The job with all that is known by now."""
        return self._job

    def stop(self) -> None:
        """Have it end soon."""
        self._scope.cancel()

    async def run(self) -> Ending:
        """Do the work; whatever it raises is its failure."""
        ending = Ending()
        with self._scope:
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._tell)
                ending = await self._result()
                beside.cancel_scope.cancel()
        return ending

    async def _result(self) -> Ending:
        try:
            model = await self._work.run(self._report)
        except AIError as error:
            return Ending(event="fail", trouble=trouble_of(error))
        except OSError as error:
            logger.warning("The download %s failed: %s", self._job.id, type(error).__name__)
            said = error.strerror or type(error).__name__
            return Ending(event="fail", trouble=JobError(message=f"The download failed: {said}."))
        except Exception as error:
            told = _told(error)
            if told is None:
                logger.exception("The download %s failed unexpectedly", self._job.id)
            return Ending(event="fail", trouble=WENT_WRONG if told is None else trouble_of(told))
        return Ending(event="finish", model=model)

    def _report(self, progress: Progress) -> None:
        if progress.has_leapt or progress.completed < self._job.completed:
            self._pace.clear()
        self._pace.note(self._times.clock(), progress.completed)
        self._job = replace(
            self._job,
            completed=progress.completed,
            total=progress.total,
            note=progress.note[:LONGEST_NOTE],
        )

    async def _tell(self) -> None:
        shown, tells = self._job, 0
        while True:
            await self._times.sleep(TELL_S)
            tells += 1
            self._pace.note(self._times.clock(), self._job.completed)  # it may stand still
            rest = (self._job.total or 0) - self._job.completed
            self._job = replace(
                self._job,
                bytes_per_s=self._pace.bytes_per_s,
                seconds_left=self._pace.seconds_left(rest) if self._job.total else None,
            )
            if self._job != shown:
                shown = self._job
                self._show(shown)
            if tells % TELLS_PER_KEEP == 0:
                await self._keep(self._job)


def trouble_of(error: AIError) -> JobError:
    """Give what a person reads of an error."""
    return JobError(message=error.message, hint=error.hint)


def _told(error: BaseException) -> AIError | None:
    """Find the error that was meant for a person in a group of a task group's."""
    if isinstance(error, AIError):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for one in inner if (found := _told(one)) is not None), None)
