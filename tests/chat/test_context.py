"""A chat warns before its context is full and does not send what cannot fit."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider


async def client_over(
    provider: ScriptedProvider, windows: dict[str, int] | None = None
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    catalog = ModelCatalog(registry)
    await catalog.refresh()
    parts = ChatParts(router=Router(registry, catalog), windows=windows or {})
    return ChatClient(parts, Conversation(model="scripted://m"))


async def ask(client: ChatClient, prompt: str) -> list[chat_events.ChatEvent]:
    async with client.chat(prompt) as events:
        return [event async for event in events]


def provider_with(window: int | None) -> ScriptedProvider:
    return ScriptedProvider(
        script=[TextDelta("ok"), Finish("stop")], models=[ModelInfo(name="m", context=window)]
    )


@settings(max_examples=100)
@given(length=st.integers(min_value=1, max_value=600))
async def test_a_known_window_warns_and_then_blocks(length: int) -> None:
    # Feature: stage-02-core-provider, Property 25: Token Limit Warning
    # Feature: stage-02-core-provider, Property 26: Token Limit Enforcement
    provider = provider_with(100)
    client = await client_over(provider)
    events = await ask(client, "x" * length)
    assert client.guard.state is not None
    used = client.guard.state.counted.tokens
    warned = any(isinstance(event, chat_events.ContextWarning) for event in events)
    if used > 100:
        [only] = events
        assert isinstance(only, chat_events.ErrorEvent)
        assert only.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert only.error.details["context_tokens"] == 100
        assert provider.requests == []
    else:
        assert warned == (used >= 90)
        assert events[-1] == chat_events.Finish(reason="stop")


async def test_an_unknown_window_never_blocks() -> None:
    client = await client_over(provider_with(None))
    events = await ask(client, "x" * 40_000)
    assert isinstance(events[0], chat_events.ContextWarning)
    assert events[0].limit == 4096
    assert events[-1] == chat_events.Finish(reason="stop")


async def test_a_window_that_a_person_set_counts_more_than_the_engines() -> None:
    client = await client_over(provider_with(100), {"scripted://m": 100_000})
    assert (await ask(client, "x" * 4_000))[-1] == chat_events.Finish(reason="stop")


async def test_leaving_out_the_oldest_turns_makes_room_and_can_be_taken_back() -> None:
    provider = provider_with(200)
    client = await client_over(provider)
    await ask(client, "a" * 400)
    blocked = (await ask(client, "b" * 400))[-1]
    assert isinstance(blocked, chat_events.ErrorEvent)
    client.conversation.turns_left_out = 1
    async with client.retry() as events:
        assert [event async for event in events][-1] == chat_events.Finish(reason="stop")
    sent = provider.requests[-1].messages
    assert sent is not None
    assert [message.text[:1] for message in sent] == ["b"]
    client.conversation.turns_left_out = 0
    assert [m.text[:1] for m in messages_to_send(client.conversation.messages)] == [
        "a",
        "o",
        "b",
        "o",
    ]


async def test_what_the_server_counts_corrects_the_estimate() -> None:
    provider = provider_with(None)
    provider.script = [TextDelta("ok"), Finish("stop", Usage(prompt_tokens=300))]
    client = await client_over(provider)
    await ask(client, "x" * 400)
    assert client.guard.state is not None
    first = client.guard.state.counted.tokens
    async with client.retry() as events:
        assert [event async for event in events]
    assert client.guard.state.counted.tokens > first


@given(left_out=st.integers(0, 10), turns=st.integers(1, 6))
def test_the_newest_turn_is_always_sent(left_out: int, turns: int) -> None:
    history = [
        message
        for number in range(turns)
        for message in (Message("user", f"q{number}"), Message("assistant", f"a{number}"))
    ]
    sent = messages_to_send(history, turns_left_out=left_out)
    assert [m.text for m in sent] == [m.text for m in history[2 * min(left_out, turns - 1) :]]


async def test_between_two_prompts_the_use_is_the_count_and_an_estimate_of_the_rest() -> None:
    client = await client_over(provider_with(1000))
    await ask(client, "x" * 400)
    request = Request(model="m", messages=[Message("user", "x" * 800)])
    counted = client.conversation.counted
    assert counted is not None
    grown = client.guard.used_by(request, "scripted://m", counted)
    assert grown > client.guard.used_by(
        replace(request, messages=client.conversation.messages), "scripted://m", counted
    )
    for base in (None, replace(counted, model="other://m")):
        assert client.guard.used_by(request, "scripted://m", base) == grown
