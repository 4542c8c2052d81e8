"""Time that is counted as on an idle machine."""

import asyncio
import os
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.guarded.fair_clock import FairClock
from tests.support.guarded.fair_clock import demand as demand_of_the_machine
from tests.support.isolation import guarded_path


class Machine:
    """A clock on the wall, and how many processes want each processor."""

    def __init__(self, demand: float = 0.5) -> None:
        self.now = 100.0
        self.demand = demand
        self.clock = FairClock(lambda: self.now, lambda: self.demand)

    def pass_seconds(self, seconds: float, step: float = 0.01) -> float:
        """Return what the fair clock counts of them."""
        before = self.clock()
        end = self.now + seconds
        while self.now < end:
            self.now += step
            self.clock()
        return self.clock() - before


def test_it_is_the_clock_on_the_wall_while_nothing_waits() -> None:
    machine = Machine()
    for _ in range(100):
        machine.now += 0.013
        assert abs(machine.clock() - machine.now) < 1e-9


def test_a_second_with_a_quarter_of_a_processor_is_a_quarter_of_a_second() -> None:
    machine = Machine(4)
    assert abs(machine.pass_seconds(10) - 2.5) < 0.01


def test_it_follows_what_changes_within_a_second() -> None:
    machine = Machine(0.5)
    machine.demand = 5
    machine.pass_seconds(1)
    assert machine.pass_seconds(1) < 0.25
    machine.demand = 1
    machine.pass_seconds(1)
    assert machine.pass_seconds(1) > 0.95


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 50))))
def test_it_never_goes_back_nor_faster_than_the_wall(steps: list[tuple[float, float]]) -> None:
    machine = Machine()
    last = machine.clock()
    for seconds, demand in steps:
        machine.now += seconds
        machine.demand = demand
        fair = machine.clock()
        assert last <= fair <= last + seconds + 1e-9
        last = fair


def test_it_never_stands_still() -> None:
    assert Machine(10_000).pass_seconds(10) > 1


def test_a_thread_that_is_held_up_turns_no_time_back() -> None:
    machine = Machine(1)
    reached, gate = threading.Event(), threading.Event()

    def demand_of_the_slow() -> float:
        if threading.current_thread() is slow:
            reached.set()
            gate.wait(0.2)
        return 50.0

    clock = FairClock(lambda: machine.now, lambda: machine.demand)
    clock._demand = demand_of_the_slow
    slow = threading.Thread(target=clock)
    machine.now += 1
    slow.start()
    reached.wait(5)
    machine.now += 1
    times = [clock()]
    gate.set()
    slow.join()
    times.append(clock())
    assert times == sorted(times)
    machine.now += 0.001
    assert times[-1] <= clock() <= times[-1] + 0.001


async def test_the_tests_and_their_event_loops_have_it() -> None:
    assert isinstance(time.monotonic, FairClock) == (sys.platform == "linux")
    before, times = time.monotonic(), asyncio.get_running_loop().time()
    assert before <= times <= time.monotonic()


def test_python_programs_that_tests_start_have_it() -> None:
    written = subprocess.run(
        [sys.executable, "-c", "import time; print(type(time.monotonic).__name__)"],
        env={"PYTHONPATH": guarded_path()},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert written.strip() == type(time.monotonic).__name__


def test_a_test_that_replaces_how_files_are_read_keeps_its_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("open", "read", "close"):
        monkeypatch.setattr(os, name, None)
    wanted = demand_of_the_machine()
    monkeypatch.undo()
    assert wanted > 0
