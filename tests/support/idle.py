"""Wait until an app has nothing left to do, without a pause where the event loop can tell.

Textual's pilot samples the processor's time after every key and in every pause: 20 ms at least.
With no callback, timer, descriptor or thread at work there is nothing to wait for; with a
descriptor or a thread the pilot's wait decides.
"""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from anyio._backends._asyncio import WorkerThread, _threadpool_idle_workers
from textual._wait import SLEEP_GRANULARITY
from textual._wait import wait_for_idle as wait_for_idle_processor

HORIZON_S = 0.04
"""Timers that run out later are not waited for; longer than Textual's wait and than a frame."""

PATIENCE_S = 0.2
"""For timers that follow each other without end, such as those of a running animation: as long as
they are meant to take, for on a busy machine each takes longer."""

MOST_TURNS = 10_000
"""Of a loop whose callbacks call each other without end."""
MOST_LOOKS = 20
"""For threads that work without end."""
TASKS = Path("/proc/self/task")


@pytest.fixture(autouse=True)
def waits_for_what_can_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pilots wait for what can happen; a conftest that imports this has it for its tests."""
    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", wait_for_idle)


async def wait_for_idle(min_sleep: float = SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    """Return when nothing can happen within the horizon; takes what Textual's own takes."""
    loop: Any = asyncio.get_running_loop()
    waited, turns = 0.0, 0
    while waited < PATIENCE_S and turns < MOST_TURNS:
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
    for _look in range(MOST_LOOKS):
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
