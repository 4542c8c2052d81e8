"""An engine that only counts, for tests: a program as those of `ollm_tui.engines`.

Its model is a text file: `model` and what it does when it is loaded. A job says what to do.
"""

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
            case "draws":
                return _draw(job)
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


def _draw(job: Job) -> Result:
    """Make pictures, each in two steps with a preview."""
    at, parts = 0, {}
    for name, length in job.fields["parts"]:
        parts[name] = job.data[at : at + length]
        at += length
    if parts["prompt"] == b"forever":
        job.progress(1, 2)
        while True:
            job.check()
            time.sleep(STEP_S)
    count = job.fields.get("count", 1)
    for number in range(count):
        job.progress(number * 2 + 1, count * 2)
        job.piece(_png(1, 1), step=number * 2 + 1, total=count * 2)
        job.progress(number * 2 + 2, count * 2)
        seed = job.fields.get("seed", 7) + number
        job.piece(_png(*_size(job.fields, parts)), index=number, seed=seed)
    return Result({"seed": 7})


def _png(width: int, height: int) -> bytes:
    """Return the beginning of a PNG file."""
    head = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(head)) + b"IHDR" + head


def _size(fields: Mapping[str, Any], parts: Mapping[str, bytes]) -> tuple[int, int]:
    """Return the size asked for; without one, it tells how many pictures were given."""
    return fields.get("width", 1 + len(parts)), fields.get("height", fields.get("steps", 1))


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
