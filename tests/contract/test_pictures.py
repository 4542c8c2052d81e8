"""A picture travels to every provider as a picture, in its message, and never as a stand-in."""

import base64
import json
from collections.abc import Iterator, Mapping

import pytest

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.provider_events import Finish
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers import create_provider
from tests.contract.selection import remotes
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, serve

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(256))
KINDS = remotes(often=REMOTES)
LOOK = TextContent("hello")


def strings(value: object) -> Iterator[str]:
    """Give every text inside a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def sent(message: object, picture: bytes) -> bool:
    """Whether a message carries the picture as data."""
    data = base64.b64encode(picture).decode()
    return any(text == data or text.endswith(f";base64,{data}") for text in strings(message))


async def asked(kind: str, *messages: Message, stream: bool = True) -> Received:
    """Ask with these messages, and give what the server received."""
    async with serve(REMOTES[kind].make()) as server:
        provider = create_provider(REMOTES[kind].spec(server.url))
        made = await provider.invoke(Request(model="tiny", messages=messages, stream=stream))
        if stream:
            async with made as events:  # type: ignore[union-attr]
                assert isinstance([event async for event in events][-1], Finish)
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
        await server.settled()
    return server.received[-1]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("kind", KINDS)
async def test_pictures_are_sent_as_data_in_their_message(kind: str, stream: bool) -> None:
    request = await asked(
        kind,
        Message("user", [TextContent("first"), ImageContent(data=PNG, mime_type="image/png")]),
        Message("assistant", "I see."),
        Message("user", [ImageContent(data=JPEG), ImageContent(data=PNG), LOOK]),
        stream=stream,
    )
    messages = request.json()["messages"]
    assert isinstance(messages, list)
    first, _, last = messages
    assert (sent(first, PNG), sent(first, JPEG)) == (True, False)
    assert (sent(last, PNG), sent(last, JPEG)) == (True, True)
    assert b"[image" not in request.body.lower()


@pytest.mark.parametrize("kind", [name for name in REMOTES if name != "ollama"])
async def test_the_kind_of_a_picture_is_distinguished_from_its_data(kind: str) -> None:
    request = await asked(kind, Message("user", [ImageContent(data=JPEG), LOOK]))
    request_text = json.dumps(request.json())
    assert "image/jpeg" in request_text
    assert "image/png" not in request_text


@pytest.mark.parametrize("kind", KINDS)
async def test_a_picture_as_base64_or_as_a_data_url_is_the_same_picture(kind: str) -> None:
    text = base64.b64encode(PNG).decode()
    for picture in (
        ImageContent(data=text, mime_type="image/png"),
        ImageContent(data=f"data:image/png;base64,{text}"),
        ImageContent(url=f"data:image/png;base64,{text}"),
    ):
        request = await asked(kind, Message("user", [picture, LOOK]))
        assert sent(request.json()["messages"], PNG)


@pytest.mark.parametrize("kind", KINDS)
async def test_pictures_stay_beside_calls_and_their_results(kind: str) -> None:
    call = ToolCall(id="call_1", name="look", args={})
    request = await asked(
        kind,
        Message("user", [ImageContent(data=PNG), TextContent("look")]),
        Message("assistant", tool_calls=[call]),
        Message("tool", "seen", name="look", tool_call_id="call_1"),
        Message("user", [LOOK]),
    )
    messages = request.json()["messages"]
    assert isinstance(messages, list)
    assert sent(messages[0], PNG)
    assert not any(sent(message, PNG) for message in messages[1:])
