"""The loop of tools in the person's hands: each call cancelled alone, the limit, an answer now."""

from collections.abc import Callable

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.parts import ChatLimits
from ollm_tui.chat.prompt import WRAP_UP, ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ToolCallResult, ToolCallStart
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import COMMAND, Message
from ollm_tui.protocol.tools import CANCELLED, ToolEffect, ToolOutput
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from tests.chat.test_tools_in_chat import DONE, FakeTools, Turns, ask, client_over, shape, wants
from tests.support.tools import AllowAll, ScriptedTool


async def outcomes_of(client: ChatClient, act: Callable[[ToolCallStart], None]) -> dict[str, str]:
    seen: dict[str, str] = {}
    async with client.chat("hi") as events:
        async for event in events:
            if isinstance(event, ToolCallStart):
                act(event)
            if isinstance(event, ToolCallResult):
                seen[event.call.id] = event.result.outcome
    return seen


@settings(max_examples=100)
@given(marks=st.lists(st.booleans(), min_size=2, max_size=8).filter(any))
async def test_a_call_is_cancelled_alone_and_every_other_one_ends_by_itself(
    marks: list[bool],
) -> None:
    count, gone = len(marks), {number for number, mark in enumerate(marks) if mark}
    open_gates = {f"c{n}" for n in gone}
    tools = FakeTools(
        behaviour=lambda made: anyio.Event() if made.id in open_gates else "whole",
        together=count,
    )
    provider = Turns(wants(*range(count)), DONE)
    client = client_over(provider, tools)
    started: list[str] = []

    def act(event: ToolCallStart) -> None:
        started.append(event.call.id)
        if len(started) == count:
            for call_id in sorted(open_gates):
                assert client.cancel_call(call_id)

    with anyio.fail_after(10):
        seen = await outcomes_of(client, act)
    assert seen == {f"c{n}": "stopped" if n in gone else "done" for n in range(count)}
    kept = [m for m in client.conversation.messages if m.role == "tool"]
    assert [m.tool_call_id for m in kept] == [f"c{n}" for n in range(count)]
    assert [m.text for m in kept] == [CANCELLED if n in gone else "whole" for n in range(count)]
    sent = provider.requests[1].messages
    assert sent is not None
    assert [m.text for m in sent if m.role == "tool"] == [m.text for m in kept]
    assert client.running_calls == ()
    assert not any(client.cancel_call(f"c{n}") for n in range(count))


@pytest.mark.parametrize("effect", ["read", "write", "run", "network"])
async def test_what_had_ended_when_it_was_cancelled_is_reported_as_it_is(
    effect: ToolEffect,
) -> None:
    """Work that cannot be interrupted, such as the writing of a file, is never called undone."""
    began, may_end = anyio.Event(), anyio.Event()

    async def writes(_args: JsonObject) -> ToolOutput:
        with anyio.CancelScope(shield=True):
            began.set()
            await may_end.wait()
        return ToolOutput("written")

    registry = ToolRegistry([ScriptedTool("look", writes, effect=effect)])
    client = client_over(Turns(wants(1), DONE), ToolRunner(registry, AllowAll()))
    results: list[ToolCallResult] = []

    async def cancel() -> None:
        await began.wait()
        [running] = client.running_calls
        assert client.cancel_call(running.call.id)
        may_end.set()

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        async with client.chat("hi") as events:
            results += [event async for event in events if isinstance(event, ToolCallResult)]
    assert [(one.result.outcome, one.result.content) for one in results] == [("done", "written")]


async def test_a_question_that_is_open_is_withdrawn_with_its_call() -> None:
    class NeverAnswers(AllowAll):
        async def approve(self, call, tool):  # type: ignore[no-untyped-def]
            self.asked.append(call)
            await anyio.sleep_forever()

    approver, tool = NeverAnswers(), ScriptedTool("look")
    client = client_over(Turns(wants(1), DONE), ToolRunner(ToolRegistry([tool]), approver))
    seen: dict[str, str] = {}

    async def cancel() -> None:
        while not approver.asked:
            await anyio.lowlevel.checkpoint()
        assert client.cancel_call("c1")

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        seen |= await outcomes_of(client, lambda _event: None)
    assert (seen, tool.calls) == ({"c1": "stopped"}, [])


