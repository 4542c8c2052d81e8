"""Whatever a person and the servers do, in any order: the queue stays a queue."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError, ErrorCode
from tests.library.downloads.puppet_work import pull
from tests.library.downloads.queue_bench import Bench

NAMES = "abcde"
ACTIONS = ("add", "pause", "resume", "cancel", "dismiss", "finish", "fail", "break", "restart")
AT_ONCE = 2
PLANS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from(NAMES)), max_size=25)


@settings(max_examples=40)
@given(PLANS)
def test_the_oldest_run_a_few_at_a_time_whatever_is_done(plan: Sequence[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(carry_out, Path(folder), plan)


async def carry_out(folder: Path, plan: Sequence[tuple[str, str]]) -> None:
    here = Bench(folder, AT_ONCE)
    await here.queue.__aenter__()
    try:
        for action, name in plan:
            if action == "restart":
                await here.queue.__aexit__(None, None, None)
                assert here.work.running == []
                here = Bench(folder, AT_ONCE)
                await here.queue.__aenter__()
                await here.queue.take_over()
            else:
                await do(here, action, name)
            await here.until(lambda here=here: is_settled(here))  # type: ignore[misc]
            check(here)
    finally:
        await here.queue.__aexit__(None, None, None)


async def do(here: Bench, action: str, name: str) -> None:
    newest = [job for job in here.queue.jobs() if job.title == f"the {name}"][-1:]
    match action:
        case "add":
            await here.queue.add(pull(name))
        case "pause" | "resume" | "cancel" | "dismiss" if newest:
            discarded = here.work[name].discarded
            await getattr(here.queue, action)(newest[0].id)
            if action == "cancel":
                could = newest[0].state not in {"done", "cancelled"}
                assert here.work[name].discarded == discarded + could
        case "finish" if here.work[name].running:
            here.work[name].end(f"local://{name}")
        case "fail" if here.work[name].running:
            here.work[name].end(AIError(ErrorCode.TIMEOUT, "It stood still."))
        case "break" if here.work[name].running:
            here.work[name].end(ValueError())


def is_settled(here: Bench) -> bool:
    """Whether what runs is what should run by now."""
    jobs = here.queue.jobs()
    running = sorted(job.title[4:] for job in jobs if job.state == "running")
    is_full = len(running) == AT_ONCE or not any(job.state == "queued" for job in jobs)
    has_orders = any(puppet.has_orders for puppet in here.work.all.values())
    return running == sorted(here.work.running) and is_full and not has_orders


def check(here: Bench) -> None:
    jobs = here.queue.jobs()
    running = [job for job in jobs if job.state == "running"]
    assert len(running) <= AT_ONCE
    assert [job.id for job in jobs] == sorted(job.id for job in jobs)
    for name in NAMES:
        alive = [
            job
            for job in jobs
            if job.title == f"the {name}" and job.state in {"queued", "running", "paused"}
        ]
        assert len(alive) <= 1, "the same is not fetched twice"
    assert not any(job.is_elsewhere for job in jobs)
