"""How long an event loop was kept from running: a heartbeat that is timed."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

BEAT_S = 0.001


@dataclass
class Stalls:
    """The delays of the heartbeats, in ms, and how much of each the loop's own thread worked."""

    gaps: list[tuple[float, float]] = field(default_factory=list)

    def longest(self) -> tuple[float, float]:
        """Give the longest delay, and the processor time of the loop's thread in it."""
        return max(self.gaps, default=(0.0, 0.0))

    def over(self, limit_ms: float) -> int:
        """Count the delays over a limit."""
        return sum(gap > limit_ms for gap, _ in self.gaps)

    def __str__(self) -> str:
        gap, busy = self.longest()
        return (
            f"longest stall {gap:6.1f} ms (loop itself {busy:5.1f} ms)   "
            f"over 100 ms {self.over(100):3}   over 50 ms {self.over(50):3}"
        )


@asynccontextmanager
async def watched_loop() -> AsyncIterator[Stalls]:
    """Time the heartbeats of this loop until the block ends."""
    stalls = Stalls()

    async def beat() -> None:
        while True:
            began, worked = time.perf_counter(), time.thread_time()
            await anyio.sleep(BEAT_S)
            gap, busy = time.perf_counter() - began - BEAT_S, time.thread_time() - worked
            stalls.gaps.append((gap * 1000, busy * 1000))

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        yield stalls
        group.cancel_scope.cancel()
