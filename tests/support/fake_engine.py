"""An engine that only counts, for tests: a program as those of `ollm_tui.engines`.

Its model is a text file: `model` and what it does when it is loaded. A job says what to do.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ollm_tui.engines.host import Instructions, Job, JobError, Result, run_program, serve
from ollm_tui.engines.speech import speak_sentences

STEP_S = 0.005
RATE = 8000


class FakeEngine:
    """Does what a job says, else its task: `speaks` or `hears`."""

    def __init__(self, task: str) -> None:
        self._task = task

    def run(self, job: Job) -> Result:
        match job.fields.get("do", self._task):
            case "speaks":
                return speak_sentences(job, RATE, lambda text: b"\1\0" * len(text))
            case "hears":
                return _heard(job)
            case "echo":
                return Result({"count": len(job.data)}, job.data)
            case "count":
                return _count(job)
            case "hang":
                job.piece()
                while True:
                    time.sleep(60)
            case "sleep":  # in a process below this one
                sleep = "import time; time.sleep(60)"
                run_program([sys.executable, "-I", "-S", "-c", sleep], b"", job)
            case "fork and hang":
                other = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
                )
                job.piece(pid=other.pid)
                time.sleep(60)
            case "crash":
                os.write(2, b"assertion failed: n > 0\n")
                os.kill(os.getpid(), signal.SIGSEGV)
            case "fail":
                raise JobError("The sound is too short.", "Use a longer one.", code="BAD_REQUEST")
            case "raise":
                raise RuntimeError("no tensor named x")
            case "exhaust":
                raise MemoryError
            case "babble":
                os.write(3, b"what?\n")
                time.sleep(60)
            case "flood":
                for _ in range(1000):
                    with contextlib.suppress(BlockingIOError):  # native code does not look
                        os.write(2, b"x" * 1000 + b"\n")
                return Result()
        return Result()


def _heard(job: Job) -> Result:
    """Take the words of a text for what is said, one in a second."""
    words = job.data.decode().split()
    job.progress(0, len(words) * 1000)
    for number, word in enumerate(words):
        job.piece(start=number, end=number + 1, text=f" {word}")
    return Result({"language": job.fields.get("language", "en"), "duration_s": len(words)})


def _count(job: Job) -> Result:
    total = int(job.fields["to"])
    for number in range(1, total + 1):
        job.check()
        job.progress(number, total)
        job.piece(str(number).encode())
        time.sleep(STEP_S)
    return Result({"counted": total})


def load(instructions: Instructions) -> FakeEngine:
    what, _, then = Path(instructions.model).read_text(encoding="utf-8").partition(" ")
    if what != "model":
        raise ValueError("it is no model")
    if then == "never":
        time.sleep(60)
    if then == "missing":
        raise ModuleNotFoundError("No module named 'fake'", name="fake")
    return FakeEngine(then)


if __name__ == "__main__":
    serve(load)
