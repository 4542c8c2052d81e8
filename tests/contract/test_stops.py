"""An answer is stopped after each of its events, in every way; each time nothing is left."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from ollm_tui.protocol.provider_events import Finish, ProviderEvent
from ollm_tui.protocol.signals import AbortSignal
from tests.contract.observe import all_quiet, ends_of, events_of, no_task_left, tasks
from tests.contract.rig import Rig
from tests.providers.answers import text_of

SCENARIOS = ("text", "thinking", "tools", "tool")
Way = Callable[[Rig, str, int], Awaitable[list[ProviderEvent]]]


async def taken(stream: AsyncIterator[ProviderEvent], wanted: int) -> list[ProviderEvent]:
    """Take so many events, or all if there are fewer: what comes together is joined."""
    events = list[ProviderEvent]()
    while len(events) < wanted and not ends_of(events):
        events.append(await anext(stream))
    return events


async def by_signal(rig: Rig, scenario: str, after: int) -> list[ProviderEvent]:
    """Abort; gives what came before the end, which is checked here."""
    signal, events = AbortSignal(), list[ProviderEvent]()
    if not after:
        signal.abort()
    async with rig.provider.chat_stream(rig.request(scenario, signal=signal)) as stream:
        async for event in stream:
            events.append(event)
            if len(events) == after:
                signal.abort()
        assert [event async for event in stream] == []
    assert ends_of(events) == [events[-1]]
    end = events[-1]
    assert isinstance(end, Finish)
    assert end.reason == "abort" or len(events) <= after, "the signal was not heard"
    return events[:-1]


async def by_leaving(rig: Rig, scenario: str, after: int) -> list[ProviderEvent]:
    """Leave the block."""
    events = list[ProviderEvent]()
    async with rig.provider.chat_stream(rig.request(scenario)) as stream:
        events += await taken(stream, after)
    return events


async def by_an_exception(rig: Rig, scenario: str, after: int) -> list[ProviderEvent]:
    """Leave the block by an exception of the consumer's own."""
    events = list[ProviderEvent]()
    with pytest.raises(LookupError, match="mine"):
        async with rig.provider.chat_stream(rig.request(scenario)) as stream:
            events += await taken(stream, after)
            raise LookupError("mine")
    return events


def by_cancelling(times: int) -> Way:
    async def cancel(rig: Rig, scenario: str, after: int) -> list[ProviderEvent]:
        """Cancel the consumer's task."""
        events, reached = list[ProviderEvent](), anyio.Event()

        async def read() -> None:
            async with rig.provider.chat_stream(rig.request(scenario)) as stream:
                events.extend(await taken(stream, after))
                reached.set()
                await anyio.sleep_forever()

        task = asyncio.get_running_loop().create_task(read())
        await reached.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        return events

    return cancel


WAYS: dict[str, Way] = {
    "signal": by_signal,
    "leave": by_leaving,
    "exception": by_an_exception,
    "cancel": by_cancelling(1),
    "cancel twice": by_cancelling(2),
}


@pytest.mark.one_in(14)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_an_answer_stopped_after_any_event_leaves_nothing(
    rig: Rig, scenario: str, way: str
) -> None:
    if scenario not in rig.offers:
        pytest.skip(f"this backend cannot play {scenario!r}")
    whole = await events_of(rig, rig.request(scenario))
    before = tasks()
    for after in range(len(whole)):
        with anyio.fail_after(10):
            events = await WAYS[way](rig, scenario, after)
        assert text_of(whole).startswith(text_of(events))
        await all_quiet(rig)
    await no_task_left(before)
    assert text_of(await events_of(rig, rig.request(scenario))) == text_of(whole)
