"""What is asked of Anthropic's models: what each takes, listing, counting, keys."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, ProviderEvent
from ollm_tui.protocol.request import GenerationOptions, Request, ThinkingConfig
from ollm_tui.providers import create_provider
from ollm_tui.providers.anthropic import AnthropicProvider, to_wire
from ollm_tui.providers.anthropic.models import Limits, ModelLimits
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.test_anthropic import finish_of, message_of
from tests.support.fake_anthropic import SIGNATURE, FakeAnthropic
from tests.support.http_server import Handler, Received, Reply, Server, serve

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

ASK = Request(model="tiny", messages=[Message("user", "think")])
THINK = replace(ASK, should_think=ThinkingConfig(mode="last", effort="high"))
REFUSES_ADAPTIVE = {'"adaptive"': "thinking: Input tag 'adaptive' found, expected tags: 'enabled'"}


@asynccontextmanager
async def connected(
    handler: Handler, **more: object
) -> AsyncIterator[tuple[AnthropicProvider, Server]]:
    async with serve(handler) as server:
        spec = ProviderSpec(name="p", kind="anthropic", base_url=server.url, **more)  # type: ignore[arg-type]
        provider = create_provider(spec)
        assert isinstance(provider, AnthropicProvider)
        try:
            yield provider, server
        finally:
            await provider.dispose()


async def answer(provider: AnthropicProvider, request: Request = ASK) -> list[ProviderEvent]:
    async with provider.chat_stream(request) as stream:
        return [event async for event in stream]


def bodies(server: Server) -> list[dict[str, Any]]:
    return [r.json() for r in server.received if r.path == "/v1/messages"]


async def test_an_older_model_thinks_by_a_budget_once_it_has_refused_an_effort() -> None:
    async with connected(FakeAnthropic(refuses=REFUSES_ADAPTIVE)) as (provider, server):
        for _ in range(2):
            assert finish_of(await answer(provider, THINK)).reason == "stop"
    first, second, third = bodies(server)
    assert first["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert first["output_config"] == {"effort": "high"}
    assert second == third
    assert second["thinking"] == {"type": "enabled", "budget_tokens": 16_384}
    assert second["max_tokens"] == 8192 + 16_384
    assert "output_config" not in second


async def test_a_listed_model_is_asked_in_its_way_at_once() -> None:
    async with connected(FakeAnthropic()) as (provider, server):
        models = await provider.list_models()
        await answer(provider, THINK)
    assert [(m.name, m.label, m.context) for m in models] == [
        ("tiny", "Tiny", 200_000),
        ("small", "Small", 200_000),
    ]
    capability = models[0].capability
    assert capability is not None
    assert capability.input == {"text", "image"}
    assert "thinking" in capability.features
    assert "json_mode" not in capability.features
    (body,) = bodies(server)
    assert body["max_tokens"] == to_wire.MAX_DEFAULT_TOKENS


@pytest.mark.parametrize(
    ("options", "message", "left"),
    [
        ({"temperature": 0.5}, "`temperature` is deprecated for this model.", {}),
        (
            {"temperature": 0.5, "top_p": 0.9},
            "`temperature` and `top_p` cannot both be specified for this model.",
            {"temperature": 0.5},
        ),
        ({"top_k": 5}, "top_k: Extra inputs are not permitted", {}),
    ],
)
async def test_sampling_that_a_model_refuses_is_left_out_for_it_from_then_on(
    options: dict[str, float], message: str, left: dict[str, float]
) -> None:
    refused = next(iter(set(options) - set(left)))
    handler = FakeAnthropic(refuses={f'"{refused}"': message})
    asked = replace(ASK, options=GenerationOptions(**options))  # type: ignore[arg-type]
    async with connected(handler) as (provider, server):
        for _ in range(2):
            assert finish_of(await answer(provider, asked)).reason == "stop"
    sent = [{key: body[key] for key in options if key in body} for body in bodies(server)]
    assert sent == [options, left, left]


async def test_a_longest_answer_that_is_too_long_is_shortened_as_the_server_says() -> None:
    message = "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens"
    handler = FakeAnthropic(refuses={'"max_tokens": 8192': message})
    async with connected(handler) as (provider, server):
        assert finish_of(await answer(provider)).reason == "stop"
    assert [body["max_tokens"] for body in bodies(server)] == [8192, 4096]


@pytest.mark.parametrize(
    "message",
    [
        "temperature: range: -1..1",
        "Thinking may not be enabled when tool_choice forces tool use.",
        "messages: first message must use the user role",
    ],
)
async def test_other_refusals_are_reported_and_nothing_is_asked_again(message: str) -> None:
    handler = FakeAnthropic(refuses={"tiny": message})
    asked = replace(THINK, options=GenerationOptions(temperature=1.5))
    async with connected(handler) as (provider, server):
        (end,) = await answer(provider, asked)
    assert isinstance(end, ErrorEvent)
    assert end.error.message == message
    assert len(bodies(server)) == 1


@given(
    answer=st.integers(1, 200_000),
    most=st.none() | st.integers(2048, 128_000),
    effort=st.sampled_from(["low", "medium", "high", None]),
)
def test_a_budget_leaves_room_for_the_answer(
    answer: int, most: int | None, effort: str | None
) -> None:
    body: JsonObject = {"max_tokens": answer, "thinking": {"type": "adaptive"}}
    if effort:
        body["output_config"] = {"effort": effort}
    fitted = Limits(max_tokens=most, thinking_type="enabled").fit(body)
    thinking, longest = fitted["thinking"], fitted["max_tokens"]
    assert isinstance(thinking, dict)
    assert isinstance(longest, int)
    budget = thinking["budget_tokens"]
    assert isinstance(budget, int)
    assert 1024 <= budget < longest <= (most or longest)


def test_what_was_learned_from_a_refusal_outlives_the_next_listing() -> None:
    known = ModelLimits()
    error = AIError(ErrorCode.BAD_REQUEST, "top_k: Extra inputs are not permitted", status=400)
    assert known.adapt({"model": "m", "top_k": 5}, error) == {"model": "m"}
    known.list({"m": Limits(max_tokens=10)})
    assert known.of("m") == Limits(max_tokens=10, refused=frozenset({"top_k"}))


async def test_all_pages_of_the_listing_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ollm_tui.providers.anthropic.provider.PAGE", 1)
    async with connected(FakeAnthropic()) as (provider, server):
        assert [model.name for model in await provider.list_models()] == ["tiny", "small"]
    assert [r.path for r in server.received] == [
        "/v1/models?limit=1",
        "/v1/models?limit=1&after_id=tiny",
    ]


async def test_a_listing_that_never_ends_is_ended() -> None:
    async def turns_round(request: Received, reply: Reply) -> None:
        await reply.json({"data": [{"id": "m"}], "has_more": True, "last_id": "m"})

    async with connected(turns_round) as (provider, server):
        assert len(await provider.list_models()) == 2
    assert len(server.received) == 2


async def test_tokens_are_counted_with_all_that_makes_the_prompt_and_nothing_else() -> None:
    async with connected(FakeAnthropic()) as (provider, server):
        assert await provider.count_tokens(replace(THINK, system_prompt="Be brief.")) > 0
    (asked,) = server.received
    assert asked.path == "/v1/messages/count_tokens"
    assert asked.json().keys() == {"model", "messages", "system", "thinking", "output_config"}


async def test_a_count_without_a_number_is_an_error() -> None:
    async def numberless(request: Received, reply: Reply) -> None:
        await reply.json({})

    async with connected(numberless) as (provider, _server):
        with pytest.raises(AIError, match="no token count"):
            await provider.count_tokens(ASK)


async def test_the_key_goes_in_its_own_header_with_the_version() -> None:
    async with connected(FakeAnthropic("sk-1"), api_key="sk-1") as (provider, server):
        assert finish_of(await answer(provider)).reason == "stop"
        await provider.list_models()
    for request in server.received:
        assert request.headers["x-api-key"] == "sk-1"
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in request.headers


async def test_thoughts_of_one_model_are_not_sent_to_another() -> None:
    async with connected(FakeAnthropic()) as (provider, server):
        reply_message = message_of(await answer(provider))
        history = [*ASK.conversation, reply_message, Message("user", "hello")]
        for model in ("tiny", "small"):
            await answer(provider, replace(ASK, model=model, messages=history))
    assert reply_message.content[0] == ThinkingContent("Let me see.", SIGNATURE, "p://tiny")
    _, same, other = bodies(server)
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": SIGNATURE}
    text = {"type": "text", "text": "Yes."}
    assert [m["content"] for m in same["messages"]] == ["think", [thought, text], "hello"]
    assert [m["content"] for m in other["messages"]] == ["think", "Yes.", "hello"]


@pytest.mark.parametrize(
    ("wish", "sent"),
    [
        (None, {}),
        (False, {"chat_template_kwargs": {"enable_thinking": False}}),
        (True, {"chat_template_kwargs": {"enable_thinking": True}}),
        (
            ThinkingConfig(mode="last", effort="low"),
            {
                "chat_template_kwargs": {"enable_thinking": True},
                "thinking": {"type": "enabled", "budget_tokens": 2048},
            },
        ),
    ],
)
async def test_llamacpp_is_informed_about_thinking_by_its_template(
    wish: object, sent: dict[str, object]
) -> None:
    asked = replace(ASK, should_think=wish)  # type: ignore[arg-type]
    async with connected(FakeAnthropic(), backend="llamacpp") as (provider, server):
        await answer(provider, asked)
    (body,) = bodies(server)
    assert {key: body[key] for key in body if "think" in key or "kwargs" in key} == sent
    assert "output_config" not in body
