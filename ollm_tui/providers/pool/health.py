"""Which members of a pool are worth asking, and in which order; pure but for its clock.

States of a member, and what leads from one to the next:

* ``alive``: asked like the others. A failure leads to ``dead``.
* ``dead``: passed over as long as another one is alive. Its back-off ends: ``due``.
* ``due``: the next request may try it, which leads to ``trying``.
* ``trying``: one request finds out, the others pass it over. An answer of any kind leads to
  ``alive``; a failure to ``dead`` with a longer back-off; a request that is given up to ``due``.

A failure counts for the state in which its request was begun: of many requests under way when a
server dies, the first to fail is the one that lengthens the back-off. When nobody is alive or due,
the dead are asked all the same, the one whose back-off ends first in front: it costs nothing more
than the answer that nobody is there.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import random
from typing import Literal

FIRST_BACK_OFF_S = 1.0
LONGEST_BACK_OFF_S = 60.0
State = Literal["alive", "dead", "due", "trying"]
_RANK = {"alive": 0, "due": 0, "trying": 1, "dead": 2}


@dataclass(slots=True)
class _Health:
    busy: int = 0
    asked_at: float = 0.0
    """Number of the request that asked it last; below zero before the first."""
    failures: int = 0
    deaths: int = 0
    dead_until: float | None = None
    trial: "Attempt | None" = None


class Attempt:
    """One request to one member, and what came of it."""

    def __init__(self, roster: "HealthTracker", member: int, deaths: int) -> None:
        self.member = member
        self._roster = roster
        self._deaths = deaths

    def answered(self) -> None:
        """The member is there, whatever it said."""
        self._roster.revive(self.member)

    def failed(self, wished_s: float = 0.0) -> None:
        """The member is not there, and may have said for how long it wants to be left alone."""
        self._roster.bury(self.member, self._deaths, wished_s)


class HealthTracker:
    """The members of a pool, by number."""

    def __init__(
        self,
        size: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random,
    ) -> None:
        # Who is asked first is left to chance: each run of a script begins anew, and all of them
        # would go to the same server.
        self._members = [_Health(asked_at=-jitter()) for _ in range(size)]
        self._clock = clock
        self._jitter = jitter
        self._requests = 0

    def state(self, member: int) -> State:
        """Give the state of one member now."""
        health = self._members[member]
        if health.dead_until is None:
            return "alive"
        if health.trial is not None:
            return "trying"
        return "due" if self._clock() >= health.dead_until else "dead"

    def busy(self, member: int) -> int:
        """How many requests one member is at work on."""
        return self._members[member].busy

    def order(self, members: Collection[int]) -> list[int]:
        """Give these members, the one to ask first in front.

        The least busy one comes first, of equals the one that was not asked for longest.
        """
        return sorted(members, key=self._place)

    def worth_asking(self, members: Collection[int]) -> list[int]:
        """Give those that are alive or due; all where there are none such, as `order` does."""
        ordered = self.order(members)
        return [m for m in ordered if self.state(m) in ("alive", "due")] or ordered

    @contextmanager
    def attempt(self, member: int, *, takes_turn: bool = True) -> Iterator[Attempt]:
        """Count a request to a member as long as the block runs.

        A small question that takes no turn leaves the order as it is: the next prompt goes to the
        member that it would have gone to.
        """
        health = self._members[member]
        if not takes_turn:
            yield Attempt(self, member, health.deaths)
            return
        self._requests += 1
        health.asked_at = self._requests
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

    def revive(self, member: int) -> None:
        """Take a member for alive."""
        health = self._members[member]
        health.failures, health.dead_until, health.trial = 0, None, None

    def bury(self, member: int, deaths: int, wished_s: float = 0.0) -> None:
        """Take a member for dead, unless it died since the request with this number of deaths."""
        health = self._members[member]
        if health.deaths != deaths:
            return
        wait = min(LONGEST_BACK_OFF_S, FIRST_BACK_OFF_S * 2.0 ** min(health.failures, 16))
        health.failures += 1
        health.deaths += 1
        spread = wait * (0.75 + self._jitter() / 2)
        health.dead_until = self._clock() + max(spread, min(wished_s, LONGEST_BACK_OFF_S))
        health.trial = None

    def _place(self, member: int) -> tuple[float, ...]:
        health, state = self._members[member], self.state(member)
        ends = health.dead_until if state == "dead" and health.dead_until is not None else 0.0
        return (_RANK[state], ends, health.busy, health.asked_at)
