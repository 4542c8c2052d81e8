"""Prompts that take tools: turns, limits, stops, and what the history then holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolModes
from ollm_tui.chat.parts import ChatLimits, ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.chat.tool_loop import OffersTools, ToolOffer
from ollm_tui.chat.turn import Turn
from ollm_tui.protocol import chat_events, provider_events
from ollm_tui.protocol.chat_events import ChatEvent, ToolCallResult, ToolCallStart
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import Finish, ProviderEvent, TextDelta, ToolCallEvent
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall, ToolOutput, ToolResult, ToolSchema
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from tests.support.providers import ScriptedProvider
from tests.support.tools import AllowAll, Offered, ScriptedTool

Behaviour = Callable[[ToolCall], "str | anyio.Event"]


@dataclass
class FakeTools:
    """Answers each call with a text; an event is waited for and never set."""

    behaviour: Behaviour = lambda call: f"result of {call.id}"
    started: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    together: int = 0
    _barrier: anyio.Event = field(default_factory=anyio.Event)

    def offer(self, names: Sequence[str]) -> ToolOffer:
        return Offered(tuple(ToolSchema(name=name) for name in names), self.run)

    async def run(self, call: ToolCall) -> ToolResult:
        self.started.append(call.id)
        if len(self.started) >= self.together:
            self._barrier.set()
        await self._barrier.wait()
        made = self.behaviour(call)
        if isinstance(made, anyio.Event):
            await made.wait()
            raise AssertionError("never set")
        self.ended.append(call.id)
        return ToolResult(call_id=call.id, name=call.name, content=made)


class Turns(ScriptedProvider):
    """Plays one script a request, the last one again and again."""

    def __init__(self, *scripts: Sequence[ProviderEvent | anyio.Event | Exception]) -> None:
        super().__init__()
        self.scripts = [*scripts]

    def chat_stream(self, request: Request) -> ProviderStream:
        self.script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        return super().chat_stream(request)


def call(number: int, name: str = "look") -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, args={})


def wants(*numbers: int) -> list[ProviderEvent]:
    return [*(ToolCallEvent(call(n)) for n in numbers), Finish("tool_calls")]


DONE: list[ProviderEvent] = [TextDelta("done"), Finish("stop")]


def client_over(
    provider: ScriptedProvider, tools: OffersTools, limits: ChatLimits | None = None
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    router = Router(registry, ModelCatalog(registry))
    parts = ChatParts(router=router, tools=tools, limits=limits or ChatLimits())
    return ChatClient(parts, Conversation(model="scripted://m", tools=("look",)))


async def ask(client: ChatClient, signal: AbortSignal | None = None) -> list[ChatEvent]:
    async with client.chat("hi", signal=signal) as events:
        return [event async for event in events]


def shape(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [
        (m.role, m.tool_call_id or ",".join(c.id for c in m.tool_calls) or m.text) for m in messages
    ]


async def test_a_tools_result_goes_back_to_the_model_which_then_answers() -> None:
    provider, tools = Turns(wants(1), DONE), FakeTools()
    client = client_over(provider, tools)
    events = await ask(client)
    assert [type(event).__name__ for event in events] == [
        "ToolCallStart",
        "ToolCallResult",
        "TurnComplete",
        "TextDelta",
        "TurnComplete",
        "Finish",
    ]
    sent = provider.requests[1].messages
    assert sent is not None
    assert shape(sent) == [("user", "hi"), ("assistant", "c1"), ("tool", "c1")]
    assert sent[-1].text == "result of c1"
    assert shape(client.conversation.messages)[-1] == ("assistant", "done")


@settings(max_examples=100)
@given(results=st.lists(st.text(), min_size=1, max_size=5))
async def test_results_continue_the_conversation_as_tool_messages(results: list[str]) -> None:
    # Feature: stage-02-core-provider, Property 7: Tool Result Continuation
    # Feature: stage-02-core-provider, Property 31: Tool Message Name Field
    # Feature: stage-02-core-provider, Property 29: Conversation History Update
    provider = Turns(wants(*range(len(results))), DONE)
    tools = FakeTools(behaviour=lambda made: results[int(made.id[1:])])
    client = client_over(provider, tools)
    await ask(client)
    sent = provider.requests[1].messages
    assert sent is not None
    reported = [message for message in sent if message.role == "tool"]
    assert [message.text for message in reported] == results
    assert all(message.name == "look" for message in reported)
    assert client.conversation.messages[:-1] == list(sent)


@settings(max_examples=100)
@given(count=st.integers(min_value=2, max_value=20))
async def test_calls_of_one_turn_run_at_the_same_time(count: int) -> None:
    # Feature: stage-02-core-provider, Property 8: Parallel Tool Execution
    # No call ends before all have begun: the tools wait for each other.
    tools = FakeTools(together=count)
    with anyio.fail_after(10):
        events = await ask(client_over(Turns(wants(*range(count)), DONE), tools))
    assert len(tools.ended) == count
    kinds = [type(e) for e in events if isinstance(e, ToolCallStart | ToolCallResult)]
    assert kinds == [ToolCallStart] * count + [ToolCallResult] * count


@settings(max_examples=100)
@given(order=st.permutations(range(6)))
async def test_results_are_reported_as_they_come_and_kept_in_call_order(order: list[int]) -> None:
    # Feature: stage-02-core-provider, Property 6: Tool Call Queuing and Execution
    gates = [anyio.Event() for _ in order]

    class Ordered(FakeTools):
        async def run(self, made: ToolCall) -> ToolResult:
            await gates[int(made.id[1:])].wait()
            return ToolResult(call_id=made.id, name=made.name, content="x")

    client = client_over(Turns(wants(*range(6)), DONE), Ordered())
    reported: list[str] = []
    async with client.chat("hi") as events:
        async for event in events:
            if isinstance(event, ToolCallStart) and event.call.id == "c5":
                gates[order[0]].set()
            if isinstance(event, ToolCallResult):
                reported.append(event.call.id)
                if len(reported) < 6:
                    gates[order[len(reported)]].set()
    assert reported == [f"c{n}" for n in order]
    kept = [m.tool_call_id for m in client.conversation.messages if m.role == "tool"]
    assert kept == [f"c{n}" for n in range(6)]


@settings(max_examples=100)
@given(most=st.integers(min_value=1, max_value=6))
async def test_a_model_that_always_wants_tools_is_stopped_at_the_limit(most: int) -> None:
    # Feature: stage-02-core-provider, Property 9: Maximum Turn Limit
    provider, tools = Turns(wants(1)), FakeTools()
    client = client_over(provider, tools, ChatLimits(max_turns=most))
    events = await ask(client)
    assert events[-1] == chat_events.Finish(reason="max_turns", turn=most)
    assert len(provider.requests) == most
    ends = [e for e in events if isinstance(e, chat_events.Finish | chat_events.ErrorEvent)]
    assert len(ends) == 1


async def test_an_answer_at_the_last_turn_is_no_max_turns() -> None:
    client = client_over(Turns(wants(1), DONE), FakeTools(), ChatLimits(max_turns=2))
    assert (await ask(client))[-1] == chat_events.Finish(reason="stop", turn=2)


async def test_going_on_after_the_limit_needs_no_new_question() -> None:
    provider = Turns(wants(1), wants(2), DONE)
    client = client_over(provider, FakeTools(), ChatLimits(max_turns=2))
    assert (await ask(client))[-1] == chat_events.Finish(reason="max_turns", turn=2)
    async with client.go_on() as events:
        assert [e async for e in events][-1] == chat_events.Finish(reason="stop", turn=1)
    assert [m.role for m in client.conversation.messages].count("user") == 1


async def test_the_call_over_the_limit_is_refused_with_a_reason() -> None:
    tools = FakeTools()
    client = client_over(Turns(wants(*range(65)), DONE), tools)
    events = await ask(client)
    results = [e.result for e in events if isinstance(e, ToolCallResult)]
    assert len(results) == 65
    assert len(tools.ended) == 64
    [refused] = [r for r in results if r.is_error]
    assert refused.call_id == "c64"
    assert "64 calls in one turn" in refused.content


async def test_a_signal_in_the_tools_stops_all_and_every_call_has_one_result() -> None:
    tools = FakeTools(behaviour=lambda made: "quick" if made.id == "c0" else anyio.Event())
    client, signal = client_over(Turns(wants(0, 1, 2), DONE), tools), AbortSignal()
    seen: list[ChatEvent] = []
    async with client.chat("hi", signal=signal) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ToolCallResult) and event.call.id == "c0":
                signal.abort()
    assert seen[-1] == chat_events.Finish(reason="abort", turn=1)
    kept = client.conversation.messages[2:]
    assert shape(kept) == [("tool", "c0"), ("tool", "c1"), ("tool", "c2")]
    assert [m.text for m in kept] == ["quick", "Stopped by the user.", "Stopped by the user."]


async def test_a_cancellation_in_the_tools_leaves_a_result_for_every_call() -> None:
    tools = FakeTools(behaviour=lambda _made: anyio.Event())
    client = client_over(Turns(wants(0, 1), DONE), tools)
    with anyio.CancelScope() as scope:
        async with client.chat("hi") as events:
            async for event in events:
                if isinstance(event, ToolCallStart) and event.call.id == "c1":
                    scope.cancel()
    assert scope.cancelled_caught
    assert shape(client.conversation.messages)[2:] == [("tool", "c0"), ("tool", "c1")]
    client._parts = ChatParts(router=client._parts.router)
    assert (await ask(client))[-1] == chat_events.Finish(reason="stop", turn=1)


async def test_calls_with_tools_off_never_run_and_get_a_result() -> None:
    tools = FakeTools()
    client = client_over(Turns(wants(1)), tools)
    async with client.chat("hi", ChatOptions(tools=())) as events:
        last = [event async for event in events][-1]
    assert tools.started == []
    assert last == chat_events.Finish(reason="tool_calls", turn=2)  # it was told once
    assert shape(client.conversation.messages)[-1] == ("tool", "c1-2")


async def test_a_later_failure_never_runs_a_finished_tool_again() -> None:
    error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Busy.")
    provider, tools = Turns(wants(1), [provider_events.ErrorEvent(error)]), FakeTools()
    client = client_over(provider, tools)
    assert isinstance((await ask(client))[-1], chat_events.ErrorEvent)
    provider.scripts = [DONE]
    async with client.go_on() as events:
        assert [e async for e in events][-1] == chat_events.Finish(reason="stop")
    assert tools.started == ["c1"]


async def test_a_prompt_that_takes_too_long_ends_with_one_error() -> None:
    tools = FakeTools(behaviour=lambda _made: anyio.Event())
    client = client_over(Turns(wants(1)), tools, ChatLimits(prompt_s=0.2))
    last = (await ask(client))[-1]
    assert isinstance(last, chat_events.ErrorEvent)
    assert last.error.code == ErrorCode.TIMEOUT
    assert shape(client.conversation.messages)[-1] == ("tool", "c1")
    assert client.conversation.messages[-1].text == "Stopped before it ended."  # by nobody


def test_a_model_without_tool_use_gets_its_tools_as_text() -> None:
    modes, ref = ToolModes(chosen={"b": "native"}), ModelRef("p", "a")
    text = frozenset({"text"})
    assert modes.mode_of(ref, None) == "native"
    assert modes.mode_of(ref, ModelInfo(name="a")) == "native"
    plain = ModelInfo(name="a", capability=ModelCapability(text, text, frozenset({"stream"})))
    able = ModelInfo(name="a", capability=ModelCapability(text, text, frozenset({"tool_use"})))
    assert modes.mode_of(ref, plain) == "react"
    assert modes.mode_of(ref, able) == "native"
    assert modes.mode_of(ModelRef("p", "b"), plain) == "native"


def test_a_refusal_of_tools_is_remembered_and_other_errors_are_not() -> None:
    reported: list[tuple[str, str]] = []
    modes = ToolModes(remember=lambda address, mode: reported.append((address, mode)))
    ref = ModelRef("p", "a")
    assert not modes.learn_from(ref, AIError(ErrorCode.UNSUPPORTED_FEATURE, "No streaming."))
    assert not modes.learn_from(ref, AIError(ErrorCode.BAD_REQUEST, "tools?"))
    assert modes.learn_from(ref, AIError(ErrorCode.UNSUPPORTED_FEATURE, "No support for tools."))
    assert modes.mode_of(ref, None) == "react"
    assert reported == [("p://a", "react")]


@pytest.mark.parametrize("count", [1, 4])
async def test_blocks_of_calls_are_unique(count: int) -> None:
    events = await ask(client_over(Turns(wants(*range(count)), DONE), FakeTools()))
    blocks = [e.block for e in events if isinstance(e, ToolCallStart)]
    assert len(set(blocks)) == count


async def test_an_id_that_a_server_uses_again_is_made_unique_in_the_conversation() -> None:
    provider, tools = Turns(wants(0), wants(0), DONE), FakeTools()
    client = client_over(provider, tools)
    await ask(client)
    assert tools.started == ["c0", "c0-2"]
    kept = [m.tool_call_id for m in client.conversation.messages if m.role == "tool"]
    assert kept == ["c0", "c0-2"]


async def test_asking_again_runs_tools_again_although_the_server_reuses_ids() -> None:
    runs: list[int] = []

    async def work(_args: JsonObject) -> ToolOutput:
        runs.append(len(runs))
        return ToolOutput(f"run {runs[-1]}")

    provider = Turns(wants(0), DONE, wants(0), DONE, wants(0), DONE)
    approver, look = AllowAll(), ScriptedTool("look", work)
    runner = ToolRunner(ToolRegistry([look]), approver)
    client = client_over(provider, runner)
    await ask(client)
    for _ in range(2):
        async with client.retry() as events:
            assert [e async for e in events][-1] == chat_events.Finish(reason="stop", turn=2)
    assert [call.id for call in approver.asked] == ["c0", "c0-2", "c0-3"]
    assert [m.text for m in client.conversation.messages if m.role == "tool"] == ["run 2"]


class Counted(set[str]):
    """Counts how often it is asked whether it holds something."""

    asked = 0

    def __contains__(self, item: object) -> bool:
        self.asked += 1
        return super().__contains__(item)


@pytest.mark.parametrize("used", [[], ["c1", "c1-2", "c1-7"]])
async def test_any_number_of_calls_with_one_id_get_their_own_with_a_look_or_two_each(
    used: list[str],
) -> None:
    request = Request(model="m", messages=(Message("user", "hi"),))
    turn = Turn(Turns(wants(*[1] * 500)), request, number=1, next_block=lambda: "b", used_ids=used)
    turn._used_ids = looked_up = Counted(used)

    async def emit(_event: ChatEvent) -> None:
        """Show it to nobody."""

    await turn.run(emit)
    ids = [call.id for call in turn.calls]
    assert len(set(ids)) == 500
    assert set(ids).isdisjoint(used)
    assert looked_up.asked <= 2 * 500 + len(used)
