"""Small programs of the system, asked one question: bounded in time and in what they may say."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence

TIME_LIMIT_S = 2.0
OUTPUT_LIMIT = 64 * 1024

Runner = Callable[[Sequence[str]], str | None]
"""Runs a program by its full path and gives what it printed, or None when it failed."""


def run_program(command: Sequence[str], *, time_limit_s: float = TIME_LIMIT_S) -> str | None:
    """Run a program without input; None when it is not there, fails, or takes too long.

    The output goes through a file: a grandchild that keeps a pipe open cannot hold anybody up.
    """
    try:
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            ending = _wait(process, time_limit_s)
            output.seek(0)
            said = output.read(OUTPUT_LIMIT) if ending == 0 else None
    except (OSError, ValueError):
        return None
    return None if said is None else said.decode(errors="replace")


def _wait(process: subprocess.Popen[bytes], time_limit_s: float) -> int | None:
    """Give the exit code; None for one that had to be ended, with all that it started."""
    try:
        return process.wait(time_limit_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(time_limit_s)
        return None
