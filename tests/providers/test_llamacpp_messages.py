"""The Anthropic provider against the Messages endpoint of a real llama.cpp server."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol.blocks import EmbeddingContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    ToolCallEvent,
)
from ollm_tui.protocol.request import GenerationOptions, Request, Response, ThinkingConfig
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.anthropic import AnthropicProvider, LlamaCppMessagesProvider
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.answers import answer, end_of, text_of, thinking_of
from tests.providers.embedding_engine import EMBEDDING_COMMAND
from tests.support.engine import COLOUR, MODEL, WEATHER, ask, embedded, needs_engine
from tests.support.tiny_gguf import AFTER_TOOL, ANSWER, HELLO, THOUGHT, write_scripted

pytestmark = [pytest.mark.engine, needs_engine]


@asynccontextmanager
async def llamacpp(folder: Path) -> AsyncIterator[tuple[LlamaCppMessagesProvider, ProviderSpec]]:
    """Start a server with one model, and speak Anthropic's protocol to it."""
    write_scripted(folder / f"{MODEL}.gguf")
    async with embedded(folder, command=EMBEDDING_COMMAND) as (engines, supervisor):
        await engines.load_model(MODEL)
        (engine,) = supervisor.engines
        spec = ProviderSpec(
            name="box",
            kind="anthropic",
            base_url=engine.url,
            api_key=engine.key,
            backend="llamacpp",
        )
        provider = create_provider(spec)
        assert isinstance(provider, LlamaCppMessagesProvider)
        yield provider, spec
        await provider.dispose()


def message_of(events: list[ProviderEvent]) -> Message:
    assembler = MessageAssembler()
    for event in events:
        assembler.add(event)
    message = assembler.message()
    assert message is not None
    return message


async def test_a_real_server_answers_thinks_and_runs_tools_over_messages(tmp_path: Path) -> None:
    async with llamacpp(tmp_path) as (provider, _spec):
        events = await answer(provider, ask("hello"))
        end = end_of(events)
        assert isinstance(end, Finish)
        assert (text_of(events), end.reason, end.raw_reason) == (HELLO, "stop", "end_turn")
        assert end.usage is not None
        assert end.usage.prompt_tokens == await provider.count_tokens(ask("hello"))

        thoughts = await answer(provider, replace(ask("think"), should_think=True))
        assert (thinking_of(thoughts).strip(), text_of(thoughts)) == (THOUGHT, ANSWER)
        answered = message_of(thoughts)
        thought = answered.content[0]
        assert isinstance(thought, ThinkingContent)
        assert (thought.signature, thought.signer) == ("", f"box://{MODEL}")
        again = Request(
            model=MODEL, messages=[*ask("think").conversation, answered, *ask("hello").conversation]
        )
        assert text_of(await answer(provider, again)) == HELLO

        called = await answer(provider, ask("weather", tools=[WEATHER]))
        calls = [event.call for event in called if isinstance(event, ToolCallEvent)]
        assert [(call.name, call.args) for call in calls] == [("get_weather", {"city": "Paris"})]
        assert isinstance(end := end_of(called), Finish)
        assert end.reason == "tool_calls"
        result = Message("tool", "sunny", name="get_weather", tool_call_id=calls[0].id)
        history = [*ask("weather").conversation, message_of(called), result]
        with_history = Request(model=MODEL, messages=history, tools=[WEATHER])
        assert text_of(await answer(provider, with_history)) == AFTER_TOOL


async def test_a_real_server_lists_its_window_refuses_and_stops_over_messages(
    tmp_path: Path,
) -> None:
    async with llamacpp(tmp_path) as (provider, spec):
        (info,) = await provider.list_models()
        assert (info.name, info.context) == (MODEL, 4096)

        signal = AbortSignal()
        async with provider.chat_stream(ask("forever", signal=signal)) as stream:
            await anext(stream)
            signal.abort()
            last = await anext(stream)
        assert isinstance(last, Finish)
        assert last.reason == "abort"

        cut = await answer(provider, ask("forever", options=GenerationOptions(max_tokens=3)))
        assert isinstance(end := end_of(cut), Finish)
        assert (end.reason, end.raw_reason) == ("length", "max_tokens")

        stranger = AnthropicProvider(replace(spec, api_key="x"))
        (refused,) = await answer(stranger, ask("hello"))
        await stranger.dispose()
        assert isinstance(refused, ErrorEvent)
        assert refused.error.code == ErrorCode.AUTH_FAILED

        (full,) = await answer(provider, ask("hello " * 6000))
        assert isinstance(full, ErrorEvent)
        assert full.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert full.error.details["context_tokens"] == 4096


async def test_a_real_server_is_informed_about_thinking_in_its_own_words(tmp_path: Path) -> None:
    async with llamacpp(tmp_path) as (provider, _spec):
        for wish in (False, True, ThinkingConfig(mode="last", effort="low")):
            events = await answer(provider, replace(ask("hello"), should_think=wish))
            assert (text_of(events), type(end_of(events))) == (HELLO, Finish)
        wrong = GenerationOptions(extra_body={"chat_template_kwargs": {"enable_thinking": "x"}})
        refused = end_of(await answer(provider, ask("hello", options=wrong)))
        assert isinstance(refused, ErrorEvent)
        assert "enable_thinking" in refused.error.message, "the switch is read"


async def test_a_real_server_holds_to_a_schema_and_makes_vectors_over_messages(
    tmp_path: Path,
) -> None:
    async with llamacpp(tmp_path) as (provider, _spec):
        schema = GenerationOptions(response_format=COLOUR)
        events = await answer(provider, ask("tool", options=schema))
        assert isinstance(end := end_of(events), Finish)
        assert json.loads(text_of(events)) == {"color": "", "n": 1}
        assert (end.reason, [e for e in events if isinstance(e, ToolCallEvent)]) == ("stop", [])
        asked = replace(ask("tool", options=schema), stream=False)
        response = await provider.invoke(asked)
        assert isinstance(response, Response)
        assert json.loads(response.text) == {"color": "", "n": 1}
        with pytest.raises(AIError, match="beside tools"):
            await provider.invoke(replace(asked, tools=[WEATHER]))

        embedded_texts = await provider.embed(Request(model=MODEL, input="hello"))
        (vector,) = embedded_texts.content
        assert isinstance(vector, EmbeddingContent)
        assert vector.dimensions == 192
