"""The OpenAI-compatible provider against a real llama.cpp server, not a fake."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.openai_compatible import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.engine import MODEL, ask, embedded, needs_engine, text_of
from tests.support.tiny_gguf import HELLO, write_scripted

pytestmark = [pytest.mark.engine, needs_engine]


@asynccontextmanager
async def llamacpp(folder: Path) -> AsyncIterator[ProviderSpec]:
    """Start a server with one model."""
    write_scripted(folder / f"{MODEL}.gguf")
    async with embedded(folder) as (provider, supervisor):
        await provider.load_model(MODEL)
        (engine,) = supervisor.engines
        yield ProviderSpec(
            name="box", kind="openai-compatible", base_url=engine.url, api_key=engine.key
        )


async def events_of(spec: ProviderSpec, request: Request) -> list[ProviderEvent]:
    provider = OpenAICompatibleProvider(spec)
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

        provider = OpenAICompatibleProvider(spec)
        (info,) = await provider.list_models()
        assert provider.last_error is None
        assert (info.name, info.context, info.loaded) == (MODEL, 4096, True)
        signal = AbortSignal()
        async with provider.chat_stream(ask("forever", signal=signal)) as stream:
            await anext(stream)
            signal.abort()
            last = await anext(stream)
        assert isinstance(last, Finish)
        assert last.reason == "abort"
        await provider.dispose()

        stranger = ProviderSpec(
            name="s", kind="openai-compatible", base_url=spec.base_url, api_key="x"
        )
        (refused,) = await events_of(stranger, ask("hello"))
        assert isinstance(refused, ErrorEvent)
        assert refused.error.code == ErrorCode.AUTH_FAILED

        (full,) = await events_of(
            spec, Request(model=MODEL, messages=[Message("user", "hello " * 6000)])
        )
        assert isinstance(full, ErrorEvent)
        assert full.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert full.error.details["context_tokens"] == 4096
