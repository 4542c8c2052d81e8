"""The states of a pool's members, walked at random and compared with a simple model."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ollm_tui.providers.pool.health import (
    FIRST_BACK_OFF_S,
    MAX_BACK_OFF_S,
    Attempt,
    HealthTracker,
    State,
)
from tests.support.clock import ManualClock

SIZE = 3
MEMBERS = st.integers(0, SIZE - 1)


@dataclass
class _Known:
    """What must be true of one member, told in the plainest way."""

    dead_until: float | None = None
    failures: int = 0
    trial: int | None = None
    deaths: int = 0


@dataclass
class _Open:
    number: int
    member: int
    deaths: int
    context: AbstractContextManager[Attempt]
    attempt: Attempt


class PoolHealth(RuleBasedStateMachine):
    """Requests begin, are answered, fail and are given up, while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.tracker = HealthTracker(SIZE, clock=self.clock, jitter=lambda: 0.5)
        self.known = [_Known() for _ in range(SIZE)]
        self.open: list[_Open] = []
        self.begun = 0

    def expected(self, member: int) -> State:
        known = self.known[member]
        if known.dead_until is None:
            return "alive"
        if known.trial is not None:
            return "trying"
        return "due" if self.clock.now >= known.dead_until else "dead"

    @rule(member=MEMBERS)
    def begin(self, member: int) -> None:
        known = self.known[member]
        self.begun += 1
        if known.dead_until is not None and known.trial is None:
            known.trial = self.begun
        context = self.tracker.attempt(member)
        self.open.append(_Open(self.begun, member, known.deaths, context, context.__enter__()))

    @rule()
    def begin_with_the_best(self) -> None:
        first = self.tracker.order(range(SIZE))[0]
        states = [self.expected(m) for m in range(SIZE)]
        if {"alive", "due"} & set(states):
            assert states[first] in ("alive", "due")
        self.begin(first)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.open))
        request.attempt.note_answer()
        known = self.known[request.member]
        known.dead_until, known.failures, known.trial = None, 0, None

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.open))
        request.attempt.failed()
        known = self.known[request.member]
        if known.deaths == request.deaths:
            wait = min(MAX_BACK_OFF_S, FIRST_BACK_OFF_S * 2**known.failures)
            known.dead_until = self.clock.now + wait
            known.failures += 1
            known.deaths += 1
            known.trial = None

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.open))
        self.open.remove(request)
        request.context.__exit__(None, None, None)
        known = self.known[request.member]
        if known.trial == request.number:
            known.trial = None

    @rule(seconds=st.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def the_states_are_those_of_the_model(self) -> None:
        states = [self.tracker.state(m) for m in range(SIZE)]
        assert states == [self.expected(m) for m in range(SIZE)]

    @invariant()
    def the_busy_ones_are_counted(self) -> None:
        for member in range(SIZE):
            counted = sum(1 for request in self.open if request.member == member)
            assert self.tracker.busy(member) == counted

    @invariant()
    def everybody_is_asked_once_and_the_dead_last(self) -> None:
        order = self.tracker.order(range(SIZE))
        assert sorted(order) == [*range(SIZE)]
        dead = [self.expected(m) == "dead" for m in order]
        assert dead == sorted(dead)
        worth = self.tracker.worth_asking(range(SIZE))
        assert worth
        alive = [m for m in order if self.expected(m) in ("alive", "due")]
        assert worth == (alive or order)

    def teardown(self) -> None:
        for request in self.open:
            request.context.__exit__(None, None, None)


TestPoolHealth = PoolHealth.TestCase
TestPoolHealth.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def tracker_of(size: int, jitter: float = 0.5) -> tuple[HealthTracker, ManualClock]:
    clock = ManualClock()
    return HealthTracker(size, clock=clock, jitter=lambda: jitter), clock


def test_equals_are_asked_in_turn_and_the_idle_before_the_busy() -> None:
    tracker, _ = tracker_of(3)

    def asked() -> Iterator[int]:
        for _ in range(6):
            (first, *_) = tracker.order(range(3))
            with tracker.attempt(first):
                yield first

    assert [*asked()] == [0, 1, 2, 0, 1, 2]
    with tracker.attempt(0), tracker.attempt(1), tracker.attempt(1), tracker.attempt(2):
        assert tracker.order(range(3)) == [0, 2, 1]


def test_the_back_off_doubles_up_to_a_minute_and_is_spread() -> None:
    for jitter, share in ((0.0, 0.75), (0.5, 1.0), (1.0, 1.25)):
        tracker, clock = tracker_of(1, jitter)
        waits = []
        for _ in range(9):
            with tracker.attempt(0) as attempt:
                attempt.failed()
            begun = clock.now
            while tracker.state(0) == "dead":
                clock.now += 0.25
            waits.append(clock.now - begun)
        wished = [min(60.0, 2.0**n) * share for n in range(9)]
        assert all(abs(w - m) <= 0.25 for w, m in zip(waits, wished, strict=True)), waits


def test_a_member_that_says_for_how_long_is_left_alone_as_long_up_to_a_minute() -> None:
    for wished, waited in ((0.25, 1.0), (20.0, 20.0), (1e9, 60.0)):
        tracker, clock = tracker_of(1)
        with tracker.attempt(0) as attempt:
            attempt.failed(wished)
        clock.now = waited - 0.01
        assert tracker.state(0) == "dead"
        clock.now = waited
        assert tracker.state(0) == "due"


def test_of_many_requests_that_fail_at_once_one_lengthens_the_back_off() -> None:
    tracker, clock = tracker_of(1)
    with tracker.attempt(0) as a, tracker.attempt(0) as b, tracker.attempt(0) as c:
        for attempt in (a, b, c):
            attempt.failed()
    clock.now = FIRST_BACK_OFF_S
    assert tracker.state(0) == "due"


def test_a_trial_that_is_given_up_leaves_the_member_due() -> None:
    tracker, clock = tracker_of(2)
    with tracker.attempt(0) as attempt:
        attempt.failed()
    clock.now = 5.0
    with tracker.attempt(0):
        assert tracker.state(0) == "trying"
        assert tracker.order(range(2)) == [1, 0]
    assert tracker.state(0) == "due"


def test_a_question_that_takes_no_turn_leaves_the_order_as_it_is() -> None:
    tracker = HealthTracker(3, clock=lambda: 0.0, jitter=lambda: 0.5)
    with tracker.attempt(0) as attempt:
        attempt.note_answer()
    before = tracker.order(range(3))
    for member in before:
        with tracker.attempt(member, takes_turn=False) as attempt:
            attempt.note_answer()
    assert tracker.order(range(3)) == before
    with tracker.attempt(before[0], takes_turn=False) as attempt:
        attempt.failed()
    assert tracker.state(before[0]) == "dead"


def test_runs_that_each_begin_anew_do_not_all_go_to_the_same_member() -> None:
    chance = Random(7)
    first = Counter(HealthTracker(3, jitter=chance.random).order(range(3))[0] for _ in range(300))
    assert min(first[member] for member in range(3)) > 60
