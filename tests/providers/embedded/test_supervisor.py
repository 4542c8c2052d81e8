"""Engines under supervision: shared, limited, unloaded, replaced, and killed when need be."""

import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from ollm_tui.config.engine_settings import EngineSettings
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.embedded.plan import EnginePlan
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import Engine, Supervisor
from tests.support.engine import is_running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

READY = (
    'import json,sys; told=json.loads(sys.stdin.readline()); print(json.dumps({"url":"http://x"}))'
)
SERVES = f"{READY}; sys.stdout.flush(); sys.stdin.read()"
IGNORES_ITS_INPUT = f"{READY}; sys.stdout.flush(); import time; time.sleep(60)"
NEVER_READY = "import time; time.sleep(60)"
ABORTS = "import os; os.write(2, b'ggml: assert'); os.abort()"
REFUSES = 'print(\'{"error": "Failed to init server, please check the input params."}\')'
REFUSES_FOR_A_REASON = (
    "import sys; print('llama_model_load: error loading model: no such thing', file=sys.stderr);"
    + REFUSES
)
REFUSES_BEFORE_IT_TELLS_THE_REASON = (
    f"import os, time; {REFUSES[:-1]}, flush=True); time.sleep(0.1);"
    "os.write(2, b'llama_model_load: error loading model: no such thing')"
)
LACKS_MEMORY = "import sys; print('unable to allocate CPU buffer', file=sys.stderr);" + REFUSES
LACKS_THE_ENGINE = 'print(\'{"error": "No module", "missing": true}\')'
STARTS_ANOTHER = """
import json, subprocess, sys, time
sys.stdin.readline()
other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
print(json.dumps({"url": f"http://{other.pid}"}), flush=True)
time.sleep(60)
"""
FLOODS_ITS_LOG = f"""
import os
for _ in range(4096):
    try:
        os.write(2, b"x" * 1024)
    except BlockingIOError:  # native code does not look
        pass
{SERVES}
"""


def program(source: str) -> Sequence[str]:
    return (sys.executable, "-I", "-S", "-c", source)


def plan(name: str = "a", context: int = 4096) -> EnginePlan:
    return EnginePlan(name=name, path=Path("/nowhere"), context=context)


def settings(
    *, idle_unload_s: float | None = None, load_timeout_s: float = 20, most_loaded: int = 1
) -> EmbeddedSettings:
    return EmbeddedSettings(
        engine=EngineSettings(threads=1),
        idle_unload_s=idle_unload_s,
        load_timeout_s=load_timeout_s,
        most_loaded=most_loaded,
    )


