"""Whether the machine did nothing else: only then is a figure held to its limit.

The load before the run tells of what was going on already. In each round the processor time of the
whole machine, less that of the driver, the server and the program, is that of others.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

BUSY = 0.5
"""The load of one minute before the run above which nothing is judged."""
OTHERS = 0.10
"""The share of one processor that others may use in a round that counts."""
_STAT = Path("/proc/stat")
_TICKS = os.sysconf("SC_CLK_TCK")
_GRAIN_S = 2 / _TICKS
"""What the machine may count too much of the time between two looks."""
_IDLE, _WAITING, _GUESTS = 3, 4, 8
"""Places in the line of all processors; guests are counted in the first two as well."""


def load() -> float:
    """Return how many processes wanted to run in the last minute."""
    return os.getloadavg()[0]


def machine_s(text: str) -> float | None:
    """Return the processor time that was used since the start of the machine, by all.

    None where the system does not count it.
    """
    first, _, _ = text.partition("\n")
    ticks = [int(field) for field in first.split()[1:]][:_GUESTS]
    used = sum(number for place, number in enumerate(ticks) if place not in {_IDLE, _WAITING})
    return used / _TICKS if used else None


class Others:
    """What others use from now on."""

    def __init__(self, own_s: Callable[[], float]) -> None:
        self._own_s = own_s
        self._began = time.perf_counter(), self._machine(), own_s()

    @staticmethod
    def _machine() -> float | None:
        return machine_s(_STAT.read_text()) if _STAT.exists() else None

    def share(self, *more_s: float) -> float | None:
        """Return their share of one processor so far; `more_s` are own times, too."""
        (at, used, own), now, used_now = self._began, time.perf_counter(), self._machine()
        if used is None or used_now is None:
            return None
        others = (used_now - used) - (self._own_s() - own) - sum(more_s) - _GRAIN_S
        return max(0.0, others / (now - at))
