"""Jobs for engines that speak frames over pipes: hearing, speech, drawing.

    WorkerPlan    which model a process loads, and with which module of `ollm_tui.engines`
    Workers.job   one job: frames as they come, cancelled when the block is left early

A process that does not end a cancelled job at once is killed; the next job starts it again.
"""

import importlib.util
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

import anyio

from ollm_tui.config.regular_file import real_path
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import string
from ollm_tui.engines.frames import (
    CANCEL,
    CANCELLED,
    ERROR,
    JOB,
    BadFrameError,
    Frame,
    FrameReader,
    write_frame,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.plan import Plan
from ollm_tui.providers.embedded.supervisor import Engine, Supervisor
from ollm_tui.tasks import cancelled_by

CANCEL_S: Final = 0.3
"""How long a process may take to end a cancelled job before it is killed."""
EXIT_WAIT_S: Final = 1.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlan:
    """Which model a process loads, and how."""

    name: str
    engine: str
    """The engine's name, as people know it: `whisper.cpp`."""
    module: str
    """The module that runs it, below `ollm_tui.engines` or with its whole name."""
    install_hint: str
    """How the engine is installed."""
    path: Path | None = None
    """The model's file; None for an engine that needs none."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Further files by what they are for."""
    options: JsonMapping = field(default_factory=dict)

    @property
    def command(self) -> Sequence[str]:
        """The program; with -P, nothing in the working directory can replace a module."""
        module = self.module if "." in self.module else f"ollm_tui.engines.{self.module}"
        return (sys.executable, "-P", "-m", module)

    def instructions(self) -> JsonObject:
        """Return what the process is told; may block."""
        return {
            "name": self.name,
            "model": "" if self.path is None else str(real_path(self.path)),
            "files": {what: str(real_path(path)) for what, path in self.files.items()},
            "options": dict(self.options),
        }

    def replaces(self, _other: Plan) -> AIError | None:
        """Return None: other options are no news."""
        return None

    def check(self, report: JsonMapping, log: str) -> None:
        """Check that the model is loaded.

        Raises:
            AIError: it is not, with the reason.
        """
        if report.get("missing"):
            raise failures.no_package(self.engine, self.install_hint)
        if "error" in report:
            reason = str(report["error"]) or "no reason given"
            raise failures.model_refused(self.engine, self.name, reason, log)
        if report.get("ready") is not True:
            raise failures.not_understood()


class Workers:
    """Runs jobs in the processes of a supervisor, one at a time in each."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._workers: dict[Engine[WorkerPlan], _Worker] = {}

    @asynccontextmanager
    async def job(
        self,
        plan: WorkerPlan,
        fields: JsonMapping,
        data: bytes = b"",
        *,
        signal: AbortSignal | None = None,
        keep_alive: str | float | None = None,
    ) -> AsyncIterator["JobFrames"]:
        """Run a job; the block gets its frames. Entering it loads the model.

        Afterwards the model stays for `keep_alive`; None is the time of the settings.

        Raises:
            AIError: any failure; ABORTED by the signal.
        """
        idle_unload_s = self._supervisor.idle_unload_after(keep_alive)
        async with AsyncExitStack() as stack:
            worker = await until(signal, lambda: self._worker(stack, plan))
            worker.engine.idle_unload_s = idle_unload_s
            frames = JobFrames(worker, signal)
            stack.push_async_callback(frames.aclose)
            await until(signal, lambda: worker.begin(fields, data))
            yield frames

    async def run(
        self,
        plan: WorkerPlan,
        fields: JsonMapping,
        data: bytes = b"",
        *,
        signal: AbortSignal | None = None,
    ) -> Frame:
        """Run a job and return its last frame.

        Raises:
            AIError: any failure; ABORTED by the signal.
        """
        async with self.job(plan, fields, data, signal=signal) as frames:
            return [frame async for frame in frames][-1]

    async def _worker(self, stack: AsyncExitStack, plan: WorkerPlan) -> "_Worker":
        """Return a process that works for nobody else, until the stack closes."""
        while True:
            async with AsyncExitStack() as attempt:
                engine = await attempt.enter_async_context(self._supervisor.lease(plan))
                for ended in [one for one in self._workers if one.exited.is_set()]:
                    del self._workers[ended]
                worker = self._workers.setdefault(engine, _Worker(engine))
                await attempt.enter_async_context(worker.turn)
                if not engine.is_ending:  # an earlier job may have ended it
                    stack.push_async_exit(attempt.pop_all())
                    return worker


class JobFrames(AsyncIterator[Frame]):
    """The frames of one job; the last one is `done`."""

    def __init__(self, worker: "_Worker", signal: AbortSignal | None) -> None:
        self._worker = worker
        self._signal = signal
        self._is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Frame:
        if self._is_over:
            raise StopAsyncIteration
        frame = await until(self._signal, self._worker.next_frame)
        self._is_over = frame.is_end
        if frame.type == ERROR:
            raise _job_error(frame, self._worker.engine.plan)
        if frame.type == CANCELLED:
            raise failures.aborted_job()
        return frame

    async def aclose(self) -> None:
        """End the job, if it has not ended by itself."""
        if not self._is_over:
            self._is_over = True
            with anyio.CancelScope(shield=True):
                await self._worker.cancel()


class _Worker:
    """One process, and what has arrived from it."""

    def __init__(self, engine: Engine[WorkerPlan]) -> None:
        self.engine = engine
        self.turn = anyio.Semaphore(1)
        self._reader = FrameReader()
        self._arrived: list[Frame] = []
        self._job = 0
        self._is_sent = False

    async def begin(self, fields: JsonMapping, data: bytes) -> None:
        """Send the next job."""
        self._job += 1
        self._is_sent = False
        try:
            job = write_frame(Frame(self._job, JOB, fields, data))
        except BadFrameError as error:
            self._is_sent = True
            raise AIError(ErrorCode.BAD_REQUEST, f"The request is too large: {error}.") from None
        await self.engine.process.write(job)
        self._is_sent = True

    async def next_frame(self) -> Frame:
        """Return the next frame of the job.

        Raises:
            AIError: the process has ended, or sent something else.
        """
        while not self._arrived:
            piece = await self.engine.process.read()
            self.engine.process.log_tail()  # makes room for what may come
            if not piece:
                raise await self._crashed()
            try:
                frames = [*self._reader.feed(piece)]
            except BadFrameError:
                self.engine.kill()
                raise failures.not_understood() from None
            # What is left of an earlier job is of no use.
            self._arrived += [frame for frame in frames if frame.job == self._job]
        return self._arrived.pop(0)

    async def cancel(self) -> None:
        """End the job: by asking, or with the process."""
        self._arrived.clear()
        if self._is_sent and not self.engine.is_ending:
            with anyio.move_on_after(CANCEL_S):
                await self.engine.process.write(write_frame(Frame(self._job, CANCEL)))
                while not await self._read_to_end():
                    pass
                return
        self.engine.kill()
        await self.engine.exited.wait()

    async def _read_to_end(self) -> bool:
        try:
            return (await self.next_frame()).is_end
        except AIError:
            self.engine.kill()
            return True

    async def _crashed(self) -> AIError:
        with anyio.move_on_after(EXIT_WAIT_S):
            await self.engine.exited.wait()
        if not self.engine.exited.is_set():
            self.engine.kill()  # it has closed its output, so that nothing can come any more
            return failures.not_understood()
        return self.engine.crash or failures.unloaded(self.engine.plan.name)


async def until(signal: AbortSignal | None, work: Callable[[], Awaitable[T]]) -> T:
    """Return what some work returns.

    Raises:
        AIError: ABORTED if the signal came first.
    """
    with cancelled_by(signal):
        return await work()
    raise failures.aborted_job()


def has_package(name: str) -> bool:
    """Whether an optional package is installed; does not import it."""
    return importlib.util.find_spec(name) is not None


def _job_error(frame: Frame, plan: WorkerPlan) -> AIError:
    """Return the error that a process reported for a job."""
    code = ErrorCode.__members__.get(str(frame.fields.get("code")), ErrorCode.ENGINE_ERROR)
    if code == ErrorCode.OUT_OF_MEMORY:
        return failures.out_of_memory_at_work(plan.name)
    message = string(frame.fields, "message")
    if message is None:
        reason = string(frame.fields, "reason") or "no reason given"
        message = f"{plan.engine} failed: {reason.rstrip('.')}."
    return AIError(code, message, hint=string(frame.fields, "hint"))
