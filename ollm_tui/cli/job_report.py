"""A download of the queue as it comes: a bar that changes, plain lines, or JSON lines."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ollm_tui.cli.figures import size_text
from ollm_tui.cli.output import Output
from ollm_tui.decode.clean import clean_line
from ollm_tui.library.downloads.job import Job
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.figures import time_left

Address: TypeAlias = Callable[[ModelRef], str]
"""Gives a model's address as people write it."""
BAR = 20
STEP_PERCENT = 10


class JobReport(Protocol):
    """Tells somebody how far a download is, and how it ended."""

    def progress(self, job: Job) -> None:
        """Take its newest state."""
        ...

    def ended(self, job: Job, advice: str) -> None:
        """Tell how it ended; `advice` says how one that was stopped goes on."""
        ...


class LiveJob:
    """One line that changes, for a person who watches."""

    def __init__(self, output: Output, address: Address) -> None:
        self._output = output
        self._address = address

    def progress(self, job: Job) -> None:
        """Draw the line anew."""
        self._output.draw(f"{job.title}  {_line(job)}")

    def ended(self, job: Job, advice: str) -> None:
        """Leave what is worth keeping."""
        self._output.draw("")
        say_end(self._output, job, advice, self._address)


class PlainJob:
    """A line for each new note and each tenth, for a file or a log."""

    def __init__(self, output: Output, address: Address) -> None:
        self._output = output
        self._address = address
        self._note = ""
        self._percent = 0

    def progress(self, job: Job) -> None:
        """Say what is new."""
        if job.note and job.note != self._note:
            self._output.note(f"{job.title}: {job.note}")
        self._note = job.note
        percent = int((job.fraction or 0.0) * 100)
        if percent >= self._percent + STEP_PERCENT:
            self._percent = percent - percent % STEP_PERCENT
            self._output.note(f"{job.title}: {_amounts(job)}")

    def ended(self, job: Job, advice: str) -> None:
        """Say how it ended."""
        say_end(self._output, job, advice, self._address)


class JsonJob:
    """Every state as one line of JSON, and one that closes them."""

    def __init__(self, output: Output) -> None:
        self._output = output

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
    """Give a download in the names that `ollm models pull` has always had, and some more."""
    trouble: JsonObject | None = None
    if job.error is not None:
        trouble = {"message": job.error.message, "hint": job.error.hint}
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
        "trouble": trouble,
    }


def say_end(output: Output, job: Job, advice: str, address: Address) -> None:
    """Say that it is there, or how it goes on; why it failed is said for every action alike."""
    if job.state == "done":
        size = f" ({size_text(job.total)})" if job.total else ""
        output.note(f"Downloaded {job.title}{size}.")
        ref = ModelRef.parse(job.model or "")
        output.line(clean_line(address(ref) if ref else job.model or job.title))
    elif job.state != "failed" and advice:
        output.note(advice)


def _line(job: Job) -> str:
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


def _amounts(job: Job) -> str:
    percent = int((job.fraction or 0.0) * 100)
    return f"{percent} %  {size_text(job.completed)} of {size_text(job.total)}"
