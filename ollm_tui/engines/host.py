"""The main loop of a process with an engine: it loads one model, then runs jobs until its end.

    serve(load)       a line of JSON comes in; the model is loaded; a line of JSON goes out
    Job               one request: what it asks for, its bytes, progress and pieces of the result
    JobError          a job that cannot be done, with a sentence for the user

The process ends when its input closes, and with its parent.
"""

import contextlib
import ctypes
import json
import os
import queue
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Protocol

from ollm_tui.engines.frames import (
    CANCEL,
    CANCELLED,
    DONE,
    ERROR,
    JOB,
    PIECE,
    PROGRESS,
    BadFrameError,
    Frame,
    FrameReader,
    write_frame,
)

PR_SET_PDEATHSIG: Final = 1
PIECE_BYTES: Final = 1024 * 1024
MAX_REASON_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class Instructions:
    """What is loaded, and how."""

    parent: int
    name: str
    model: str
    """The path of the model's file; empty for an engine that needs none."""
    options: Mapping[str, Any]
    files: Mapping[str, str]
    """Further files by what they are for."""


class JobError(Exception):
    """A job cannot be done; `code` is the name of an error code, without one ENGINE_ERROR."""

    def __init__(self, message: str, hint: str = "", *, code: str = "ENGINE_ERROR") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code


class JobCancelledError(Exception):
    """The job is no longer wanted."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a job ends with."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    data: bytes = b""


class Job:
    """One request; its methods may be called from any thread."""

    def __init__(self, frame: Frame, send: Callable[[Frame], None]) -> None:
        self.fields = frame.fields
        self.data = frame.data
        self.number = frame.job
        self._send = send
        self._cancelled = threading.Event()
        self._on_cancel: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def is_cancelled(self) -> bool:
        """Whether the job is no longer wanted."""
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise `JobCancelledError` if the job is no longer wanted."""
        if self.is_cancelled:
            raise JobCancelledError

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call `stop`, in another thread, when the job is no longer wanted."""
        with self._lock:
            if not self.is_cancelled:
                self._on_cancel.append(stop)
                return
        stop()

    def cancel(self) -> None:
        """Have the job end soon."""
        with self._lock:
            self._cancelled.set()
            stops, self._on_cancel = self._on_cancel, []
        for stop in stops:
            stop()

    def progress(self, step: int, total: int) -> None:
        """Report that `step` of `total` steps are done."""
        self._send(Frame(self.number, PROGRESS, {"step": step, "total": total}))

    def piece(self, data: bytes = b"", **fields: Any) -> None:
        """Send a part of the result before its end."""
        self._send(Frame(self.number, PIECE, fields, data))


class Engine(Protocol):
    """A loaded model."""

    def run(self, job: Job) -> Result:
        """Do a job; it runs in the main thread, one at a time.

        Raises:
            JobError: it cannot be done.
            JobCancelledError: it was cancelled.
        """


def serve(load: Callable[[Instructions], Engine]) -> None:
    """Load a model, report that, and run jobs until the input closes."""
    report = keep_report_apart()
    settings = json.loads(_first_line())
    instructions = Instructions(**{one.name: settings[one.name] for one in fields(Instructions)})
    die_with(instructions.parent)
    try:
        engine = load(instructions)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        _say(report, {"error": _reason(error), "missing": missing})
        sys.exit(1)
    _say(report, {"ready": True})
    _Host(engine, report).run()


def _first_line() -> bytes:
    """Read a line without reading ahead: frames follow it."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def keep_report_apart() -> int:
    """Give the reports their own descriptor, so that the engine's output goes to the log."""
    report = os.dup(1)
    os.dup2(2, 1)
    return report


def die_with(parent: int) -> None:
    """End with the parent, even during a load, when no Python code can run."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


class _Host:
    """Runs the jobs, while another thread reads the next ones and what is cancelled."""

    def __init__(self, engine: Engine, output: int) -> None:
        self._engine = engine
        self._output = output
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._known: dict[int, Job] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            job = self._jobs.get()
            end = self._end_of(job)
            self._known.pop(job.number, None)
            try:
                self._send(end)
            except BadFrameError as error:
                self._send(Frame(job.number, ERROR, {"reason": str(error)}))

    def _end_of(self, job: Job) -> Frame:
        """Run a job; whatever happens in it is its end, and not that of the process."""
        try:
            job.check()
            result = self._engine.run(job)
            return Frame(job.number, DONE, result.fields, result.data)
        except JobCancelledError:
            return Frame(job.number, CANCELLED)
        except JobError as error:
            fields = {"message": error.message, "hint": error.hint, "code": error.code}
            return Frame(job.number, ERROR, fields)
        except MemoryError:
            return Frame(job.number, ERROR, {"code": "OUT_OF_MEMORY", "message": ""})
        except Exception as error:  # noqa: BLE001 -- an engine can raise anything
            if job.is_cancelled:
                return Frame(job.number, CANCELLED)
            return Frame(job.number, ERROR, {"code": "ENGINE_ERROR", "reason": _reason(error)})

    def _read(self) -> None:
        """Read frames until the input closes; without a parent, nothing is left to do."""
        frames = FrameReader()
        with contextlib.suppress(BadFrameError, OSError):
            while piece := os.read(0, PIECE_BYTES):
                for frame in frames.feed(piece):
                    self._take(frame)
        os._exit(0)  # the engine's threads are not waited for

    def _take(self, frame: Frame) -> None:
        if frame.type == JOB:
            job = Job(frame, self._send)
            self._known[job.number] = job
            self._jobs.put(job)
        elif frame.type == CANCEL and (known := self._known.get(frame.job)) is not None:
            known.cancel()

    def _send(self, frame: Frame) -> None:
        with self._lock:
            _write(self._output, write_frame(frame))


def _say(descriptor: int, line: Mapping[str, object]) -> None:
    _write(descriptor, json.dumps(line).encode() + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    """Write everything; the process ends if the parent no longer reads."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BrokenPipeError:
        os._exit(0)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}"[:MAX_REASON_LENGTH]
    return (str(error) or type(error).__name__)[:MAX_REASON_LENGTH]


def run_program(command: Sequence[str], text: bytes, job: Job) -> bytes:
    """Run a program for a job, and return its output; it is killed when the job is cancelled.

    Raises:
        JobError: it failed, with the last line of what it says.
        JobCancelledError: the job was cancelled.
        OSError: it cannot be started.
    """
    # Costs some milliseconds, and few engines run programs.
    import subprocess

    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=None if sys.platform == "win32" else _DieWith(os.getpid()),
    ) as process:
        job.on_cancel(process.kill)
        output, errors = process.communicate(text)
    job.check()
    if process.returncode:
        how = "exit code" if process.returncode > 0 else "signal"
        lines = errors.decode(errors="replace").strip().splitlines()
        lines = lines or [f"{how} {abs(process.returncode)}"]
        raise JobError(f"{Path(command[0]).name} failed: {lines[-1][:MAX_REASON_LENGTH]}.")
    return output


@contextlib.contextmanager
def file_in_memory(content: bytes) -> Iterator[str]:
    """Give the path of a file with this content, in memory where that is possible."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("engine"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            path.write_bytes(content)
            yield str(path)


@dataclass(frozen=True, slots=True)
class _DieWith:
    parent: int

    def __call__(self) -> None:
        die_with(self.parent)
