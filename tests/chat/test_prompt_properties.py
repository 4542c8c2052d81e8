"""Numbered properties of a prompt: what is sent, what is told, and how it ends."""

from collections.abc import Sequence
from itertools import pairwise

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolModes
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall, ToolResult
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.chat.test_saving import ListJournal
from tests.chat.test_tools_in_chat import DONE, FakeTools, Turns, wants
from tests.support.providers import ScriptedProvider

WORDS = st.text(min_size=1).filter(lambda text: not text[0].isspace())
"""Blank lines after reasoning are dropped, which a test of its own holds."""
DELTA = st.builds(TextDelta, WORDS) | st.builds(ThinkingDelta, st.text(min_size=1))
DELTAS = st.lists(DELTA, max_size=12)


def client_over(
    provider: ScriptedProvider,
    tools: FakeTools | None = None,
    journal: ListJournal | None = None,
    modes: ToolModes | None = None,
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(
        router=Router(registry, ModelCatalog(registry)), tools=tools, modes=modes or ToolModes()
    )
    conversation = Conversation(model="scripted://m", tools=("look",) if tools else ())
    return ChatClient(parts, conversation, journal=journal)


async def ask(client: ChatClient, signal: AbortSignal | None = None) -> list[ChatEvent]:
    async with client.chat("hi", signal=signal) as events:
        return [event async for event in events]


def reported_blocks(events: Sequence[ChatEvent]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__, event.delta)
        for event in events
        if isinstance(event, chat_events.TextDelta | chat_events.ThinkingDelta)
    ]


def sent_blocks(events: Sequence[ProviderEvent]) -> list[tuple[str, str]]:
    return [(type(e).__name__, e.delta) for e in events if isinstance(e, TextDelta | ThinkingDelta)]


def ends(events: Sequence[ChatEvent]) -> list[ChatEvent]:
    return [e for e in events if isinstance(e, chat_events.Finish | chat_events.ErrorEvent)]


