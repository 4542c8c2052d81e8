"""Jobs of engines in child processes: their frames, their end, and what becomes of failures."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import Supervisor
from ollm_tui.providers.embedded.worker import WorkerPlan, Workers
from tests.providers.embedded.test_supervisor import ManualSleep
from tests.support.engine import is_running
from tests.support.engine_cases import fake_plan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
LONG: JsonObject = {"do": "count", "to": 100_000}
SHORT: JsonObject = {"do": "count", "to": 2}


@asynccontextmanager
async def workers(sleep: ManualSleep | None = None) -> AsyncIterator[tuple[Workers, Supervisor]]:
    settings = EmbeddedSettings(idle_unload_s=60, load_timeout_s=20)
    async with Supervisor(settings, sleep=sleep or anyio.sleep) as supervisor:
        yield Workers(supervisor), supervisor


@pytest.fixture
def plan(tmp_path: Path) -> WorkerPlan:
    return fake_plan(tmp_path)


async def test_a_job_gets_bytes_and_gives_them_back(plan: WorkerPlan) -> None:
    data = os.urandom(3_000_000)
    async with workers() as (them, _):
        end = await them.run(plan, {"do": "echo"}, data)
    assert end.data == data
    assert end.fields == {"count": len(data)}


async def test_steps_and_pieces_come_while_the_job_runs(plan: WorkerPlan) -> None:
    async with workers() as (them, _), them.job(plan, {"do": "count", "to": 3}) as frames:
        came = [(one.type, dict(one.fields), one.data) async for one in frames]
    assert came == [
        ("progress", {"step": 1, "total": 3}, b""),
        ("piece", {}, b"1"),
        ("progress", {"step": 2, "total": 3}, b""),
        ("piece", {}, b"2"),
        ("progress", {"step": 3, "total": 3}, b""),
        ("piece", {}, b"3"),
        ("done", {"counted": 3}, b""),
    ]


async def test_jobs_share_a_process_and_wait_for_each_other(plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        ended: list[int] = []

        async def run(number: int) -> None:
            await them.run(plan, SHORT)
            ended.append(number)

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(run, number)
        assert sorted(ended) == [0, 1, 2, 3]
        assert len(supervisor.engines) == 1


async def test_models_of_several_engines_are_loaded_beside_each_other(tmp_path: Path) -> None:
    first, second = fake_plan(tmp_path), fake_plan(tmp_path, engine="other")
    async with workers() as (them, supervisor):
        await them.run(first, SHORT)
        await them.run(second, SHORT)
        assert len(supervisor.engines) == 2
        await supervisor.unload("fake")
        assert len(supervisor.engines) == 0


async def test_an_aborted_job_that_waits_for_its_turn_leaves_the_other_alone(
    plan: WorkerPlan,
) -> None:
    stop = AbortSignal()
    async with workers() as (them, supervisor), them.job(plan, LONG) as frames:
        await anext(frames)
        async with anyio.create_task_group() as group:

            async def second() -> None:
                with pytest.raises(AIError) as caught:
                    await them.run(plan, SHORT, signal=stop)
                assert caught.value.code == ErrorCode.ABORTED

            group.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            stop.abort()
        await anext(frames)
        assert len(supervisor.engines) == 1


async def test_a_job_that_is_left_early_ends_and_its_process_stays(plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        async with them.job(plan, LONG) as frames:
            await anext(frames)
        (engine,) = supervisor.engines
        async with them.job(plan, SHORT) as frames:
            assert [one.fields.get("step") async for one in frames] == [1, None, 2, None, None]
        assert supervisor.engines == (engine,)


@pytest.mark.parametrize("do", ["hang", "sleep"])
async def test_an_abort_ends_every_job_within_half_a_second(plan: WorkerPlan, do: str) -> None:
    stop = AbortSignal()
    async with workers() as (them, _), anyio.create_task_group() as group:
        await them.run(plan, SHORT)
        ended_at: list[float] = []

        async def run() -> None:
            with pytest.raises(AIError) as caught:
                await them.run(plan, {"do": do}, signal=stop)
            ended_at.append(time.monotonic())
            assert caught.value.code == ErrorCode.ABORTED

        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        begun = time.monotonic()
        stop.abort()
        with anyio.fail_after(5):
            await them.run(plan, SHORT)  # waits for its turn, and perhaps for a new process
        assert ended_at[0] - begun < 0.5


async def test_a_killed_process_takes_along_what_it_started(plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        async with them.job(plan, {"do": "fork and hang"}) as frames:
            pid = (await anext(frames)).fields["pid"]
            (engine,) = supervisor.engines
            assert is_running(pid)
        assert not is_running(engine.pid)
        with anyio.fail_after(5):
            while is_running(pid):
                await anyio.sleep(0.005)


async def test_what_a_process_started_ends_with_it_also_after_a_crash(plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        with pytest.raises(AIError) as caught:
            async with them.job(plan, {"do": "fork and hang"}) as frames:
                pid = (await anext(frames)).fields["pid"]
                os.kill(supervisor.engines[0].pid, signal.SIGKILL)
                await anext(frames)
        assert caught.value.message == "The engine stopped (signal 9)."
        with anyio.fail_after(5):
            while is_running(pid):
                await anyio.sleep(0.005)


async def test_a_crash_is_one_error_with_the_end_of_the_log_and_the_next_job_works(
    plan: WorkerPlan,
) -> None:
    async with workers() as (them, _):
        with pytest.raises(AIError) as caught:
            await them.run(plan, {"do": "crash"})
        error = caught.value
        assert error.code == ErrorCode.ENGINE_ERROR
        assert error.message == "The engine stopped (signal 11)."
        assert "assertion failed" in str(error.details["log"])
        assert (await them.run(plan, SHORT)).fields == {"counted": 2}


@pytest.mark.parametrize(
    ("do", "code", "text"),
    [
        ("fail", ErrorCode.BAD_REQUEST, "The sound is too short. Use a longer one."),
        ("raise", ErrorCode.ENGINE_ERROR, "fake failed: no tensor named x."),
        (
            "exhaust",
            ErrorCode.OUT_OF_MEMORY,
            "There is not enough memory for what fake was asked to do. "
            "Ask for less at once, or choose a smaller model.",
        ),
    ],
)
async def test_a_job_that_fails_leaves_its_process_alone(
    plan: WorkerPlan, do: str, code: ErrorCode, text: str
) -> None:
    async with workers() as (them, supervisor):
        with pytest.raises(AIError) as caught:
            await them.run(plan, {"do": do})
        assert (caught.value.code, str(caught.value)) == (code, text)
        (engine,) = supervisor.engines
        await them.run(plan, SHORT)
        assert supervisor.engines == (engine,)


async def test_a_process_that_writes_no_frames_is_ended(plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        with pytest.raises(AIError) as caught:
            await them.run(plan, {"do": "babble"})
        assert caught.value.code == ErrorCode.ENGINE_ERROR
        with anyio.fail_after(5):
            await them.run(plan, SHORT)
        assert len(supervisor.engines) == 1


async def test_a_flooded_log_stops_no_job(plan: WorkerPlan) -> None:
    async with workers() as (them, _):
        with anyio.fail_after(10):
            await them.run(plan, {"do": "flood"})


async def test_an_idle_process_ends_and_one_at_work_does_not(plan: WorkerPlan) -> None:
    sleep = ManualSleep()
    async with workers(sleep) as (them, supervisor):
        async with them.job(plan, LONG) as frames:
            await anext(frames)
            assert sleep.asked == []
        (engine,) = supervisor.engines
        await anyio.wait_all_tasks_blocked()
        assert sleep.asked == [60]
        sleep.pass_time()
        with anyio.fail_after(5):
            await engine.exited.wait()
        assert not is_running(engine.pid)
        await them.run(plan, SHORT)


async def test_unloading_a_model_ends_its_job_with_an_error(plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        with pytest.raises(AIError) as caught:
            async with them.job(plan, LONG) as frames:
                await anext(frames)
                await supervisor.unload("fake")
                async for _ in frames:
                    pass
        assert caught.value.message == "fake was unloaded while it answered."


async def test_an_engine_that_is_not_installed_is_named_with_its_command(tmp_path: Path) -> None:
    async with workers() as (them, _):
        with pytest.raises(AIError) as caught:
            await them.run(fake_plan(tmp_path, "model missing"), SHORT)
    assert str(caught.value) == "The engine fake is not installed. Install it with: nothing."


async def test_an_engine_ends_with_its_parent(tmp_path: Path) -> None:
    source = f"""
import sys, anyio
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from pathlib import Path
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import Supervisor
from ollm_tui.providers.embedded.worker import Workers
from tests.support.engine_cases import fake_plan

async def main():
    async with Supervisor(EmbeddedSettings()) as supervisor:
        plan = fake_plan(Path({str(tmp_path)!r}))
        async with Workers(supervisor).job(plan, {{"do": "hang"}}) as frames:
            await anext(frames)
            print(supervisor.engines[0].pid, flush=True)
            await anyio.sleep_forever()

anyio.run(main)
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not is_running(pid)
