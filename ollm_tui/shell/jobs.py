"""Commands in the background: started for a chat, read and stopped later, ended with the chat.

Each has a thread that takes its output. If this program ends, however that comes, the supervisor
of each command ends it with all that it started.
"""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.shell.command import (
    DRAIN_S,
    GIVEN_UP_S,
    CommandEnd,
    CommandResult,
    CommandSettings,
    check_command,
    read_report,
    start_supervised,
)
from ollm_tui.shell.output import KeptOutput

MAX_JOBS: Final = 8
"""Commands that run in the background of one chat."""
MAX_KEPT: Final = 32
"""Of those that have ended."""
_PIECE: Final = 64 * 1024
_LOOK_S: Final = 0.2
_FLOOD_PAUSE_S: Final = 0.005
"""A flood must not take the processor."""


@dataclass(eq=False)
class Job:
    """One command in the background."""

    number: int
    command: str
    timeout_s: float
    began: float = field(default_factory=time.monotonic)
    kept: KeptOutput = field(default_factory=KeptOutput)
    unread: KeptOutput = field(default_factory=KeptOutput)
    """The output that the model has not read."""
    result: CommandResult | None = None
    """How it ended; None while it runs."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.result is None

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return self.result.seconds if self.result else time.monotonic() - self.began

    @property
    def words(self) -> str:
        """How it ended, as a sentence; empty while it runs."""
        return "" if self.result is None else self.result.words or "Exit code 0."

    @property
    def output(self) -> str:
        """Its output, the beginning and the end of a long one."""
        with self._lock:
            return self.kept.text()

    def feed(self, data: bytes) -> None:
        """Take output."""
        with self._lock:
            self.kept.feed(data)
            self.unread.feed(data)

    def read(self) -> str:
        """Return the output since the last call."""
        with self._lock:
            unread, self.unread = self.unread, KeptOutput()
            return unread.text()


class BackgroundJobs:
    """The commands of one chat that run in the background."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._ends: dict[int, Callable[[CommandEnd], None]] = {}
        self._count = 0
        self._lock = threading.Lock()

    @property
    def listed(self) -> Sequence[Job]:
        """All that are kept, in the order of their numbers."""
        return tuple(self._jobs.values())

    @property
    def running(self) -> int:
        """How many have not ended."""
        return sum(job.is_running for job in self.listed)

    def get(self, number: int) -> Job | None:
        """Return one by its number."""
        return self._jobs.get(number)

    def start(
        self,
        command: str,
        settings: CommandSettings,
        ended: Callable[[], None] = lambda: None,
    ) -> Job:
        """Run a command with the shell of the settings, until its time limit; blocks for a moment.

        `ended` is called in a thread when nothing of it runs any more.

        Raises:
            AIError: it cannot be started, or too many run.
        """
        check_command(command)
        with self._lock:
            if self.running >= MAX_JOBS:
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"{counted(MAX_JOBS, 'command')} run in the background, which is the limit.",
                    hint="Stop one first.",
                )
            popen, control, output, report = start_supervised(command, settings)
            self._count += 1
            job = self._jobs[self._count] = Job(self._count, command, settings.timeout_s)
            watch = _Watch(job, popen.wait, control, output, report)
            self._ends[job.number] = watch.stop
            self._forget_old()
        popen.stdin = None
        threading.Thread(
            target=self._follow, args=(watch, ended), name=f"job-{job.number}", daemon=True
        ).start()
        return job

    def stop(self, number: int) -> bool:
        """Have a command ended with all that it started; False if it does not run."""
        job, stop = self._jobs.get(number), self._ends.get(number)
        if job is None or stop is None or not job.is_running:
            return False
        stop("stopped")
        return True

    def stop_all(self) -> int:
        """Have all of them ended; return how many ran."""
        return sum(self.stop(job.number) for job in self.listed)

    def _follow(self, watch: "_Watch", ended: Callable[[], None]) -> None:
        try:
            watch.run()
        finally:
            self._ends.pop(watch.job.number, None)
            ended()

    def _forget_old(self) -> None:
        over = [job.number for job in self.listed if not job.is_running][:-MAX_KEPT]
        for number in over:
            del self._jobs[number]


class _Watch:
    """Takes what a supervisor and its command write, in a thread of its own."""

    def __init__(
        self, job: Job, wait: Callable[[float], int], control: int, output: int, report: int
    ) -> None:
        self.job = job
        self._wait = wait
        self._control: int | None = control
        self._output, self._report = output, report
        self._end: CommandEnd = "exited"
        self._lock = threading.Lock()

    def stop(self, end: CommandEnd) -> None:
        """Ask the supervisor to end everything."""
        with self._lock:
            if self._control is not None:
                self._end = end
                os.close(self._control)
                self._control = None

    def run(self) -> None:
        """Take the output until all has ended, then note how."""
        report: Mapping[str, object] = {}
        try:
            report = self._reported()
        finally:
            self.stop(self._end)
            for descriptor in (self._output, self._report):
                os.close(descriptor)
            with contextlib.suppress(Exception):
                self._wait(GIVEN_UP_S)
            self._note(report)

    def _reported(self) -> Mapping[str, object]:
        """Read both pipes until the report is complete, which it is when all has ended."""
        written, drained_by = b"", float("inf")
        open_ends = {self._output, self._report}
        while open_ends and time.monotonic() < drained_by:
            if time.monotonic() - self.job.began > self.job.timeout_s:
                self.stop("timeout")
            for descriptor in select.select([*open_ends], [], [], _LOOK_S)[0]:
                data = os.read(descriptor, _PIECE)
                if not data:
                    open_ends.discard(descriptor)
                elif descriptor == self._report:
                    written += data
                else:
                    self._feed(data)
            if self._report not in open_ends:
                drained_by = min(drained_by, time.monotonic() + DRAIN_S)
        return read_report(written)

    def _feed(self, data: bytes) -> None:
        self.job.feed(data)
        if len(data) == _PIECE:
            time.sleep(_FLOOD_PAUSE_S)

    def _note(self, report: Mapping[str, object]) -> None:
        job, code, others = self.job, report.get("code"), report.get("others")
        if "refused" in report:
            job.feed(f"The shell cannot be run: {report['refused']}.\n".encode())
        job.result = CommandResult(
            job.command,
            job.output,
            self._end,
            code if isinstance(code, int) else None,
            others if isinstance(others, int) else 0,
            time.monotonic() - job.began,
            job.timeout_s,
        )
