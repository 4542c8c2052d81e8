"""The OpenAI-compatible provider against a real llama.cpp server, not a fake."""

import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.protocol.blocks import EmbeddingContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, ToolCallEvent
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.openai_compatible import LlamaCppProvider
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.answers import end_of, text_of, thinking_of
from tests.providers.embedding_engine import EMBEDDING_COMMAND
from tests.support.engine import COLOUR, MODEL, WEATHER, ask, embedded, needs_engine
from tests.support.tiny_gguf import AFTER_TOOL, ANSWER, HELLO, THOUGHT, write_scripted

pytestmark = [pytest.mark.engine, needs_engine]


@asynccontextmanager
async def llamacpp(folder: Path) -> AsyncIterator[ProviderSpec]:
    """Start a server with one model."""
    write_scripted(folder / f"{MODEL}.gguf")
    async with embedded(folder, command=EMBEDDING_COMMAND) as (provider, supervisor):
        await provider.load_model(MODEL)
        (engine,) = supervisor.engines
        yield ProviderSpec(
            name="box",
            kind="openai-compatible",
            base_url=engine.url,
            api_key=engine.key,
            backend="llamacpp",
        )


def connected(spec: ProviderSpec) -> LlamaCppProvider:
    provider = create_provider(spec)
    assert isinstance(provider, LlamaCppProvider)
    return provider


async def events_of(spec: ProviderSpec, request: Request) -> list[ProviderEvent]:
    provider = connected(spec)
    async with provider.chat_stream(request) as stream:
        events = [event async for event in stream]
    await provider.dispose()
    return events


async def test_a_real_server_answers_lists_its_window_refuses_and_stops(tmp_path: Path) -> None:
    async with llamacpp(tmp_path) as spec:
        events = await events_of(spec, ask("hello"))
        end = events[-1]
        assert isinstance(end, Finish)
        assert (text_of(events), end.reason) == (HELLO, "stop")
        assert end.usage is not None
        assert end.timings is not None
        assert end.usage.completion_tokens
        assert end.timings.tokens_per_s

        provider = connected(spec)
        (info,) = await provider.list_models()
        assert provider.last_error is None
        assert (info.name, info.context, info.loaded) == (MODEL, 4096, True)
        assert info.capability is not None
        assert info.capability.features >= {"tool_use", "thinking"}
        signal = AbortSignal()
        async with provider.chat_stream(ask("forever", signal=signal)) as stream:
            await anext(stream)
            signal.abort()
            last = await anext(stream)
        assert isinstance(last, Finish)
        assert last.reason == "abort"
        await provider.dispose()

        stranger = replace(spec, api_key="x")
        (refused,) = await events_of(stranger, ask("hello"))
        assert isinstance(refused, ErrorEvent)
        assert refused.error.code == ErrorCode.AUTH_FAILED

        (full,) = await events_of(
            spec, Request(model=MODEL, messages=[Message("user", "hello " * 6000)])
        )
        assert isinstance(full, ErrorEvent)
        assert full.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert full.error.details["context_tokens"] == 4096


async def test_a_real_server_thinks_counts_calls_tools_and_holds_to_a_schema(
    tmp_path: Path,
) -> None:
    async with llamacpp(tmp_path) as spec:
        thoughts = await events_of(spec, replace(ask("think"), should_think=True))
        assert (thinking_of(thoughts).strip(), text_of(thoughts).strip()) == (THOUGHT, ANSWER)

        called = await events_of(spec, ask("weather", tools=[WEATHER]))
        (call,) = [event.call for event in called if isinstance(event, ToolCallEvent)]
        assert (call.name, call.args) == ("get_weather", {"city": "Paris"})
        assert isinstance(end := end_of(called), Finish)
        assert end.reason == "tool_calls"
        history = [
            *ask("weather").conversation,
            Message("assistant", "", tool_calls=[call]),
            Message("tool", "sunny", name="get_weather", tool_call_id=call.id),
        ]
        history_request = Request(model=MODEL, messages=history, tools=[WEATHER])
        assert text_of(await events_of(spec, history_request)) == AFTER_TOOL

        schema = GenerationOptions(response_format=COLOUR)
        held = await events_of(spec, ask("hello", options=schema))
        assert json.loads(text_of(held)) == {"color": "", "n": 1}

        provider = connected(spec)
        for request in (ask("hello"), ask("weather", tools=[WEATHER]), history_request):
            assert isinstance(end := end_of(await events_of(spec, request)), Finish)
            assert end.usage is not None
            assert await provider.count_tokens(request) == end.usage.prompt_tokens
        await provider.dispose()


async def test_a_real_server_makes_vectors_that_are_near_for_texts_that_are(
    tmp_path: Path,
) -> None:
    texts = [TextContent(text) for text in ("hello there", "hello there", "hello them", "QXZ 99")]
    async with llamacpp(tmp_path) as spec:
        provider = connected(spec)
        response = await provider.embed(Request(model=MODEL, input=texts))
        await provider.dispose()
    first, same, near, far = [
        block.vector for block in response.content if isinstance(block, EmbeddingContent)
    ]
    assert cosine(first, same) == pytest.approx(1.0, abs=1e-3)
    assert cosine(first, same) > cosine(first, near) > cosine(first, far)
    assert response.usage is not None
    assert response.usage.prompt_tokens


async def test_a_real_server_without_embeddings_says_how_to_have_them(tmp_path: Path) -> None:
    write_scripted(tmp_path / f"{MODEL}.gguf")
    async with embedded(tmp_path) as (engines, supervisor):
        await engines.load_model(MODEL)
        (engine,) = supervisor.engines
        provider = connected(
            ProviderSpec(
                name="box",
                kind="openai-compatible",
                base_url=engine.url,
                api_key=engine.key,
                backend="llamacpp",
            )
        )
        with pytest.raises(AIError, match="--embeddings") as caught:
            await provider.embed(Request(model=MODEL, input="hello"))
        await provider.dispose()
    assert caught.value.status == 501


def cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))
