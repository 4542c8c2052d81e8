"""Asking a provider: its settings, its answer and its error, for tests of the way there."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.protocol.provider_events import ErrorEvent, ProviderEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fakes import FAKES

CANARY = "sk-canary-0123456789"
KINDS = [*FAKES]
ASK = Request(model="tiny", messages=[Message("user", "hello")])


@asynccontextmanager
async def connected(spec: ProviderSpec) -> AsyncIterator[ProviderAdapter]:
    provider = create_provider(spec)
    assert isinstance(provider, SupportsDispose)
    try:
        yield provider
    finally:
        await provider.dispose()


async def ask(spec: ProviderSpec, request: Request = ASK) -> list[ProviderEvent]:
    async with connected(spec) as provider, provider.chat_stream(request) as stream:
        return [event async for event in stream]


async def error_of(spec: ProviderSpec, request: Request = ASK) -> AIError:
    (event,) = await ask(spec, request)
    assert isinstance(event, ErrorEvent)
    assert event.error.provider == spec.name
    return event.error


def spec_for(url: str, kind: str = "ollama", **more: object) -> ProviderSpec:
    return ProviderSpec(name="p", kind=kind, base_url=url, **more)  # type: ignore[arg-type]


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