@pytest.mark.parametrize(("turns", "asked"), [(1, 1), (3, 3), (None, 2)])
async def test_after_the_limit_it_goes_on_for_as_many_turns_as_were_given(
    turns: int | None, asked: int
) -> None:
    provider = Turns(wants(1))
    client = client_over(provider, FakeTools(), ChatLimits(max_turns=2))
    await ask(client)
    provider.requests.clear()
    async with client.go_on(ChatOptions(max_turns=turns)) as events:
        last = [event async for event in events][-1]
    assert last == chat_events.Finish(reason="max_turns", turn=asked)
    assert len(provider.requests) == asked


async def test_what_was_read_before_the_limit_counts_after_it() -> None:
    """Else an address could pass on without a question what the model has read."""
    had_read: list[bool] = []

    class Prepares(ScriptedTool):
        async def prepare(self, _args: JsonObject, scope: CallScope) -> "Prepares":
            had_read.append(scope.has_untrusted_input)
            return self

    registry = ToolRegistry([Prepares("look")])
    provider = Turns(wants(1), wants(2), DONE, wants(3), DONE)
    client = client_over(provider, ToolRunner(registry, AllowAll()), ChatLimits(max_turns=1))
    await ask(client)
    async with client.go_on(ChatOptions(max_turns=2)) as events:
        assert [event async for event in events][-1] == chat_events.Finish(reason="stop", turn=2)
    await ask(client)  # another prompt
    assert had_read == [False, True, False]


@pytest.mark.parametrize("is_continued", [True, False])
async def test_the_output_of_a_command_of_the_user_counts_as_read(is_continued: bool) -> None:
    had_read: list[bool] = []

    class Prepares(ScriptedTool):
        async def prepare(self, _args: JsonObject, scope: CallScope) -> "Prepares":
            had_read.append(scope.has_untrusted_input)
            return self

    runner = ToolRunner(ToolRegistry([Prepares("look")]), AllowAll())
    provider = Turns(wants(1), wants(2), DONE)
    client = client_over(provider, runner, ChatLimits(max_turns=1))
    await ask(client)
    await client.add(Message("user", "$ ls", metadata={COMMAND: {"command": "ls"}}))
    if is_continued:
        async with client.go_on(ChatOptions(max_turns=2)) as events:
            assert [event async for event in events]
    else:
        await ask(client)
    assert had_read == [False, True]


async def test_wrapping_up_asks_for_an_answer_without_tools() -> None:
    provider = Turns(wants(1), wants(2), DONE)
    client = client_over(provider, FakeTools(), ChatLimits(max_turns=2))
    await ask(client)
    async with client.go_on(ChatOptions(tools=(), wraps_up=True)) as events:
        assert [event async for event in events][-1] == chat_events.Finish(reason="stop")
    sent = provider.requests[-1]
    assert sent.tools == ()
    assert sent.messages is not None
    assert shape(sent.messages)[-2:] == [("tool", "c2"), ("user", WRAP_UP)]
    assert client.conversation.messages[-2].metadata == {"correction": True}
    assert shape(client.conversation.messages)[-1] == ("assistant", "done")


async def test_a_model_that_calls_without_having_tools_is_told_and_may_answer() -> None:
    provider = Turns(wants(1), DONE)
    client = client_over(provider, FakeTools(), ChatLimits(max_turns=1))
    async with client.chat("hi", ChatOptions(tools=())) as events:
        seen = [event async for event in events]
    assert not [one for one in seen if isinstance(one, chat_events.NoAnswer)]
    assert seen[-1] == chat_events.Finish(reason="stop", turn=2)
    sent = provider.requests[-1].messages
    assert sent is not None
    assert shape(sent) == [("user", "hi"), ("assistant", "c1"), ("tool", "c1")]


async def test_one_that_calls_again_all_the_same_ends_without_an_answer() -> None:
    provider = Turns(wants(1))
    client = client_over(provider, FakeTools())
    async with client.chat("hi", ChatOptions(tools=())) as events:
        seen = [event async for event in events]
    assert [one.cause for one in seen if isinstance(one, chat_events.NoAnswer)] == ["calls"]
    assert len(provider.requests) == 2
