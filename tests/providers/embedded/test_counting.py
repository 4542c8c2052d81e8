"""The engine's own count, which is what it reports of the answer."""

from pathlib import Path

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsTokenCount
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tokens.count import TokenCounter
from tests.providers.answers import answer, end_of
from tests.support.engine import MODEL, WEATHER, ask, embedded, needs_engine

pytestmark = [pytest.mark.engine, needs_engine]

CALL = ToolCall(id="a", name="get_weather", args={"city": "Oslo"})
CHATS = [
    ask("hello"),
    ask("hello ünï 🎌"),
    ask("weather", tools=[WEATHER]),
    Request(model=MODEL, messages=[Message("user", "hello")], system_prompt="Be brief."),
    Request(
        model=MODEL,
        tools=[WEATHER],
        messages=[
            Message("system", "Be brief."),
            Message("user", "weather"),
            Message("assistant", "", tool_calls=[CALL]),
            Message("tool", "sunny", name="get_weather", tool_call_id="a"),
        ],
    ),
]


async def test_the_count_is_exactly_what_the_engine_reports(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        assert isinstance(provider, SupportsTokenCount)
        for request in CHATS:
            counted = await TokenCounter().count(request, provider)
            assert (counted.source, counted.estimated) == ("engine", False)
            end = end_of(await answer(provider, request))
            assert isinstance(end, Finish)
            assert end.usage is not None
            assert counted.tokens == end.usage.prompt_tokens


async def test_a_byte_more_is_a_token_more(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        short, long = [await provider.count_tokens(ask("h" * n)) for n in (1, 1000)]
    assert long - short == 999


async def test_counting_loads_the_model_with_the_window_of_the_answer(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, supervisor):
        await provider.count_tokens(ask("hello", options=GenerationOptions(num_ctx=1024)))
        (engine,) = supervisor.engines
        assert engine.plan.context == 1024
        assert engine.leases == 0


async def test_a_count_that_was_stopped_or_has_no_model_is_an_error(model_folder: Path) -> None:
    signal = AbortSignal()
    signal.abort()
    async with embedded(model_folder) as (provider, _):
        with pytest.raises(AIError) as caught:
            await provider.count_tokens(ask("hello", signal=signal))
        assert caught.value.code == ErrorCode.ABORTED
        with pytest.raises(AIError) as caught:
            await provider.count_tokens(ask("hello", model="absent"))
        assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
