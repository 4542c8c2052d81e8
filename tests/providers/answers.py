"""What a provider answered, and what it said in it."""

from collections.abc import Sequence

from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.provider_events import (
    End,
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)
from ollm_tui.protocol.request import Request


async def answer(provider: ProviderAdapter, request: Request) -> list[ProviderEvent]:
    """All events of one answer; exactly one of them ends it."""
    async with provider.chat_stream(request) as events:
        got = [event async for event in events]
    assert isinstance(got[-1], Finish | ErrorEvent)
    assert not any(isinstance(event, Finish | ErrorEvent) for event in got[:-1])
    return got


def text_of(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def thinking_of(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, ThinkingDelta))


def end_of(events: Sequence[ProviderEvent]) -> End:
    end = events[-1]
    assert isinstance(end, Finish | ErrorEvent)
    return end
