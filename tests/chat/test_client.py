"""A prompt's road through the chat client, over a scripted provider."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.client import BUFFERED_EVENTS, ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events, provider_events
from ollm_tui.protocol.blocks import ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.protocol.provider_events import Finish, TextDelta, ThinkingDelta, ToolCallEvent
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider


def client_over(provider: ScriptedProvider, model: str | None = "scripted://m") -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    return ChatClient(parts, Conversation(model=model))


async def ask(
    client: ChatClient, prompt: str = "hi", signal: AbortSignal | None = None
) -> list[chat_events.ChatEvent]:
    async with client.chat(prompt, signal=signal) as events:
        return [event async for event in events]


def roles(client: ChatClient) -> list[str]:
    return [message.role for message in client.conversation.messages]


async def test_an_answer_streams_and_enters_the_history() -> None:
    usage, timings = Usage(prompt_tokens=3, completion_tokens=2), Timings(total_s=1.0)
    provider = ScriptedProvider(
        script=[
            ThinkingDelta("hm"),
            TextDelta("Hel"),
            TextDelta("lo"),
            Finish("stop", usage, timings),
        ]
    )
    client = client_over(provider)
    events = await ask(client, "hi")
    assert events == [
        chat_events.ThinkingDelta(delta="hm", turn=1, block="b1"),
        chat_events.TextDelta(delta="Hel", turn=1, block="b2"),
        chat_events.TextDelta(delta="lo", turn=1, block="b2"),
        chat_events.TurnComplete(turn_number=1),
        chat_events.Finish(reason="stop", usage=usage, timings=timings),
    ]
    question, answer = client.conversation.messages
    assert question.text == "hi"
    assert answer.text == "Hello"
    assert answer.content[0] == ThinkingContent("hm")
    assert "ended" not in answer.metadata


async def test_the_next_prompt_sends_the_whole_conversation() -> None:
    provider = ScriptedProvider(script=[TextDelta("one"), Finish("stop")])
    client = client_over(provider)
    await ask(client, "first")
    await ask(client, "second")
    sent = provider.requests[1].messages
    assert sent is not None
    assert [(m.role, m.text) for m in sent] == [
        ("user", "first"),
        ("assistant", "one"),
        ("user", "second"),
    ]


async def test_the_question_is_in_the_history_before_it_is_sent() -> None:
    gate = anyio.Event()
    client = client_over(ScriptedProvider(script=[gate, Finish("stop")]))
    async with client.chat("hi") as events:
        assert roles(client) == ["user"]
        gate.set()
        assert [type(e).__name__ async for e in events] == ["NoAnswer", "TurnComplete", "Finish"]


async def test_a_signal_ends_with_abort_and_keeps_the_partial_answer() -> None:
    provider = ScriptedProvider(script=[TextDelta("partial"), anyio.Event(), Finish("stop")])
    client, signal = client_over(provider), AbortSignal()
    seen = []
    async with client.chat("hi", signal=signal) as events:
        async for event in events:
            seen.append(event)
            signal.abort()
    assert seen[-1] == chat_events.Finish(reason="abort")
    assert client.conversation.messages[-1].metadata == {"ended": "stopped"}
    assert client.conversation.last_answer() == "partial"
    assert provider.open_streams == 0


async def test_leaving_the_block_early_ends_the_request_and_keeps_the_partial_answer() -> None:
    provider = ScriptedProvider(script=[TextDelta("partial"), anyio.Event(), Finish("stop")])
    client = client_over(provider)
    async with client.chat("hi") as events:
        async for _event in events:
            break
    assert provider.open_streams == 0
    assert client.conversation.messages[-1].metadata == {"ended": "stopped"}
    provider.script = [TextDelta("again"), Finish("stop")]
    assert (await ask(client))[-1] == chat_events.Finish(reason="stop")


async def test_leaving_at_the_moment_in_which_more_comes_is_no_failure() -> None:
    more = anyio.Event()
    provider = ScriptedProvider(
        script=[TextDelta("partial"), more, TextDelta(" more"), Finish("stop")]
    )
    client = client_over(provider)
    async with client.chat("hi") as events:
        async for _event in events:
            await anyio.wait_all_tasks_blocked()
            more.set()
            break
    assert client.conversation.messages[-1].metadata == {"ended": "stopped"}


async def test_a_task_cancellation_propagates_and_leaves_the_client_usable() -> None:
    provider = ScriptedProvider(script=[TextDelta("partial"), anyio.Event(), Finish("stop")])
    client = client_over(provider)
    with anyio.CancelScope() as scope:
        async with client.chat("hi") as events:
            async for _event in events:
                scope.cancel()
    assert scope.cancelled_caught
    assert provider.open_streams == 0
    assert client.conversation.messages[-1].metadata == {"ended": "stopped"}
    provider.script = [TextDelta("again"), Finish("stop")]
    assert (await ask(client))[-1] == chat_events.Finish(reason="stop")


async def test_an_exception_of_the_consumer_arrives_unchanged() -> None:
    client = client_over(ScriptedProvider(script=[TextDelta("x"), anyio.Event()]))
    with pytest.raises(ZeroDivisionError):
        async with client.chat("hi") as events:
            async for _event in events:
                raise ZeroDivisionError


@pytest.mark.parametrize("deltas", range(BUFFERED_EVENTS - 3, BUFFERED_EVENTS + 3))
async def test_it_does_so_while_an_event_waits_for_room(deltas: int) -> None:
    script: list[provider_events.ProviderEvent] = [TextDelta(".")] * deltas
    client = client_over(ScriptedProvider(script=[*script, Finish("stop")]))
    with pytest.raises(LookupError, match="mine"):
        async with client.chat("hi"):
            await anyio.wait_all_tasks_blocked()
            raise LookupError("mine")
    assert [type(event) for event in (await ask(client))[-1:]] == [chat_events.Finish]


async def test_a_provider_error_closes_the_stream_and_keeps_what_came() -> None:
    error = AIError(ErrorCode.STREAM_INCOMPLETE, "Cut off.")
    provider = ScriptedProvider(script=[TextDelta("par"), provider_events.ErrorEvent(error)])
    client = client_over(provider)
    events = await ask(client)
    assert events[-1] == chat_events.ErrorEvent(error=error)
    assert client.conversation.messages[-1].metadata == {"ended": "failed"}


@pytest.mark.parametrize("is_raised", [False, True])
async def test_a_failure_names_the_provider_that_was_asked(is_raised: bool) -> None:
    error = AIError(ErrorCode.ENGINE_ERROR, "Broken.")
    script = [error if is_raised else provider_events.ErrorEvent(error)]
    end = (await ask(client_over(ScriptedProvider(script=script))))[-1]
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.provider == "scripted"


async def test_an_unexpected_exception_is_one_error_event() -> None:
    client = client_over(ScriptedProvider(script=[TextDelta("par"), ValueError("boom")]))
    events = await ask(client)
    assert isinstance(events[-1], chat_events.ErrorEvent)
    assert events[-1].error.code == ErrorCode.INTERNAL_ERROR
    assert "boom" not in str(events[-1].error)
    assert client.conversation.messages[-1].metadata == {"ended": "failed"}


async def test_a_provider_without_an_end_mark_is_incomplete() -> None:
    client = client_over(ScriptedProvider(script=[TextDelta("par")]))
    events = await ask(client)
    assert isinstance(events[-1], chat_events.ErrorEvent)
    assert events[-1].error.code == ErrorCode.STREAM_INCOMPLETE


async def test_a_call_that_is_not_run_still_has_its_one_result_for_the_next_request() -> None:
    call = ToolCall(id="c1", name="look", args={})
    provider = ScriptedProvider(script=[ToolCallEvent(call), Finish("tool_calls")])
    client = client_over(provider)
    await ask(client, "first")
    assert roles(client) == ["user", *["assistant", "tool"] * 2]
    provider.script = [TextDelta("Well."), Finish("stop")]
    await ask(client, "second")
    sent = provider.requests[-1].messages
    assert sent is not None
    assert [(m.role, m.tool_call_id, m.name) for m in sent[1:5]] == [
        ("assistant", None, None),
        ("tool", "c1", "look"),
        ("assistant", None, None),
        ("tool", "c1-2", "look"),
    ]
    assert sent[2].text == "Not run: no tools are offered. Answer without them."


async def test_without_a_model_the_error_says_so() -> None:
    events = await ask(client_over(ScriptedProvider(), model=None))
    assert isinstance(events[-1], chat_events.ErrorEvent)
    assert events[-1].error.code == ErrorCode.MODEL_NOT_FOUND


async def test_stopping_while_the_model_is_looked_for_ends_with_abort() -> None:
    provider = ScriptedProvider(list_gate=anyio.Event())
    client, signal = client_over(provider, model="bare-name"), AbortSignal()
    async with client.chat("hi", signal=signal) as events:
        signal.abort()
        assert [e async for e in events] == [chat_events.Finish(reason="abort")]


async def test_two_questions_in_a_row_are_sent_as_one() -> None:
    error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Nobody there.")
    provider = ScriptedProvider(script=[provider_events.ErrorEvent(error)])
    client = client_over(provider)
    await ask(client, "first")
    await ask(client, "second")
    sent = provider.requests[1].messages
    assert sent is not None
    assert [(m.role, m.text) for m in sent] == [("user", "first\n\nsecond")]
    assert roles(client) == ["user", "user"]


async def test_retry_replaces_the_answer_to_the_newest_question() -> None:
    provider = ScriptedProvider(script=[TextDelta("bad"), Finish("stop")])
    client = client_over(provider)
    await ask(client, "hi")
    provider.script = [TextDelta("good"), Finish("stop")]
    async with client.retry() as events:
        assert [e async for e in events][-1] == chat_events.Finish(reason="stop")
    assert [m.text for m in client.conversation.messages] == ["hi", "good"]


async def test_a_chat_goes_on_from_before_an_earlier_question() -> None:
    provider = ScriptedProvider(script=[TextDelta("one"), Finish("stop")])
    client = client_over(provider)
    for question in ("a", "b", "c"):
        await ask(client, question)
    client.conversation.turns_left_out = 2
    client.rewind(2)
    assert [m.text for m in client.conversation.messages] == ["a", "one"]
    assert client.conversation.turns_left_out == 1
    await ask(client, "instead of b")
    assert [m.text for m in client.conversation.messages] == ["a", "one", "instead of b", "one"]


async def test_going_back_is_refused_while_an_answer_comes_and_beyond_the_end() -> None:
    gate = anyio.Event()
    client = client_over(ScriptedProvider(script=[TextDelta("one"), gate, Finish("stop")]))
    with anyio.fail_after(5):
        async with client.chat("a") as events:
            await anext(events)
            with pytest.raises(AIError, match="still being answered"):
                client.rewind(0)
    before = list(client.conversation.messages)
    with pytest.raises(AIError, match="no such message"):
        client.rewind(len(before) + 1)
    assert client.conversation.messages == before


async def test_retry_before_any_question_is_refused() -> None:
    client = client_over(ScriptedProvider())
    with pytest.raises(AIError, match="No messages yet"):
        async with client.retry():
            pass


async def test_a_second_prompt_at_the_same_time_is_refused() -> None:
    client = client_over(ScriptedProvider(script=[anyio.Event(), Finish("stop")]))
    async with client.chat("one"):
        with pytest.raises(AIError, match="still being answered"):
            async with client.chat("two"):
                pass
    assert roles(client) == ["user"]


DELTAS = st.lists(
    st.builds(TextDelta, st.text().filter(lambda text: not text[:1].isspace()))
    | st.builds(ThinkingDelta, st.text()),
    max_size=30,
)
"""Blank lines after reasoning are dropped, which a test of its own holds."""


# Feature: stage-02-core-provider, Property 4: Event Stream Forwarding
@settings(max_examples=100)
@given(script=DELTAS)
async def test_every_delta_is_forwarded_in_order_with_one_end(
    script: list[TextDelta | ThinkingDelta],
) -> None:
    client = client_over(ScriptedProvider(script=[*script, Finish("stop")]))
    events = await ask(client)
    deltas = [e for e in events if isinstance(e, chat_events.TextDelta | chat_events.ThinkingDelta)]
    assert [(type(e).__name__, e.delta) for e in deltas] == [
        (type(d).__name__, d.delta) for d in script if d.delta
    ]
    ends = [e for e in events if isinstance(e, chat_events.Finish | chat_events.ErrorEvent)]
    assert ends == [events[-1]]
