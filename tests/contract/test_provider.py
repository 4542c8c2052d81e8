"""What every provider promises, checked on each kind through its rig."""

import asyncio

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, ToolCallEvent
from ollm_tui.protocol.request import Response
from ollm_tui.protocol.signals import AbortSignal
from tests.contract.observe import all_quiet, ends_of, events_of, no_task_left, tasks
from tests.contract.rig import EXPECTED, Expected, Rig
from tests.providers.answers import text_of, thinking_of


def needs(rig: Rig, scenario: str) -> None:
    if scenario not in rig.offers:
        pytest.skip(f"this backend cannot play {scenario!r}")


def check(events: list[ProviderEvent], expected: Expected) -> None:
    ends = ends_of(events)
    assert len(ends) == 1
    assert events[-1] is ends[0]
    assert expected.text in (None, text_of(events))
    assert expected.thinking in (None, thinking_of(events))
    calls = [(e.call.name, e.call.args) for e in events if isinstance(e, ToolCallEvent)]
    assert calls == [(name, dict(args)) for name, args in expected.calls]
    end = ends[0]
    if isinstance(end, ErrorEvent):
        assert expected.code == end.error.code, end.error
        assert end.error.message.endswith((".", "!")) or end.error.status or expected.text
    else:
        assert (expected.reason, expected.code) == (end.reason, None)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("scenario", EXPECTED)
async def test_every_scenario_gives_its_text_thinking_calls_and_one_end(
    rig: Rig, scenario: str
) -> None:
    needs(rig, scenario)
    events = await events_of(rig, rig.request(scenario))
    check(events, rig.expected.get(scenario, EXPECTED[scenario]))
    await all_quiet(rig)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("scenario", EXPECTED)
async def test_an_invocation_gives_the_same_as_the_stream(rig: Rig, scenario: str) -> None:
    needs(rig, scenario)
    expected = rig.expected.get(scenario, EXPECTED[scenario])
    request = rig.request(scenario, stream=False)
    if expected.code is not None:
        with pytest.raises(AIError) as caught:
            await rig.provider.invoke(request)
        assert caught.value.code == expected.code
        return
    response = await rig.provider.invoke(request)
    assert isinstance(response, Response)
    assert expected.text in (None, response.text)
    assert response.finish_reason == expected.reason
    assert [call.name for call in response.tool_calls] == [name for name, _ in expected.calls]


async def test_an_invocation_with_stream_gives_the_stream(rig: Rig) -> None:
    stream = await rig.provider.invoke(rig.request("text"))
    assert not isinstance(stream, Response)
    async with stream as events:
        got = [event async for event in events]
    check(got, rig.expected.get("text", EXPECTED["text"]))


async def test_the_adapter_is_a_provider_with_a_name_and_capabilities(rig: Rig) -> None:
    assert isinstance(rig.provider, ProviderAdapter)
    assert rig.provider.name
    assert any("text" in capability.output for capability in rig.provider.capabilities())


async def test_usage_and_timings_come_with_the_end(rig: Rig) -> None:
    needs(rig, "usage")
    end = (await events_of(rig, rig.request("usage")))[-1]
    assert isinstance(end, Finish)
    assert end.usage is not None
    assert (end.usage.completion_tokens or 0) > 0
    assert end.timings is not None
    assert end.timings.first_token_s is not None
    assert end.timings.total_s is not None
    assert end.timings.total_s >= end.timings.first_token_s > 0


async def test_calls_have_ids_of_their_own(rig: Rig) -> None:
    needs(rig, "tools")
    events = await events_of(rig, rig.request("tools"))
    ids = [event.call.id for event in events if isinstance(event, ToolCallEvent)]
    assert all(ids)
    assert len(set(ids)) == len(ids) == 2


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
async def test_a_passing_trouble_may_be_tried_again(rig: Rig, status: int) -> None:
    needs(rig, f"status {status}")
    end = (await events_of(rig, rig.request(f"status {status}")))[-1]
    assert isinstance(end, ErrorEvent)
    assert end.error.retryable
    assert end.error.status == status
    wanted = 2.0 if status in (429, 503) else None
    assert end.error.details.get("retry_after_s") == wanted


