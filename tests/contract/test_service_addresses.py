"""Services on the internet need no address in the settings: a key is enough."""

import json
from collections.abc import Mapping

import pytest
from pytest_httpx import HTTPXMock

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.anthropic import to_wire
from ollm_tui.providers.spec import ProviderSpec

ASK = Request(model="tiny", messages=[Message("user", "hello")])


@pytest.mark.parametrize(
    ("kind", "url", "reply", "header", "fields"),
    [
        (
            *("openai", "https://api.openai.com/v1/chat/completions", "data: [DONE]\n\n"),
            *(("authorization", "Bearer sk-1"), {}),
        ),
        (
            *("anthropic", "https://api.anthropic.com/v1/messages"),
            *('data: {"type": "message_stop"}\n\n', ("x-api-key", "sk-1")),
            {"max_tokens": to_wire.MAX_DEFAULT_TOKENS},
        ),
    ],
    ids=["openai", "anthropic"],
)
async def test_without_an_address_the_service_itself_is_asked(
    kind: str,
    url: str,
    reply: str,
    header: tuple[str, str],
    fields: Mapping[str, object],
    httpx_mock: HTTPXMock,
) -> None:
    httpx_mock.add_response(url=url, text=reply)
    provider = create_provider(ProviderSpec(name=kind, kind=kind, api_key="sk-1"))
    async with provider.chat_stream(ASK) as stream:
        assert [event async for event in stream]
    assert isinstance(provider, SupportsDispose)
    await provider.dispose()
    (asked,) = httpx_mock.get_requests()
    assert asked.headers[header[0]] == header[1]
    assert json.loads(asked.content).items() >= fields.items()
