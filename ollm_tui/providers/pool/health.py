"""Which members of a pool to try, and in which order; pure except for its clock."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from random import random
from typing import Literal

from ollm_tui.dataclass import dataclass

FIRST_BACK_OFF_S = 1.0
MAX_BACK_OFF_S = 60.0
State = Literal["alive", "dead", "due", "trying"]
"""A failed member is dead until its back-off ends, then due, and trying while one request is."""
_RANK = {"alive": 0, "due": 0, "trying": 1, "dead": 2}


@dataclass(slots=True)
class _Health:
    busy: int = 0
    last_request: float = 0.0
    """Number of its last request; below zero before the first one."""
    failures: int = 0
    deaths: int = 0
    dead_until: float | None = None
    trial: "Attempt | None" = None


class Attempt:
    """One request to one member, and its outcome."""

    def __init__(self, tracker: "HealthTracker", member: int, deaths: int) -> None:
        self.member = member
        self._tracker = tracker
        self._deaths = deaths

    def note_answer(self) -> None:
        """Record that the member is up, whatever it replied."""
        self._tracker.mark_alive(self.member)

    def failed(self, retry_after_s: float = 0.0) -> None:
        """Record that the member is down; `retry_after_s` is the wait that it asked for."""
        self._tracker.mark_dead(self.member, self._deaths, retry_after_s)


class HealthTracker:
    """The health of the members of a pool, by number."""

    def __init__(
        self,
        size: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random,
    ) -> None:
        # The first member is random: every run of a script starts with a new tracker, and all runs
        # would go to the same server.
        self._members = [_Health(last_request=-jitter()) for _ in range(size)]
        self._clock = clock
        self._jitter = jitter
        self._requests = 0

    def state(self, member: int) -> State:
        """Return the current state of a member."""
        health = self._members[member]
        if health.dead_until is None:
            return "alive"
        if health.trial is not None:
            return "trying"
        return "due" if self._clock() >= health.dead_until else "dead"

    def busy(self, member: int) -> int:
        """Return how many requests a member is working on."""
        return self._members[member].busy

    def order(self, members: Collection[int]) -> list[int]:
        """Return these members in the order to try them.

        The least busy one comes first; among equals, the one that has been idle the longest.
        """
        return sorted(members, key=self._sort_key)

    def worth_asking(self, members: Collection[int]) -> list[int]:
        """Return those that are alive or due, or all if there are none, in the same order."""
        ordered = self.order(members)
        return [m for m in ordered if self.state(m) in ("alive", "due")] or ordered

    @contextmanager
    def attempt(self, member: int, *, takes_turn: bool = True) -> Iterator[Attempt]:
        """Count a request while the block runs; `takes_turn=False` keeps who is next."""
        health = self._members[member]
        if not takes_turn:
            yield Attempt(self, member, health.deaths)
            return
        self._requests += 1
        health.last_request = self._requests
        health.busy += 1
        attempt = Attempt(self, member, health.deaths)
        if health.dead_until is not None and health.trial is None:
            health.trial = attempt
        try:
            yield attempt
        finally:
            health.busy -= 1
            if health.trial is attempt:
                health.trial = None

    def mark_alive(self, member: int) -> None:
        """Mark a member as alive."""
        health = self._members[member]
        health.failures, health.dead_until, health.trial = 0, None, None

    def mark_dead(self, member: int, deaths: int, retry_after_s: float = 0.0) -> None:
        """Mark a member as dead, unless it died since the request with this `deaths` count."""
        health = self._members[member]
        if health.deaths != deaths:
            return
        wait = min(MAX_BACK_OFF_S, FIRST_BACK_OFF_S * 2.0 ** min(health.failures, 16))
        health.failures += 1
        health.deaths += 1
        spread = wait * (0.75 + self._jitter() / 2)
        health.dead_until = self._clock() + max(spread, min(retry_after_s, MAX_BACK_OFF_S))
        health.trial = None

    def _sort_key(self, member: int) -> tuple[float, ...]:
        health, state = self._members[member], self.state(member)
        ends = health.dead_until if state == "dead" and health.dead_until is not None else 0.0
        return (_RANK[state], ends, health.busy, health.last_request)