@pytest.mark.parametrize("scenario", ["cut", "midway", "stall", "unended"])
@pytest.mark.one_in(3)
async def test_after_the_first_text_nothing_is_tried_again(rig: Rig, scenario: str) -> None:
    needs(rig, scenario)
    end = (await events_of(rig, rig.request(scenario)))[-1]
    assert isinstance(end, ErrorEvent)
    assert not end.error.retryable


async def test_a_consumer_may_stop_after_any_number_of_events(rig: Rig) -> None:
    before = tasks()
    for wanted in range(6):
        got = 0
        async with rig.provider.chat_stream(rig.request("forever")) as stream:
            while got < wanted:
                await anext(stream)
                got += 1
        await all_quiet(rig)
    assert rig.left() in (None, 5, 6), "every client but perhaps the first was seen leaving"
    await no_task_left(before)


async def test_an_exception_of_the_consumer_leaves_as_itself_and_closes(rig: Rig) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with rig.provider.chat_stream(rig.request("forever")) as stream:
            await anext(stream)
            raise LookupError("mine")
    await all_quiet(rig)


@pytest.mark.parametrize("wanted", range(4))
async def test_a_signal_ends_the_stream_with_one_abort(rig: Rig, wanted: int) -> None:
    before = tasks()
    signal = AbortSignal()
    events: list[ProviderEvent] = []
    if wanted == 0:
        signal.abort()
    async with rig.provider.chat_stream(rig.request("forever", signal=signal)) as stream:
        async for event in stream:
            events.append(event)
            if len(events) == wanted:
                signal.abort()
        assert [event async for event in stream] == []
    assert ends_of(events) == [events[-1]]
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "abort"
    assert len(events) == wanted + 1
    await all_quiet(rig)
    await no_task_left(before)


async def test_a_signal_is_noticed_while_nothing_comes(rig: Rig) -> None:
    needs(rig, "silent")
    signal = AbortSignal()
    aborted: list[float] = []

    async def abort_when_answering() -> None:
        while not rig.answering():
            await anyio.sleep(0.001)
        aborted.append(anyio.current_time())
        signal.abort()

    async with (
        rig.provider.chat_stream(rig.request("silent", signal=signal)) as stream,
        anyio.create_task_group() as group,
    ):
        group.start_soon(abort_when_answering)
        event = await anext(stream)
        assert anyio.current_time() - aborted[0] < 0.4
    assert isinstance(event, Finish)
    assert event.reason == "abort"
    await all_quiet(rig)


async def test_an_aborted_invocation_raises(rig: Rig) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(AIError) as caught:
        await rig.provider.invoke(rig.request("forever", signal=signal, stream=False))
    assert caught.value.code == ErrorCode.ABORTED


async def _read_some(
    rig: Rig, wanted: int, reached: anyio.Event, seen: list[ProviderEvent]
) -> None:
    async with rig.provider.chat_stream(rig.request("forever")) as stream:
        if wanted == 0:
            reached.set()
        async for event in stream:
            seen.append(event)
            if len(seen) == wanted:
                reached.set()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("wanted", range(4))
async def test_a_cancelled_task_leaves_nothing_behind(rig: Rig, wanted: int, times: int) -> None:
    before = tasks()
    reached = anyio.Event()
    seen: list[ProviderEvent] = []
    task = asyncio.get_running_loop().create_task(_read_some(rig, wanted, reached, seen))
    await reached.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ends_of(seen) == []
    await all_quiet(rig)
    await no_task_left(before)
    check(await events_of(rig, rig.request("text")), rig.expected.get("text", EXPECTED["text"]))


@pytest.mark.one_in(5)
async def test_sixty_double_cancels_leak_no_connection(rig: Rig) -> None:
    if rig.left() is None:
        pytest.skip("this backend cannot tell who left")
    for _ in range(60):
        reached = anyio.Event()
        task = asyncio.get_running_loop().create_task(_read_some(rig, 1, reached, []))
        await reached.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await all_quiet(rig)
    assert rig.left() == 60
