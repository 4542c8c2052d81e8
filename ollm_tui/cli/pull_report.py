"""A download as it comes: one line that changes, plain lines for a file, or JSON lines."""

from collections.abc import Callable
from typing import Protocol

from ollm_tui.cli.figures import size_text
from ollm_tui.cli.output import Output
from ollm_tui.decode.clean import clean_line
from ollm_tui.library.downloads.pull_download import PullSum
from ollm_tui.protocol.model import ModelRef, PullProgress
from ollm_tui.tui.figures import time_left

REDRAW_S = 0.1
STEP_PERCENT = 10
GO_ON = "Stopped. Repeat the command to resume."
LOOK_AGAIN = "Stopped watching; the server may continue. Repeat the command to see its progress."
"""For servers that download whether somebody looks or not."""


class PullReport(Protocol):
    """Tells somebody how far a download is, and how it ended: by one of the last three."""

    def progress(self, step: PullProgress) -> None:
        """Take one step."""
        ...

    def tick(self) -> None:
        """Show what was held back; called about every `REDRAW_S`."""
        ...

    def done(self) -> None:
        """Say that the model is there."""
        ...

    def failed(self) -> None:
        """Make room for the sentence that follows."""
        ...

    def stopped(self, advice: str) -> None:
        """Say that a person ended it, and how it goes on."""
        ...


class LiveReport:
    """One line that changes, for a person who watches."""

    def __init__(self, output: Output, ref: ModelRef, clock: Callable[[], float]) -> None:
        self._output = output
        self._ref = ref
        self._clock = clock
        self._sum = PullSum(clock)
        self._next = clock()
        self._held: PullProgress | None = None

    def progress(self, step: PullProgress) -> None:
        """Draw the line anew, at most ten times a second."""
        self._sum.add(step)
        self._held = step
        if self._clock() >= self._next:
            self.tick()

    def tick(self) -> None:
        """Draw what is newer than the line."""
        if self._held is not None:
            self._output.draw(f"{self._ref.model}  {_line(self._sum, self._held)}")
            self._held = None
            self._next = self._clock() + REDRAW_S

    def done(self) -> None:
        """Leave what is worth keeping."""
        self._output.draw("")
        _say_done(self._output, self._ref, self._sum)

    def failed(self) -> None:
        """Take the line away."""
        self._output.draw("")

    def stopped(self, advice: str) -> None:
        """Say how it goes on."""
        self._output.draw("")
        self._output.note(advice)


class PlainReport:
    """A line for each new status and each tenth, for a file or a log."""

    def __init__(self, output: Output, ref: ModelRef, clock: Callable[[], float]) -> None:
        self._output = output
        self._ref = ref
        self._sum = PullSum(clock)
        self._status = ""
        self._percent = 0

    def progress(self, step: PullProgress) -> None:
        """Say what is new."""
        self._sum.add(step)
        if not _has_sizes(step) and step.status not in {self._status, "success"}:
            self._status = step.status
            self._output.note(f"{self._ref.model}: {step.status}")
        percent = int((self._sum.fraction or 0.0) * 100)
        if percent < self._percent:  # a further server of a pool
            self._percent = 0
        if _has_sizes(step) and percent >= self._percent + STEP_PERCENT:
            self._percent = percent - percent % STEP_PERCENT
            self._output.note(f"{self._ref.model}: {_amounts(self._sum)}")

    def tick(self) -> None:
        """Nothing is held back."""

    def done(self) -> None:
        """Say that it is there."""
        _say_done(self._output, self._ref, self._sum)

    def failed(self) -> None:
        """Nothing stands in the way of the sentence."""

    def stopped(self, advice: str) -> None:
        """Say how it goes on."""
        self._output.note(advice)


class JsonReport:
    """Every step as one line of JSON, and one that closes them."""

    def __init__(self, output: Output, ref: ModelRef) -> None:
        self._output = output
        self._ref = ref

    def progress(self, step: PullProgress) -> None:
        """Write one line."""
        self._output.json(
            {
                "type": "pull_progress",
                "status": step.status,
                "digest": step.digest,
                "completed": step.completed,
                "total": step.total,
            }
        )

    def tick(self) -> None:
        """Nothing is held back."""

    def done(self) -> None:
        """Write the end."""
        self._end("stop")

    def failed(self) -> None:
        """Nothing: an error is written for every action alike."""

    def stopped(self, advice: str) -> None:
        """Write the end, and say how it goes on."""
        self._end("abort")
        self._output.note(advice)

    def _end(self, reason: str) -> None:
        self._output.json({"type": "finish", "reason": reason, "model": str(self._ref)})


def _line(whole: PullSum, step: PullProgress) -> str:
    if not _has_sizes(step) or whole.fraction is None:
        return step.status
    parts = [_amounts(whole)]
    if whole.bytes_per_s is not None:
        parts.append(f"{size_text(whole.bytes_per_s)}/s")
    if whole.seconds_left is not None:
        parts.append(f"{time_left(whole.seconds_left)} left")
    return "  ".join(parts)


def _has_sizes(step: PullProgress) -> bool:
    return not (step.digest is None and step.completed is None and step.total is None)


def _amounts(whole: PullSum) -> str:
    percent = int((whole.fraction or 0.0) * 100)
    return f"{percent} %  {size_text(whole.completed)} of {size_text(whole.total)}"


def _say_done(output: Output, ref: ModelRef, whole: PullSum) -> None:
    size = f" ({size_text(whole.total)})" if whole.total else ""
    output.note(f"Downloaded {ref.model}{size}.")
    output.line(clean_line(str(ref)))
