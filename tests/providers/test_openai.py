"""OpenAI itself: what it refuses, what is asked in its place, and which models are shown."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.openai_compatible import OpenAIProvider
from ollm_tui.providers.openai_compatible.adapt import Refusals
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, Server, serve

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

ASK = Request(model="tiny", messages=[Message("user", "hello")], system_prompt="Be brief.")


def refusing(error: Mapping[str, object], piece: str) -> Handler:
    """Refuse requests that hold this piece of JSON."""
    answers = FakeOpenAI()

    async def handler(request: Received, reply: Reply) -> None:
        if piece in json.dumps(request.json()):
            await reply.json({"error": {"type": "invalid_request_error", **error}}, 400)
        else:
            await answers(request, reply)

    return handler


async def answer(server: Server, *requests: Request) -> list[ProviderEvent]:
    provider = OpenAIProvider(ProviderSpec(name="openai", kind="openai", base_url=server.url))
    events: list[ProviderEvent] = []
    for request in requests:
        async with provider.chat_stream(request) as stream:
            events += [event async for event in stream]
    await provider.dispose()
    return events


def bodies(server: Server) -> list[dict[str, Any]]:
    return [request.json() for request in server.received]


def ends_of(events: list[ProviderEvent]) -> list[str]:
    return [event.reason for event in events if isinstance(event, Finish)]


@pytest.mark.parametrize("code", ["unsupported_value", "unsupported_parameter"])
@pytest.mark.parametrize("field", ["temperature", "top_p"])
async def test_a_reasoning_model_is_asked_again_without_sampling(code: str, field: str) -> None:
    error_body = {"message": f"Unsupported: '{field}'.", "param": field, "code": code}
    asked = replace(ASK, options=GenerationOptions(temperature=0.5, top_p=0.9))
    async with serve(refusing(error_body, f'"{field}"')) as server:
        assert ends_of(await answer(server, asked, asked)) == ["stop", "stop"]
    sent = [field in body for body in bodies(server)]
    assert sent == [True, False, False], "asked once, remembered from then on"


async def test_a_model_without_the_role_system_gets_the_role_it_knows() -> None:
    error_body = {
        "message": "'messages[0].role' does not support 'system' with this model.",
        "param": "messages[0].role",
        "code": "unsupported_value",
    }
    async with serve(refusing(error_body, '"system"')) as server:
        assert ends_of(await answer(server, ASK, ASK)) == ["stop", "stop"]
    roles = [[message["role"] for message in body["messages"]] for body in bodies(server)]
    assert roles == [["system", "user"], ["developer", "user"], ["developer", "user"]]


def test_a_model_that_knows_neither_role_gets_it_as_the_user() -> None:
    refusals = Refusals()
    body: JsonObject | None = {"model": "m", "messages": [{"role": "system", "content": "x"}]}
    for role, instead in (("system", "developer"), ("developer", "user")):
        error = AIError(
            ErrorCode.BAD_REQUEST,
            f"'messages[0].role' does not support '{role}' with this model.",
            status=400,
            details={"server_code": "unsupported_value", "param": "messages[0].role"},
        )
        body = refusals.adapt(body or {}, error)
        assert body == {"model": "m", "messages": [{"role": instead, "content": "x"}]}
    assert refusals.adapt(body or {}, error) is None


async def test_a_level_of_reasoning_that_a_model_lacks_is_reported_and_not_dropped() -> None:
    error_body = {
        "message": "Unsupported value: 'reasoning_effort' does not support 'none' with this model.",
        "param": "reasoning_effort",
        "code": "unsupported_value",
    }
    async with serve(refusing(error_body, '"none"')) as server:
        (end,) = await answer(server, replace(ASK, should_think=False))
    assert isinstance(end, ErrorEvent)
    assert "reasoning_effort" in end.error.message
    assert len(server.received) == 1


async def test_models_are_listed_with_what_their_names_say_and_useless_ones_are_not() -> None:
    names = [
        "gpt-5.2",
        "gpt-4o-mini",
        "o3",
        "chatgpt-4o-latest",
        "text-embedding-3-large",
        "whisper-1",
        "tts-1-hd",
        "gpt-4o-transcribe",
        "gpt-realtime",
        "gpt-image-1",
        "dall-e-3",
        "sora-2",
        "omni-moderation-latest",
        "babbage-002",
        "gpt-3.5-turbo-instruct",
        "gpt-5-codex",
        "o3-pro",
    ]

    async def lists(request: Received, reply: Reply) -> None:
        await reply.json({"data": [{"id": name, "object": "model"} for name in names]})

    async with serve(lists) as server:
        provider = OpenAIProvider(ProviderSpec(name="openai", kind="openai", base_url=server.url))
        found = await provider.list_models()
        await provider.dispose()
    made = {info.name: next(iter(info.capability.output)) for info in found if info.capability}
    assert [info.name for info in found if info.name not in made] == names[:4]
    assert made == {
        "text-embedding-3-large": "embedding",
        "whisper-1": "text",
        "tts-1-hd": "audio",
        "gpt-4o-transcribe": "text",
        "gpt-image-1": "image",
        "dall-e-3": "image",
        "sora-2": "video",
    }
    assert provider.last_error is None
