"""The pilot's wait: for all that can happen, and for nothing else."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Static

from tests.support import idle
from tests.support.http_server import raw_server
from tests.support.idle import waits_for_what_can_happen

__all__ = ["waits_for_what_can_happen"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count how often the processor is asked instead, once threads of earlier tests have ended."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(10)
    calls: list[str] = []

    async def ask(*_seconds: float) -> None:
        calls.append("asked")

    monkeypatch.setattr(idle, "wait_for_idle_processor", ask)
    monkeypatch.setattr(idle, "_has_threads_that_run", lambda: False)
    return calls


async def test_where_nothing_can_happen_nothing_is_waited_for(asked: list[str]) -> None:
    loop = asyncio.get_running_loop()
    far = loop.call_later(idle.HORIZON_S * 1000, asked.append, "far")
    await idle.wait_for_idle()
    far.cancel()
    assert asked == []


async def test_callbacks_that_follow_each_other_come_to_their_end(asked: list[str]) -> None:
    loop, left = asyncio.get_running_loop(), 100

    def again() -> None:
        nonlocal left
        left -= 1
        if left:
            loop.call_soon(again)

    loop.call_soon(again)
    await idle.wait_for_idle()
    assert (left, asked) == (0, [])


async def test_a_timer_that_runs_out_soon_is_waited_for_with_what_it_starts(
    asked: list[str],
) -> None:
    happened: list[str] = []

    async def frames() -> None:
        for frame in ("one", "two"):
            await anyio.sleep(idle.HORIZON_S / 2)
            happened.append(frame)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(frames)
        await idle.wait_for_idle()
        assert happened == ["one", "two"]
    assert asked == []


async def test_a_timer_without_end_leaves_it_to_the_processor(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "TIMEOUT_S", 0.02)

    async def tick() -> None:
        while True:
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await idle.wait_for_idle()
        tasks.cancel_scope.cancel()
    assert asked == ["asked"]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


async def test_a_thread_at_work_leaves_it_to_the_processor_and_an_idle_one_does_not(
    asked: list[str], gate: threading.Event
) -> None:
    async def wait_in_thread() -> None:
        await anyio.to_thread.run_sync(gate.wait)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_in_thread)
        await idle.wait_for_idle()
        gate.set()
    assert asked == ["asked"]
    asked.clear()
    await idle.wait_for_idle()
    assert asked == []


async def test_a_thread_of_unknown_work_leaves_it_to_the_processor(
    asked: list[str], gate: threading.Event
) -> None:
    thread = threading.Thread(target=gate.wait)
    thread.start()
    await idle.wait_for_idle()
    gate.set()
    thread.join()
    assert asked == ["asked"]


async def test_an_open_connection_leaves_it_to_the_processor(asked: list[str]) -> None:
    async def hold(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive(1)

    async with raw_server(hold):
        await idle.wait_for_idle()
    assert asked == ["asked"]


@pytest.mark.parametrize(
    ("looks", "times"),
    [([], 1), ([True, True], 3), ([True] * 2 * idle.MAX_LOOKS, idle.MAX_LOOKS)],
)
async def test_the_processor_is_asked_again_while_threads_run_and_not_for_ever(
    asked: list[str],
    gate: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    looks: list[bool],
    times: int,
) -> None:
    left = iter(looks)
    monkeypatch.setattr(idle, "_has_threads_that_run", lambda: next(left, False))
    thread = threading.Thread(target=gate.wait)
    thread.start()
    await idle.wait_for_idle()
    gate.set()
    thread.join()
    assert len(asked) == times


@pytest.mark.parametrize(
    ("states", "is_one_running"), [("SSS", False), ("SRS", True), ("SSD", True), ("RSS", False)]
)
def test_the_system_tells_which_threads_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: str, is_one_running: bool
) -> None:
    own = threading.get_native_id()  # the first one is the thread that asks
    for number, state in enumerate(states, own):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "stat").write_text(f"{number} (a) R) {state} 1 1")
    monkeypatch.setattr(idle, "TASKS", tmp_path)
    assert idle._has_threads_that_run() is is_one_running


class Box(Static):
    """Counts the callbacks that it is sent, and handles a click only when it may."""

    def __init__(self) -> None:
        super().__init__("box")
        self.gate, self.sent = asyncio.Event(), 0

    async def on_click(self) -> None:
        await self.gate.wait()

    def call_later(self, *given: Any) -> bool:
        self.sent += 1
        return super().call_later(*given)


async def test_widgets_are_asked_while_one_of_them_handles_a_message(
    waits_for_what_can_happen: None,
) -> None:
    box, ended = Box(), list[str]()

    class Small(App[None]):
        def compose(self) -> ComposeResult:
            yield box

    async with Small().run_test() as pilot:

        async def pause() -> None:
            await pilot.pause()
            ended.append("pause")

        await pause()
        box.sent = 0
        await pause()
        assert box.sent == 0
        box.post_message(events.Click(box, 0, 0, 0, 0, 1, False, False, False))
        await anyio.sleep(0.01)  # it has the message, and its queue is empty
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pause)
            await anyio.sleep(0.01)
            assert (box.sent, len(ended)) == (1, 2)
            box.gate.set()
        await pause()
        assert box.sent == 1
