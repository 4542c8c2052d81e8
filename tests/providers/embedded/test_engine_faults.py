"""Engines that are killed, die or hang: the answer ends, and the next one has a new engine."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, Rerouted
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.supervisor import Supervisor
from tests.providers.answers import answer, end_of, text_of
from tests.support.engine import MODEL, SETTINGS, ask, embedded, is_running, needs_engine
from tests.support.tiny_gguf import FOREVER_PIECE, HELLO

pytestmark = [pytest.mark.slow, pytest.mark.engine, needs_engine]


async def test_a_killed_engine_ends_the_answer_and_the_next_request_starts_another(
    model_folder: Path,
) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        got = []
        with anyio.fail_after(20):
            async with provider.chat_stream(ask("forever")) as events:
                async for event in events:
                    got.append(event)
                    if len(got) == 3:
                        os.kill(supervisor.engines[0].pid, signal.SIGSEGV)
        end = end_of(got)
        assert isinstance(end, ErrorEvent)
        assert end.error.code == ErrorCode.ENGINE_ERROR
        assert end.error.message == "The engine stopped (signal 11)."
        assert not end.error.retryable
        assert FOREVER_PIECE.strip() in text_of(got)
        assert supervisor.engines == ()
        assert text_of(await answer(provider, ask("hi"))) == HELLO


async def test_an_engine_that_died_between_two_requests_is_replaced(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        await provider.load_model(MODEL)
        first = supervisor.engines[0]
        os.kill(first.pid, signal.SIGKILL)
        await first.exited.wait()
        assert text_of(await answer(provider, ask("hi"))) == HELLO
        assert supervisor.engines[0].pid != first.pid


async def test_an_engine_that_dies_before_it_answers_may_be_asked_again(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def responds(*_: object) -> bool:
        return True

    monkeypatch.setattr(EmbeddedProvider, "_responds", responds)
    async with embedded(model_folder) as (provider, supervisor):
        await provider.load_model(MODEL)
        await freeze(supervisor.engines[0].pid)
        async with anyio.create_task_group() as group:
            group.start_soon(kill_when_asked, supervisor)
            end = end_of(await answer(provider, ask("hi")))
    assert isinstance(end, ErrorEvent)
    assert end.error.message == "The engine stopped (signal 9)."
    assert end.error.retryable


async def kill_when_asked(supervisor: Supervisor) -> None:
    while not supervisor.engines[0].leases:
        await anyio.lowlevel.checkpoint()
    await anyio.wait_all_tasks_blocked()
    os.kill(supervisor.engines[0].pid, signal.SIGKILL)


def _state(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]


async def answer_to(provider: EmbeddedProvider, request: Request) -> tuple[list[str], str]:
    """Give what an answer says of a replaced engine, and its text."""
    events = await answer(provider, request)
    assert isinstance(events[-1], Finish), events
    reasons = [event.error.message for event in events if isinstance(event, Rerouted)]
    return reasons, text_of(events)


async def freeze(pid: int) -> None:
    """Stop a process, and wait until all its threads stand still.

    The signal stops each thread when it is scheduled next, so that one may still answer a request.
    """
    os.kill(pid, signal.SIGSTOP)
    tasks = Path(f"/proc/{pid}/task")
    while any(_state(stat) != "T" for stat in tasks.glob("*/stat")):
        await anyio.sleep(0.001)


HANGS = replace(SETTINGS, response_timeout_s=0.5)


HUNG = f"The engine of {MODEL} did not respond and was ended."


async def test_an_engine_that_hangs_between_two_questions_is_killed_and_begun_anew(
    model_folder: Path,
) -> None:
    async with embedded(model_folder, settings=HANGS) as (provider, supervisor):
        await provider.load_model(MODEL)
        hung = supervisor.engines[0].pid
        await freeze(hung)
        with anyio.fail_after(30):
            assert await answer_to(provider, ask("hi")) == ([HUNG], HELLO)
            assert not is_running(hung)
            assert await answer_to(provider, ask("hi")) == ([], HELLO)


@pytest.mark.parametrize("pieces", [0, 3])
async def test_an_engine_that_does_not_answer_a_stop_is_killed(
    model_folder: Path, pieces: int
) -> None:
    async with embedded(model_folder, settings=HANGS) as (provider, supervisor):
        await provider.load_model(MODEL)
        engine, signal_ = supervisor.engines[0], AbortSignal()
        with anyio.fail_after(30):
            async with provider.chat_stream(ask("forever", signal=signal_)) as events:
                for _ in range(pieces):
                    await anext(events)
                await freeze(engine.pid)
                signal_.abort()
                end = end_of([event async for event in events])
                assert isinstance(end, Finish)
                assert end.reason == "abort"
            await engine.exited.wait()
            assert not is_running(engine.pid)
            assert await answer_to(provider, ask("hi")) == ([HUNG], HELLO)


async def test_an_engine_that_answers_a_stop_is_kept(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        await provider.load_model(MODEL)
        first, stop = supervisor.engines[0].pid, AbortSignal()
        async with provider.chat_stream(ask("forever", signal=stop)) as events:
            await anext(events)
            stop.abort()
        assert await answer_to(provider, ask("hi")) == ([], HELLO)
        assert supervisor.engines[0].pid == first


async def test_an_engine_that_hangs_in_an_answer_that_is_not_stopped_ends_it(
    model_folder: Path,
) -> None:
    checked = replace(HANGS, check_interval_s=0.05)
    async with embedded(model_folder, settings=checked) as (provider, supervisor):
        await provider.load_model(MODEL)
        engine = supervisor.engines[0]
        with anyio.fail_after(30):
            async with provider.chat_stream(ask("forever")) as events:
                await anext(events)
                await freeze(engine.pid)
                end = end_of([event async for event in events])
        assert isinstance(end, ErrorEvent)
        assert end.error.message == HUNG
        assert not is_running(engine.pid)
        assert await answer_to(provider, ask("hi")) == ([], HELLO)


@pytest.mark.parametrize("how", ["unload", "dispose", "count", "another window"])
async def test_a_hung_engine_holds_up_nothing(model_folder: Path, how: str) -> None:
    async with embedded(model_folder, settings=HANGS) as (provider, supervisor):
        await provider.load_model(MODEL)
        hung = supervisor.engines[0].pid
        await freeze(hung)
        with anyio.fail_after(30):
            match how:
                case "unload":
                    await provider.unload_model(MODEL)
                case "dispose":
                    await provider.dispose()
                case "count":
                    assert await provider.count_tokens(ask("hi"))
                case _:
                    asked = ask("hi", options=GenerationOptions(num_ctx=512))
                    assert text_of(await answer(provider, asked)) == HELLO
        assert not is_running(hung)


class SlowToClose:
    """Stands for an engine and for the client of it."""

    def __init__(self) -> None:
        self.url, self.key = "http://127.0.0.1:1", "key"
        self.exited = anyio.Event()

    async def dispose(self) -> None:
        await anyio.lowlevel.checkpoint()


async def test_clients_of_ended_engines_are_dropped_by_however_many_tasks(tmp_path: Path) -> None:
    provider = EmbeddedProvider(FolderLibrary([tmp_path]))
    ended = [SlowToClose() for _ in range(3)]
    for engine in ended:
        engine.exited.set()
    known: Any = {engine: engine for engine in ended}
    provider._adapters.update(known)
    new: Any = SlowToClose()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(provider._adapter, new)
    assert list(provider._adapters) == [new]
