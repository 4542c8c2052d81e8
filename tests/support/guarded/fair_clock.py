"""Count time as on an idle machine: a second with half a processor is half a second.

Where more processes want to run than there are processors, `time.monotonic`, and with it asyncio's
clock, timeouts and sleeps, goes slower by the same share, down to an eighth. What has to be
compared between processes is told by `time.perf_counter`.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

LOOK_EVERY_S: Final = 0.02
MAX_DEMAND: Final = 8.0
"""For each processor: even a test that starts processes without end has an end."""
WEIGHT: Final = 0.1
"""Of the last look in the mean: that many processes run in one moment says little."""
LOAD: Final = Path("/proc/loadavg")
PROCESSORS: Final = os.cpu_count() or 1
_open, _read, _close = os.open, os.read, os.close  # tests replace those of `os`


def demand() -> float:
    """Return how many processes want to run for each processor, this one among them."""
    # The shortest way to read it: every process does so fifty times a second.
    file = _open(LOAD, os.O_RDONLY)
    try:
        content = _read(file, 64)
    finally:
        _close(file)
    running = content.split()[3].partition(b"/")[0]
    return int(running) / PROCESSORS


class FairClock:
    """A clock in seconds that never goes back, and never faster than the one that it follows."""

    def __init__(self, clock: Callable[[], float], demand: Callable[[], float]) -> None:
        self._clock = clock
        self._demand = demand
        self._mean = self._bounded_demand()
        now = clock()
        self._state = now, now, 1 / self._mean
        """Since when, from what, and how fast it goes."""
        self._look_at = now + LOOK_EVERY_S
        self._lock = threading.RLock()
        """Or a thread that is held up would turn the clock back; a signal's handler may ask too."""

    def __call__(self) -> float:
        """Return the seconds; only differences mean something."""
        with self._lock:
            now = self._clock()
            since, counted, rate = self._state
            fair = counted + (now - since) * rate
            if now >= self._look_at:
                self._look_at = now + LOOK_EVERY_S
                self._mean += WEIGHT * (self._bounded_demand() - self._mean)
                self._state = now, fair, 1 / self._mean
            return fair

    def _bounded_demand(self) -> float:
        return min(max(1.0, self._demand()), MAX_DEMAND)


def sleep(seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(left)


def wait(event: threading.Event, seconds: float) -> bool:
    """Wait for the event until that much fair time has passed, and tell whether it is set."""
    end = time.monotonic() + seconds
    while not event.is_set() and (left := end - time.monotonic()) > 0:
        event.wait(left)
    return event.is_set()


def install() -> None:
    """Give this process fair time from now on, where the system tells who wants to run."""
    if sys.platform == "linux" and LOAD.exists() and not isinstance(time.monotonic, FairClock):
        setattr(time, "monotonic", FairClock(time.monotonic, demand))  # noqa: B010
