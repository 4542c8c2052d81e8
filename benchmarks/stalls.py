"""How long an event loop was kept from running: a heartbeat that is timed."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

BEAT_S = 0.001


@dataclass
class Stalls:
    """What each heartbeat found, in seconds."""

    gaps: list[float] = field(default_factory=list)
    """By how much it was late."""
    own: list[float] = field(default_factory=list)
    """Processor time of the loop's thread since the one before."""
    work: list[float] = field(default_factory=list)
    """Processor time of the whole program since the one before."""

    @property
    def longest(self) -> float:
        """The longest delay."""
        return max(self.gaps, default=0.0)

    @property
    def busiest(self) -> float:
        """The most that the loop's thread worked between two heartbeats."""
        return max(self.own, default=0.0)

    @property
    def longest_work(self) -> float:
        """The longest delay, as far as the program worked in it: the rest is the machine's."""
        return max(map(min, self.gaps, self.work), default=0.0)

    def join(self, others: "Stalls") -> None:
        """Add the heartbeats of another time."""
        self.gaps += others.gaps
        self.own += others.own
        self.work += others.work

    @property
    def p99(self) -> float:
        """The delay that one in a hundred is above."""
        return p99(self.gaps)

    def over(self, limit_s: float) -> int:
        """Count the delays over a limit."""
        return sum(gap > limit_s for gap in self.gaps)

    def __str__(self) -> str:
        every = zip(self.gaps, self.own, self.work, strict=True)
        gap, busy, work = max(every, default=(0.0, 0.0, 0.0))
        return (
            f"longest stall {gap * 1000:6.1f} ms (loop itself {busy * 1000:5.1f} ms,"
            f" program {work * 1000:5.1f} ms)   "
            f"over 100 ms {self.over(0.1):3}   over 50 ms {self.over(0.05):3}"
        )


def p99(values: list[float]) -> float:
    """Return the value that one in a hundred is above."""
    return sorted(values)[int(len(values) * 0.99)]


@asynccontextmanager
async def watched_loop(beat_s: float = BEAT_S) -> AsyncIterator[Stalls]:
    """Time the heartbeats of this loop until the block ends."""
    stalls = Stalls()

    async def beat() -> None:
        while True:
            began, worked, program = time.perf_counter(), time.thread_time(), time.process_time()
            await anyio.sleep(beat_s)
            stalls.gaps.append(max(time.perf_counter() - began - beat_s, 0.0))
            stalls.own.append(time.thread_time() - worked)
            stalls.work.append(time.process_time() - program)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        yield stalls
        group.cancel_scope.cancel()
