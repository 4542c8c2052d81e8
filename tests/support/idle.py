"""Wait until an app has nothing left to do, without a pause where the event loop can tell.

Textual's pilot samples the processor's time after every key and in every pause: 20 ms at least.
With no callback, timer, descriptor or thread at work there is nothing to wait for; with a
descriptor or a thread the pilot's wait decides.

Before each pause the pilot sends every widget a message, and waits until all have come to it: that
is half of what a key costs. Where each of them waits for its next message already, none is sent.
"""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from anyio._backends._asyncio import WorkerThread, _threadpool_idle_workers
from textual._wait import SLEEP_GRANULARITY
from textual._wait import wait_for_idle as wait_for_idle_processor
from textual.message_pump import MessagePump
from textual.pilot import Pilot

HORIZON_S = 0.04
"""Timers that run out later are not waited for; longer than Textual's wait and than a frame."""

TIMEOUT_S = 0.2
"""For timers that follow each other without end, such as those of a running animation: as long as
they are meant to take, for on a busy machine each takes longer."""

MAX_TURNS = 10_000
"""Of a loop whose callbacks call each other without end."""
MAX_LOOKS = 20
"""For threads that work without end."""
TASKS = Path("/proc/self/task")


@pytest.fixture(autouse=True)
def waits_for_what_can_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pilots wait for what can happen; a conftest that imports this has it for its tests."""
    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", wait_for_idle)
    wait_for_screen = Pilot._wait_for_screen

    async def wait_for_messages(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
        if _has_messages(pilot):
            return await wait_for_screen(pilot, timeout)
        await asyncio.sleep(0)
        return True

    monkeypatch.setattr(Pilot, "_wait_for_screen", wait_for_messages)


def _has_messages(pilot: Pilot[Any]) -> bool:
    """Has the app, or a widget on its screen, a message that it has not handled to the end?"""
    app = pilot.app
    if app._exception is not None or not app.screen_stack:
        return True
    pumps = (app, *app.screen.walk_children(with_self=True))
    return not all(_waits_for_a_message(pump) for pump in pumps)


def _waits_for_a_message(pump: MessagePump) -> bool:
    queue: Any = pump._message_queue
    is_asked = any(not waiter.done() for waiter in queue.ready_event._waiters)
    return is_asked and queue.empty() and not pump._next_callbacks


async def wait_for_idle(min_sleep: float = SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    """Return when nothing can happen within the horizon; takes what Textual's own takes."""
    loop: Any = asyncio.get_running_loop()
    waited, turns = 0.0, 0
    while waited < TIMEOUT_S and turns < MAX_TURNS:
        turns += 1
        await asyncio.sleep(0)
        if loop._ready:
            continue
        if _has_descriptors(loop) or _has_threads_at_work():
            break
        due = _next_timer(loop)
        if due is None or due > HORIZON_S:
            return
        waited += max(due, 0.0005)
        await asyncio.sleep(max(due, 0))
    for _look in range(MAX_LOOKS):
        await wait_for_idle_processor(min_sleep, max_sleep)
        if not _has_threads_that_run():
            return


def _has_threads_that_run() -> bool:
    """Does another thread run, or wait for a processor? Where the system does not tell, no.

    The processor's time stands still, too, when others have the processor.
    """
    for task in TASKS.glob("*/stat"):
        if task.parent.name == str(threading.get_native_id()):
            continue
        try:
            state = task.read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has ended
        if state in {"R", "D"}:
            return True
    return False


def _has_descriptors(loop: Any) -> bool:
    """Does the loop watch anything beside the pipe by which it is woken?"""
    return len(loop._selector.get_map()) > 1


def _has_threads_at_work() -> bool:
    """Is there another thread of which nobody knows that it has no work?"""
    idle = _threadpool_idle_workers.get(())
    return any(
        thread is not threading.current_thread()
        and not (isinstance(thread, WorkerThread) and thread in idle)
        for thread in threading.enumerate()
    )


def _next_timer(loop: Any) -> float | None:
    whens = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
    return min(whens) - loop.time() if whens else None
