"""Progress and end of a download: one line that changes, plain lines, or JSON lines."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from ollm_tui.cli.model_format import Address
from ollm_tui.cli.output import Output
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import time_left
from ollm_tui.library.downloads.job import Job
from ollm_tui.library.downloads.pull_download import PullSum
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelRef, PullProgress

REDRAW_S = 0.1
STEP_PERCENT = 10
RESUME_HINT = "Stopped. Repeat the command to resume."
WATCH_HINT = "Stopped watching; the server may continue. Repeat the command to see its progress."
"""For servers that continue when the client disconnects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How a report names the work; a download by default."""

    done: str = ""
    """The sentence at the end, if the work is no download."""
    event: str = "pull_progress"
    """What `--json` calls a step."""
    result: ModelRef | None = None
    """The model that the work has made, if it is not the one it is about."""
    is_in_steps: bool = False
    """Whether each status has sizes of its own: bytes that are checked, sent and converted."""


DOWNLOAD: Final = Wording()


class PullReport:
    """Reports the progress of a server's work; one of the last three methods ends it."""

    def __init__(
        self,
        output: Output,
        ref: ModelRef,
        clock: Callable[[], float],
        wording: Wording = DOWNLOAD,
    ) -> None:
        self._output = output
        self._ref = ref
        self._clock = clock
        self._wording = wording
        self._sum = PullSum(clock)

    def begin(self) -> None:
        """Report that the server was asked, which may be silent for a while."""

    def progress(self, step: PullProgress) -> None:
        """Take one step."""
        if self._wording.is_in_steps and step.status != self._sum.status:
            self._sum = PullSum(self._clock)
        self._sum.add(step)

    def tick(self) -> None:
        """Show what was held back; called about every `REDRAW_S`."""

    def done(self) -> None:
        """Report that the model is there."""
        if self._wording.done:
            self._output.note(self._wording.done)
            self._output.line(clean_line(str(self._wording.result or self._ref)))
        else:
            _say_done(self._output, self._ref.model, self._sum.total, str(self._ref))

    def failed(self) -> None:
        """Make room for the sentence that follows."""

    def stopped(self, advice: str) -> None:
        """Report that it was stopped, and how to resume."""
        self._output.note(advice)


class LiveReport(PullReport):
    """One line that changes, for the user who watches."""

    def __init__(
        self,
        output: Output,
        ref: ModelRef,
        clock: Callable[[], float],
        wording: Wording = DOWNLOAD,
    ) -> None:
        super().__init__(output, ref, clock, wording)
        self._next = clock()
        self._held: PullProgress | None = None

    def begin(self) -> None:
        """Draw a line until the first step."""
        self._output.draw(f"{self._ref.model}  waiting for the server")

    def progress(self, step: PullProgress) -> None:
        """Redraw the line, at most ten times a second."""
        super().progress(step)
        self._held = step
        if self._clock() >= self._next:
            self.tick()

    def tick(self) -> None:
        """Draw what is newer than the line."""
        if self._held is not None:
            self._output.draw(f"{self._ref.model}  {self._line(self._held)}")
            self._held = None
            self._next = self._clock() + REDRAW_S

    def _line(self, step: PullProgress) -> str:
        if not _has_sizes(step) or self._sum.fraction is None:
            return step.status
        amounts = _amounts_line(self._sum)
        return f"{step.status}  {amounts}" if self._wording.is_in_steps else amounts

    def done(self) -> None:
        """Leave what is worth keeping."""
        self.failed()
        super().done()

    def failed(self) -> None:
        """Remove the line."""
        self._output.draw("")

    def stopped(self, advice: str) -> None:
        """Say how to resume."""
        self.failed()
        super().stopped(advice)


class PlainReport(PullReport):
    """A line for each new status and each tenth, for a file or a log."""

    _status = ""
    _percent = 0

    def progress(self, step: PullProgress) -> None:
        """Write what is new."""
        super().progress(step)
        is_named = self._wording.is_in_steps or not _has_sizes(step)
        if is_named and step.status not in {self._status, "success"}:
            self._status = step.status
            self._output.note(f"{self._ref.model}: {step.status}")
        percent = int((self._sum.fraction or 0.0) * 100)
        if percent < self._percent:  # a further server of a pool
            self._percent = 0
        if _has_sizes(step) and percent >= self._percent + STEP_PERCENT:
            self._percent = percent - percent % STEP_PERCENT
            self._output.note(f"{self._ref.model}: {_amounts(self._sum)}")


