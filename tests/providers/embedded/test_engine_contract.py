"""What every engine in a process of its own keeps to, however it is stopped or broken.

The engine of the tests stands for them all; the real ones are tried where they are at hand, with
`make test-engines`.
"""

import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import Supervisor
from ollm_tui.providers.embedded.worker import WorkerPlan, Workers
from tests.providers.embedded.test_supervisor import children
from tests.support.engine import is_running
from tests.support.engine_cases import CASES, EngineCase, limited, with_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
STOPS = 100
ABORT_S = 0.5


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> EngineCase:
    chosen = CASES[request.param]
    if chosen.missing is not None:
        pytest.skip(chosen.missing)
    return chosen


@pytest.fixture
def plan(case: EngineCase, tmp_path: Path) -> WorkerPlan:
    return case.plan(tmp_path)


@asynccontextmanager
async def workers() -> AsyncIterator[tuple[Workers, Supervisor]]:
    """Run engines, and check at the end that no process is left."""
    before = children()
    async with Supervisor(EmbeddedSettings(load_timeout_s=60)) as supervisor:
        yield Workers(supervisor), supervisor
    assert children() == before


async def works(them: Workers, plan: WorkerPlan, case: EngineCase) -> None:
    """Check that the next job works."""
    with anyio.fail_after(60):
        end = await them.run(plan, *case.short)
    assert end.type == "done"


async def fails(them: Workers, plan: WorkerPlan, case: EngineCase) -> AIError:
    """Return the only error of a job."""
    with anyio.fail_after(60), pytest.raises(AIError) as caught:
        await them.run(plan, *case.short)
    assert caught.value.message.endswith(".")
    return caught.value


async def test_an_abort_is_done_within_half_a_second(case: EngineCase, plan: WorkerPlan) -> None:
    stop = AbortSignal()
    async with workers() as (them, _):
        await works(them, plan, case)
        with pytest.raises(AIError) as caught:
            async with them.job(plan, *case.long, signal=stop) as frames:
                async for _ in frames:
                    begun = time.monotonic()
                    stop.abort()
        assert time.monotonic() - begun < ABORT_S
        assert caught.value.code == ErrorCode.ABORTED
        await works(them, plan, case)


async def test_a_killed_engine_is_one_error(case: EngineCase, plan: WorkerPlan) -> None:
    async with workers() as (them, supervisor):
        with pytest.raises(AIError) as caught:
            async with them.job(plan, *case.long) as frames:
                (engine,) = supervisor.engines
                os.kill(engine.pid, signal.SIGKILL)
                with anyio.fail_after(10):
                    async for _ in frames:
                        pass
        assert caught.value.code == ErrorCode.ENGINE_ERROR
        assert caught.value.message == "The engine stopped (signal 9)."
        assert not is_running(engine.pid)
        await works(them, plan, case)


async def test_a_missing_file_is_one_error(
    case: EngineCase, plan: WorkerPlan, tmp_path: Path
) -> None:
    async with workers() as (them, _):
        error = await fails(them, with_file(plan, tmp_path / "gone"), case)
        assert "gone" in error.message
        await works(them, plan, case)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.999])
async def test_a_broken_file_is_one_error(
    case: EngineCase, plan: WorkerPlan, tmp_path: Path, kept: float
) -> None:
    assert plan.path is not None
    if case.is_program and kept > 0.9:
        pytest.skip("a program may run without its last bytes")
    whole = plan.path.read_bytes()
    broken = tmp_path / f"broken{plan.path.suffix}"
    broken.write_bytes(whole[: int(len(whole) * kept)] or b"nothing of use")
    broken.chmod(0o755)  # the file of one engine is a program
    async with workers() as (them, _):
        error = await fails(them, with_file(plan, broken), case)
        assert error.code in (ErrorCode.MODEL_NOT_LOADED, ErrorCode.ENGINE_ERROR)
        await works(them, plan, case)


async def test_a_full_disk_is_one_error_or_none(case: EngineCase, plan: WorkerPlan) -> None:
    async with workers() as (them, _):
        problem: AIError | None = None
        try:
            await them.run(limited(plan), *case.short)
        except AIError as error:
            problem = error
        allowed = (ErrorCode.MODEL_NOT_LOADED, ErrorCode.ENGINE_ERROR)
        assert problem is None or problem.code in allowed
        await works(them, plan, case)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(STOPS))
async def test_a_stop_at_any_moment_leaves_nothing_behind(
    case: EngineCase, plan: WorkerPlan, number: int
) -> None:
    wait = random.Random(number).uniform(0, 1.5)
    stop = AbortSignal()
    async with workers() as (them, _), anyio.create_task_group() as group:
        ended = anyio.Event()

        async def run() -> None:
            with pytest.raises(AIError) as caught:
                await them.run(plan, *case.long, signal=stop)
            assert caught.value.code == ErrorCode.ABORTED
            ended.set()

        group.start_soon(run)
        await anyio.sleep(wait)
        stop.abort()
        with anyio.fail_after(ABORT_S + 1):
            await ended.wait()
        await works(them, plan, case)
