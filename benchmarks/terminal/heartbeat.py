"""Run a Python program with a heart that beats in its event loop, and note when it was late.

    heartbeat.py FILE MODULE [ARGUMENT]...

FILE gets a line for each late beat: when it came, by how much it was late, and the processor time
that the program used meanwhile; in seconds. MODULE is a module's name or a script's path.
"""

import asyncio
import runpy
import sys
import time
from pathlib import Path
from typing import TextIO

BEAT_S = 0.005
NOTED_S = 0.010


class Heart:
    """Beats in one loop until that ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, notes: TextIO) -> None:
        self._loop = loop
        self._notes = notes
        self._due = time.perf_counter()
        self._used = time.process_time()
        loop.call_soon(self._beat)

    def _beat(self) -> None:
        at, used = time.perf_counter(), time.process_time()
        if at - self._due > NOTED_S:
            self._notes.write(f"{at:.4f} {at - self._due:.4f} {used - self._used:.4f}\n")
        self._due, self._used = at + BEAT_S, used
        self._loop.call_later(BEAT_S, self._beat)


class HeartPolicy(asyncio.DefaultEventLoopPolicy):
    """Starts a heartbeat in each new loop."""

    def __init__(self, notes: TextIO) -> None:
        super().__init__()
        self._notes = notes

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        Heart(loop, self._notes)
        return loop


def main() -> None:
    file, target = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    with Path(file).open("a", buffering=1, encoding="utf-8") as notes:
        asyncio.set_event_loop_policy(HeartPolicy(notes))
        if target.endswith(".py"):
            runpy.run_path(target, run_name="__main__")
        else:
            runpy.run_module(target, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