class JsonReport(PullReport):
    """Every step as one line of JSON, and one that closes them."""

    def progress(self, step: PullProgress) -> None:
        """Write one line."""
        self._output.json({"type": self._wording.event, **asdict(step)})

    def done(self) -> None:
        """Write the end."""
        self._end("stop")

    def stopped(self, advice: str) -> None:
        """Write the end, and how to resume."""
        self._end("abort")
        super().stopped(advice)

    def _end(self, reason: str) -> None:
        self._output.json(
            {"type": "finish", "reason": reason, "model": str(self._wording.result or self._ref)}
        )


def _amounts_line(whole: PullSum) -> str:
    parts = [_amounts(whole)]
    if whole.bytes_per_s is not None:
        parts.append(f"{size_text(whole.bytes_per_s)}/s")
    if whole.seconds_left is not None:
        parts.append(f"{time_left(whole.seconds_left)} left")
    return "  ".join(parts)


def _has_sizes(step: PullProgress) -> bool:
    return not (step.digest is None and step.completed is None and step.total is None)


BAR = 20


class JobReport:
    """Reports the progress and the end of a download of the queue."""

    def __init__(self, output: Output, address: Address = str) -> None:
        self._output = output
        self._address = address

    def progress(self, job: Job) -> None:
        """Take its newest state."""

    def ended(self, job: Job, advice: str) -> None:
        """Report the end; `advice` says how to resume one that was stopped."""
        if job.state == "done":
            ref = ModelRef.parse(job.model or "")
            shown = self._address(ref) if ref else job.model or job.title
            _say_done(self._output, job.title, job.total, shown)
        elif job.state != "failed" and advice:  # errors are written in one place
            self._output.note(advice)


class LiveJob(JobReport):
    """One line that changes, for the user who watches."""

    def progress(self, job: Job) -> None:
        """Redraw the line."""
        self._output.draw(f"{job.title}  {_job_line(job)}")

    def ended(self, job: Job, advice: str) -> None:
        """Leave what is worth keeping."""
        self._output.draw("")
        super().ended(job, advice)


class PlainJob(JobReport):
    """A line for each new note and each tenth, for a file or a log."""

    _note = ""
    _percent = 0

    def progress(self, job: Job) -> None:
        """Write what is new."""
        if job.note and job.note != self._note:
            self._output.note(f"{job.title}: {job.note}")
        self._note = job.note
        percent = int((job.fraction or 0.0) * 100)
        if percent >= self._percent + STEP_PERCENT:
            self._percent = percent - percent % STEP_PERCENT
            self._output.note(f"{job.title}: {_amounts(job)}")


class JsonJob(JobReport):
    """Every state as one line of JSON, and one that closes them."""

    def progress(self, job: Job) -> None:
        """Write one line."""
        self._output.json({"type": "pull_progress", **job_to_json(job)})

    def ended(self, job: Job, advice: str) -> None:
        """Write the end; an error is written for every action alike."""
        if job.state != "failed":
            reason = "stop" if job.state == "done" else "abort"
            self._output.json({"type": "finish", "reason": reason, "model": job.model})
        if job.state != "done" and advice:
            self._output.note(advice)


def job_to_json(job: Job) -> JsonObject:
    """Return a download in the names that `ollm models pull` has always had, and some more."""
    error = job.error
    return {
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "status": job.note or job.state,
        "digest": None,
        "completed": job.completed,
        "total": job.total,
        "bytes_per_s": job.bytes_per_s,
        "seconds_left": job.seconds_left,
        "model": job.model,
        "is_elsewhere": job.is_elsewhere,
        "trouble": None if error is None else {"message": error.message, "hint": error.hint},
    }


def _job_line(job: Job) -> str:
    parts = [job.note] if job.note else []
    if job.fraction is not None:
        full = int(job.fraction * BAR)
        parts = [f"{'█' * full}{'░' * (BAR - full)} {_amounts(job)}", *parts]
    elif job.completed:
        parts = [size_text(job.completed), *parts]
    if job.bytes_per_s is not None and job.state == "running":
        parts.insert(1, f"{size_text(job.bytes_per_s)}/s")
        if job.seconds_left is not None:
            parts.insert(2, f"{time_left(job.seconds_left)} left")
    return "  ".join(parts) or job.state


def _amounts(progress: PullSum | Job) -> str:
    percent = int((progress.fraction or 0.0) * 100)
    return f"{percent} %  {size_text(progress.completed)} of {size_text(progress.total)}"


def _say_done(output: Output, name: str, total: int | None, address: str) -> None:
    size = f" ({size_text(total)})" if total else ""
    output.note(f"Downloaded {name}{size}.")
    output.line(clean_line(address))