class ManualSleep:
    """Sleeps until the test says that time has passed."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._wake = anyio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._wake.wait()

    def pass_time(self) -> None:
        self._wake.set()
        self._wake = anyio.Event()


def children() -> set[int]:
    found = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii")
    return {int(pid) for pid in found.split()}


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def failure_of(source: str, *, load_timeout_s: float = 20) -> AIError:
    async with Supervisor(
        settings(load_timeout_s=load_timeout_s), command=program(source)
    ) as supervisor:
        with pytest.raises(AIError) as caught:
            async with supervisor.lease(plan()):
                pass
        assert supervisor.engines == ()
    return caught.value


async def test_requests_for_one_model_share_an_engine() -> None:
    async with Supervisor(settings(), command=program(SERVES)) as supervisor:
        async with supervisor.lease(plan()) as first, supervisor.lease(plan()) as second:
            assert first is second
            assert first.leases == 2
        assert first.leases == 0
        async with supervisor.lease(plan()) as third:
            assert third is first


async def test_requests_that_come_while_it_loads_share_the_engine_too() -> None:
    pids: list[int] = []

    async def use(supervisor: Supervisor) -> None:
        async with supervisor.lease(plan()) as engine:
            pids.append(engine.pid)

    async with (
        Supervisor(settings(), command=program(SERVES)) as supervisor,
        anyio.create_task_group() as group,
    ):
        for _ in range(5):
            group.start_soon(use, supervisor)
    assert len(pids) == 5
    assert len(set(pids)) == 1


async def test_an_engine_that_nobody_uses_is_not_looked_after() -> None:
    looks = 0

    async def responds(_engine: Engine[Any]) -> bool:
        nonlocal looks
        looks += 1
        return True

    often = replace(settings(), check_interval_s=0.005)
    async with Supervisor(often, command=program(SERVES)) as supervisor:
        async with supervisor.lease(plan(), responds):
            with anyio.fail_after(5):
                while not looks:
                    await anyio.sleep(0.005)
        await anyio.sleep(0.02)  # one look may have begun
        seen = looks
        await anyio.sleep(0.05)
        assert looks == seen


async def test_every_engine_has_a_key_of_its_own_that_no_process_list_shows() -> None:
    async with Supervisor(settings(), command=program(SERVES)) as supervisor:
        async with supervisor.lease(plan("a")) as first:
            command = Path(f"/proc/{first.pid}/cmdline").read_bytes()
            environment = Path(f"/proc/{first.pid}/environ").read_bytes()
        async with supervisor.lease(plan("b")) as second:
            pass
    assert first.key != second.key
    assert len(first.key) >= 43
    assert first.key.encode() not in command + environment


class SlowPlan(EnginePlan):
    """A plan whose files are on a slow disk: it notes which thread waits for it."""

    threads: ClassVar[list[int]] = []

    def instructions(self) -> JsonObject:
        self.threads.append(threading.get_ident())
        return super().instructions()


async def test_what_an_engine_is_told_is_read_from_the_disk_off_the_event_loop() -> None:
    slow = SlowPlan(name="a", path=Path("/nowhere"), context=4096)
    async with (
        Supervisor(settings(), command=program(SERVES)) as supervisor,
        supervisor.lease(slow),
    ):
        assert SlowPlan.threads
        assert threading.get_ident() not in SlowPlan.threads


async def test_an_idle_model_makes_room_for_another() -> None:
    async with Supervisor(settings(), command=program(SERVES)) as supervisor:
        async with supervisor.lease(plan("a")) as first:
            pass
        async with supervisor.lease(plan("b")):
            assert [engine.plan.name for engine in supervisor.engines] == ["b"]
            assert not is_running(first.pid)


async def test_a_busy_model_stays_until_its_stream_ends() -> None:
    async with (
        Supervisor(settings(), command=program(SERVES)) as supervisor,
        supervisor.lease(plan("a")) as first,
    ):
        async with supervisor.lease(plan("b")) as second:
            assert is_running(first.pid)
            assert len(supervisor.engines) == 2
        with anyio.fail_after(5):
            await second.exited.wait()
        assert list(supervisor.engines) == [first]
        assert is_running(first.pid)


async def test_another_window_reloads_an_idle_model() -> None:
    async with Supervisor(settings(), command=program(SERVES)) as supervisor:
        async with supervisor.lease(plan(context=4096)) as first:
            pass
        async with supervisor.lease(plan(context=8192)) as second:
            assert second.pid != first.pid
            assert not is_running(first.pid)


async def test_an_idle_model_is_unloaded_after_the_time_set() -> None:
    sleep = ManualSleep()
    async with Supervisor(
        settings(idle_unload_s=300), command=program(SERVES), sleep=sleep
    ) as supervisor:
        async with supervisor.lease(plan()) as engine:
            assert sleep.asked == []
        await anyio.wait_all_tasks_blocked()
        assert sleep.asked == [300]
        sleep.pass_time()
        with anyio.fail_after(5):
            await engine.exited.wait()
        assert supervisor.engines == ()
        assert not is_running(engine.pid)
        assert engine.crash is None


async def test_a_model_in_use_is_not_unloaded() -> None:
    sleep = ManualSleep()
    async with Supervisor(
        settings(idle_unload_s=300), command=program(SERVES), sleep=sleep
    ) as supervisor:
        async with supervisor.lease(plan()):
            pass
        await anyio.wait_all_tasks_blocked()
        async with supervisor.lease(plan()) as engine:
            sleep.pass_time()
            await anyio.wait_all_tasks_blocked()
            assert supervisor.engines == (engine,)
        await anyio.wait_all_tasks_blocked()
        assert sleep.asked == [300, 300]


async def test_a_request_in_the_moment_the_time_is_up_keeps_its_engine() -> None:
    sleep = ManualSleep()
    async with Supervisor(
        settings(idle_unload_s=300), command=program(SERVES), sleep=sleep
    ) as supervisor:
        async with supervisor.lease(plan()):
            pass
        await anyio.wait_all_tasks_blocked()
        sleep.pass_time()
        async with supervisor.lease(plan()) as engine:
            await anyio.wait_all_tasks_blocked()
            assert not engine.is_ending


async def test_a_request_during_an_unload_gets_a_new_engine() -> None:
    async with Supervisor(settings(), command=program(IGNORES_ITS_INPUT)) as supervisor:
        async with supervisor.lease(plan()) as first:
            pass
        first.stop()
        async with supervisor.lease(plan()) as second:
            assert second.pid != first.pid
            assert is_running(second.pid)
            assert not is_running(first.pid)


async def test_a_loaded_model_is_served_while_another_loads(tmp_path: Path) -> None:
    waits = f"""
{READY}
sys.stdout.flush() if told["name"] == "a" else __import__("time").sleep(60)
sys.stdin.read()
"""
    async with (
        Supervisor(settings(most_loaded=2), command=program(waits)) as supervisor,
        anyio.create_task_group() as group,
    ):
        async with supervisor.lease(plan("a")) as first:
            pass

        async def load_other() -> None:
            async with supervisor.lease(plan("b")):
                pass

        group.start_soon(load_other)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(1):
            async with supervisor.lease(plan("a")) as again:
                assert again is first
        group.cancel_scope.cancel()


async def test_cancelling_a_load_kills_the_process() -> None:
    async with Supervisor(settings(), command=program(NEVER_READY)) as supervisor:
        before = children()
        started = time.monotonic()
        with anyio.move_on_after(0.2) as scope:
            async with supervisor.lease(plan()):
                pass
        assert scope.cancelled_caught
        assert children() == before
        assert time.monotonic() - started < 1.2


async def test_a_load_that_takes_too_long_is_given_up() -> None:
    error = await failure_of(NEVER_READY, load_timeout_s=0.1)
    assert error.code == ErrorCode.TIMEOUT
    assert error.message == "Loading a took longer than 0.1 s."


async def test_closing_in_the_middle_of_a_load_ends_it() -> None:
    failed: list[AIError] = []

    async def load(supervisor: Supervisor) -> None:
        with pytest.raises(AIError) as caught:
            async with supervisor.lease(plan()):
                pass
        failed.append(caught.value)

    async with (
        Supervisor(settings(), command=program(NEVER_READY)) as supervisor,
        anyio.create_task_group() as group,
    ):
        group.start_soon(load, supervisor)
        await anyio.wait_all_tasks_blocked()
        supervisor.close()
    assert failed[0].code == ErrorCode.ABORTED


async def test_an_engine_that_ignores_its_input_is_killed_within_a_second() -> None:
    async with Supervisor(settings(), command=program(IGNORES_ITS_INPUT)) as supervisor:
        async with supervisor.lease(plan()) as engine:
            pass
        started = time.monotonic()
        await supervisor.unload("a")
        assert time.monotonic() - started < 1.2
        assert not is_running(engine.pid)


async def test_what_an_engine_has_started_is_killed_with_it() -> None:
    async with Supervisor(settings(), command=program(STARTS_ANOTHER)) as supervisor:
        async with supervisor.lease(plan()) as engine:
            other = int(engine.url.removeprefix("http://"))
            assert is_running(other)
        await supervisor.unload("a")
        with anyio.fail_after(5):
            while is_running(other):
                await anyio.sleep(0.01)


async def test_an_engine_that_dies_while_loading_is_reported_with_its_signal() -> None:
    error = await failure_of(ABORTS)
    assert error.code == ErrorCode.ENGINE_ERROR
    assert error.message == "The engine stopped while it loaded a (signal 6)."
    assert error.details["log"] == "ggml: assert"


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        (REFUSES_FOR_A_REASON, ErrorCode.MODEL_NOT_LOADED, "no such thing"),
        (REFUSES_BEFORE_IT_TELLS_THE_REASON, ErrorCode.MODEL_NOT_LOADED, "no such thing"),
        (REFUSES, ErrorCode.MODEL_NOT_LOADED, "check the input params"),
        (LACKS_MEMORY, ErrorCode.OUT_OF_MEMORY, "not enough memory to load a"),
        (LACKS_THE_ENGINE, ErrorCode.MODEL_NOT_LOADED, "not installed"),
        ("print('hello')", ErrorCode.ENGINE_ERROR, "said something else"),
    ],
)
async def test_a_refusal_is_a_sentence(source: str, code: ErrorCode, words: str) -> None:
    error = await failure_of(source)
    assert error.code == code
    assert words in error.message


async def test_a_program_that_is_not_there_is_a_sentence() -> None:
    async with Supervisor(settings(), command=["/nowhere/python"]) as supervisor:
        with pytest.raises(AIError, match="could not be started: No such file"):
            async with supervisor.lease(plan()):
                pass


async def test_a_flood_on_standard_error_stops_nothing() -> None:
    async with Supervisor(settings(), command=program(FLOODS_ITS_LOG)) as supervisor:
        with anyio.fail_after(10):
            async with supervisor.lease(plan()) as engine:
                assert is_running(engine.pid)


async def test_nothing_is_left_behind_by_loads_failures_and_cancellations() -> None:
    await failure_of(ABORTS)
    before, fds = children(), descriptors()
    async with Supervisor(settings(), command=program(SERVES)) as supervisor:
        for name in "abcdef":
            async with supervisor.lease(plan(name)):
                pass
    for _ in range(3):
        await failure_of(ABORTS)
    async with Supervisor(settings(), command=program(NEVER_READY)) as supervisor:
        with anyio.move_on_after(0.05):
            async with supervisor.lease(plan()):
                pass
    assert children() == before
    assert descriptors() == fds