# Feature: stage-02-core-provider, Property 5: Abort Signal Cancellation
@settings(max_examples=100)
@given(before=DELTAS, after=DELTAS, at=st.integers(0, 12), times=st.integers(1, 3))
async def test_a_signal_ends_the_prompt_with_one_abort_wherever_it_comes(
    before: list[TextDelta | ThinkingDelta],
    after: list[TextDelta | ThinkingDelta],
    at: int,
    times: int,
) -> None:
    at = min(at, len(before))
    provider = ScriptedProvider(script=[*before, anyio.Event(), *after, Finish("stop")])
    client, signal = client_over(provider), AbortSignal()
    seen: list[ChatEvent] = []
    with anyio.fail_after(10):
        async with client.chat("hi", signal=signal) as events:
            while True:
                if len(seen) == at:
                    for _ in range(times):
                        signal.abort()
                try:
                    seen.append(await anext(events))
                except (StopAsyncIteration, anyio.EndOfStream):
                    break
    assert ends(seen) == [seen[-1]]
    assert isinstance(seen[-1], chat_events.Finish)
    assert seen[-1].reason == "abort"
    assert sent_blocks(before)[:at] == reported_blocks(seen)[:at]
    assert reported_blocks(seen) == sent_blocks(before)[: len(reported_blocks(seen))]
    assert provider.open_streams == 0
    kept = client.conversation.messages[1:]
    assert [message.metadata.get("ended") for message in kept] == ["stopped"] * len(kept)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Whole turns of a question and an answer each."""
    turns = draw(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=4))
    return [message for q, a in turns for message in (Message("user", q), Message("assistant", a))]


# Feature: stage-02-core-provider, Property 27: Turn Initialization
@settings(max_examples=100)
@given(
    history=histories(),
    rounds=st.integers(0, 4),
    system=st.none() | st.text(min_size=1),
    seed=st.none() | st.integers(0, 9),
)
async def test_every_turn_begins_with_all_earlier_messages(
    history: list[Message], rounds: int, system: str | None, seed: int | None
) -> None:
    provider = Turns(*[wants(n) for n in range(rounds)], DONE)
    client = client_over(provider, FakeTools())
    conversation = client.conversation
    conversation.messages.extend(history)
    conversation.system_prompt, conversation.options = system, GenerationOptions(seed=seed)
    await ask(client)
    sent = [request.conversation for request in provider.requests]
    assert len(sent) == rounds + 1
    assert list(sent[0]) == [*history, Message("user", "hi")]
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier
        assert [message.role for message in later[len(earlier) :]] == ["assistant", "tool"]
    assert list(sent[-1]) == conversation.messages[:-1]
    assert {request.system_prompt for request in provider.requests} == {system}
    assert {request.options.seed for request in provider.requests} == {seed}


BROKEN = AIError(ErrorCode.ENGINE_ERROR, "Broken.", provider="scripted")


# Feature: stage-02-core-provider, Property 28: Event Collection Completeness
@settings(max_examples=100)
@given(
    events=st.lists(DELTA | st.just(None), max_size=12),
    end=st.sampled_from([Finish("stop"), Finish("length"), ErrorEvent(BROKEN)]),
    late=st.lists(DELTA | st.just(Finish("stop")), max_size=3),
)
async def test_a_turn_collects_everything_up_to_its_end_and_nothing_after_it(
    events: list[TextDelta | ThinkingDelta | None],
    end: Finish | ErrorEvent,
    late: list[ProviderEvent],
) -> None:
    script = [
        ToolCallEvent(ToolCall(id=f"c{n}", name="look", args={})) if event is None else event
        for n, event in enumerate(events)
    ]
    # A model that only calls what it does not have is asked again, and then ends.
    client = client_over(Turns([*script, end, *late], [end]))
    seen = await ask(client)
    assert reported_blocks(seen) == sent_blocks(script)
    assert ends(seen) == [seen[-1]]
    match end, seen[-1]:
        case Finish(reason=reason), chat_events.Finish(reason=reported_reason):
            assert reason == reported_reason
        case ErrorEvent(error=error), chat_events.ErrorEvent(error=reported_error):
            assert error == reported_error
        case _:
            raise AssertionError(seen[-1])
    calls = [event.call.id for event in script if isinstance(event, ToolCallEvent)]
    assert [call.id for m in client.conversation.messages for call in m.tool_calls] == calls


class Failing(Turns):
    """Raises where it is told to, once."""

    def __init__(self, place: str, error: BaseException, before: Sequence[ProviderEvent]) -> None:
        super().__init__([*before, *DONE])
        self.place, self.error, self.before = place, error, before

    def chat_stream(self, request: Request) -> ProviderStream:
        match self.place:
            case "call":
                raise self.error
            case "stream":
                assert isinstance(self.error, Exception)
                self.scripts = [[*self.before, self.error]]
            case "tool":
                self.scripts = [wants(1), DONE] if not self.requests else [DONE]
            case _:
                self.scripts = [[*self.before, *DONE]]
        return super().chat_stream(request)


class FailingTools(FakeTools):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def run(self, call: ToolCall) -> ToolResult:
        raise self.error


class FailingJournal(ListJournal):
    """Raises what no journal should, in one of its steps."""

    def __init__(self, step: str, error: Exception) -> None:
        super().__init__()
        self.step, self.error = step, error

    def _write(self, step: str, message: Message) -> None:
        if step.startswith(self.step) and message.role == "assistant":
            raise self.error
        super()._write(step, message)


ERRORS = st.sampled_from(
    [ValueError, TypeError, KeyError, OSError, RuntimeError, RecursionError, ExceptionGroup]
)
PLACES = st.sampled_from(["call", "stream", "tool", "begin", "update", "finish"])


# Feature: stage-02-core-provider, Property 35: Unexpected Error Resilience
@settings(max_examples=100)
@given(place=PLACES, kind=ERRORS, before=DELTAS, words=st.text())
async def test_anything_unexpected_is_one_error_event_and_the_next_prompt_is_answered(
    place: str, kind: type[Exception], before: list[ProviderEvent], words: str
) -> None:
    if kind is ExceptionGroup:
        error: Exception = ExceptionGroup(words, [ValueError(words)])
    else:
        error = kind(words)
    provider = Failing(place, error, before)
    journal = FailingJournal(place, error) if place in ("begin", "update", "finish") else None
    client = client_over(provider, FailingTools(error) if place == "tool" else None, journal)
    seen = await ask(client)
    assert ends(seen) == [seen[-1]]
    if isinstance(seen[-1], chat_events.ErrorEvent):
        assert seen[-1].error.code == ErrorCode.INTERNAL_ERROR
    else:  # an answer that was never handed over while it came fails nowhere
        assert place == "update"
    assert provider.open_streams == 0
    provider.place = "nowhere"
    if journal is not None:
        journal.step = "nothing"
    client.conversation.tools = ()
    assert (await ask(client))[-1] == chat_events.Finish(reason="stop")


class Counting(Turns):
    """Counts tokens, or says that it cannot."""

    can_count = True

    async def count_tokens(self, request: Request) -> int:
        if not self.can_count:
            raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "No counting here.")
        return 7


# Feature: stage-11-vllm-openai, Property 23: Graceful Feature Degradation
@settings(max_examples=100)
@given(
    counts=st.sampled_from(["yes", "refused", "missing"]),
    lists=st.booleans(),
    takes_tools=st.booleans(),
)
async def test_a_chat_goes_on_without_what_its_provider_cannot_do_and_tells(
    counts: str, lists: bool, takes_tools: bool
) -> None:
    no_tools = AIError(ErrorCode.UNSUPPORTED_FEATURE, "m does not support tools", status=400)
    answer: list[ProviderEvent] = [TextDelta("Final Answer: done\n"), Finish("stop")]
    first = DONE if takes_tools else [ErrorEvent(no_tools)]
    provider = (Turns if counts == "missing" else Counting)(first, answer)
    if isinstance(provider, Counting):
        provider.can_count = counts == "yes"
    provider.streaming_format = "sse"
    provider.models = [ModelInfo(name="m")]
    if not lists:
        provider.list_error = AIError(ErrorCode.UNSUPPORTED_FEATURE, "Cannot list.")
    remembered: list[tuple[str, str]] = []
    modes = ToolModes(remember=lambda ref, mode: remembered.append((ref, mode)))
    client = client_over(provider, FakeTools(), modes=modes)
    catalog = client._parts.router._catalog
    listing = await catalog.listing("scripted")
    assert (listing.problem is None) == lists
    seen = await ask(client)
    assert seen[-1] == chat_events.Finish(reason="stop")
    assert "".join(text for _, text in reported_blocks(seen)).strip() == "done"
    assert client.guard.state is not None
    assert client.guard.state.counted.estimated == (counts != "yes")
    assert remembered == ([] if takes_tools else [("scripted://m", "react")])
    assert modes.mode_of(ModelRef("scripted", "m"), None) == ("native" if takes_tools else "react")
    if not takes_tools:
        assert "look" in (provider.requests[-1].system_prompt or "")
