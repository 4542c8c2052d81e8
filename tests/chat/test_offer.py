"""What was not offered is not run, what was cut is not run, and no end is silent."""

import json
from collections.abc import Callable, Sequence

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode, ToolModes
from ollm_tui.chat.parts import ChatParts, KnowledgeOf
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.chat.prompt_run import CUT_CALL
from ollm_tui.decode.leaked_forms import ToolTag
from ollm_tui.models.family_facts import ModelKnowledge
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent, NoAnswer, ToolCallResult
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    MediaDelta,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from tests.chat.test_tools_in_chat import Turns
from tests.support.tools import AllowAll, ScriptedTool

Script = Sequence[ProviderEvent]


class Table:
    """A chat that knows two tools, of which `clock` alone is on offer."""

    def __init__(
        self,
        *scripts: Script,
        mode: ToolMode | None = None,
        tools: Sequence[str] = ("clock",),
        knowledge: KnowledgeOf | None = None,
    ) -> None:
        self.provider = Turns(*scripts)
        self.clock, self.secret = ScriptedTool("clock"), ScriptedTool("secret")
        self.approver = AllowAll()
        registry = ProviderRegistry()
        registry.register(self.provider)
        self.parts = ChatParts(
            router=Router(registry, ModelCatalog(registry)),
            tools=ToolRunner(ToolRegistry([self.clock, self.secret]), self.approver),
            modes=ToolModes(chosen={"scripted://m": mode} if mode else {}),
            knowledge=knowledge,
        )
        conversation = Conversation(model="scripted://m", tools=tuple(tools))
        self.client = ChatClient(self.parts, conversation)

    async def ask(self, options: ChatOptions | None = None) -> list[ChatEvent]:
        async with self.client.chat("hi", options) as events:
            return [event async for event in events]

    @property
    def asked(self) -> list[str]:
        return [call.name for call in self.approver.asked]


def native(name: str, reason: str = "tool_calls", args: str = "{}") -> Script:
    call = ToolCall(id="c1", name=name, args=json.loads(args), raw_args=args)
    return [ToolCallEvent(call), Finish(reason)]


def react(name: str, reason: str = "stop") -> Script:
    return [TextDelta(f"Thought: go.\nAction: {name}\nAction Input: {{}}\n"), Finish(reason)]


def tagged(name: str, reason: str = "stop") -> Script:
    body = json.dumps({"name": name, "arguments": {}})
    return [TextDelta(f"<tool_call>{body}</tool_call>"), Finish(reason)]


DONE: Script = [TextDelta("Done."), Finish("stop")]
REACT_DONE: Script = [TextDelta("Thought: ok.\nFinal Answer: Done."), Finish("stop")]


def results(events: Sequence[ChatEvent]) -> list[str]:
    return [event.result.content for event in events if isinstance(event, ToolCallResult)]


def no_answers(events: Sequence[ChatEvent]) -> list[str]:
    return [event.cause for event in events if isinstance(event, NoAnswer)]


@pytest.mark.parametrize(
    ("script", "after", "mode"),
    [(native, DONE, None), (react, REACT_DONE, "react"), (native, REACT_DONE, "react")],
)
async def test_a_call_outside_the_offer_is_answered_and_never_asked_about(
    script: Callable[..., Script], after: Script, mode: ToolMode | None
) -> None:
    table = Table(script("secret"), after, mode=mode)
    events = await table.ask()
    [reported] = results(events)
    assert reported == "Not run: the tool 'secret' is not offered. Offered: clock."
    assert table.asked == []
    assert table.secret.calls == []
    assert events[-1] == chat_events.Finish(reason="stop", turn=2)
    request = table.provider.requests[0]
    assert "secret" not in f"{request.tools} {request.system_prompt}"


async def test_a_leaked_call_outside_the_offer_stays_text() -> None:
    table = Table(tagged("secret"))
    events = await table.ask()
    shown = "".join(e.delta for e in events if isinstance(e, chat_events.TextDelta))
    assert '"secret"' in shown
    assert results(events) == []
    assert table.secret.calls == []


async def test_the_offer_of_a_prompt_counts_before_that_of_the_chat() -> None:
    table = Table(native("secret"), DONE, tools=("clock", "secret"))
    await table.ask(ChatOptions(tools=("clock",)))
    assert table.secret.calls == []
    table.provider.scripts = [native("secret"), DONE]
    await table.ask()
    assert len(table.secret.calls) == 1


async def test_what_is_switched_on_meanwhile_counts_from_the_next_prompt_on() -> None:
    table = Table(native("secret"), native("secret"), DONE)
    async with table.client.chat("hi") as events:
        async for event in events:
            if isinstance(event, ToolCallResult):
                table.client.conversation.tools = ("clock", "secret")
    assert table.secret.calls == []
    assert table.asked == []


async def test_a_change_to_tools_as_text_keeps_the_offer() -> None:
    refusal = AIError(ErrorCode.UNSUPPORTED_FEATURE, "m does not support tools")
    table = Table([ErrorEvent(refusal)], react("secret"), REACT_DONE)
    table.provider.streaming_format = "sse"
    [reported] = results(await table.ask())
    assert reported.endswith("Offered: clock.")
    assert table.secret.calls == []


async def test_with_nothing_on_offer_the_model_is_told_and_asked_once_more() -> None:
    table = Table(native("secret"), DONE, tools=())
    events = await table.ask()
    assert results(events) == ["Not run: no tools are offered. Answer without them."]
    assert no_answers(events) == []
    assert events[-1] == chat_events.Finish(reason="stop", turn=2)
    assert table.client.conversation.messages[-1].text == "Done."


async def test_a_model_that_goes_on_calling_what_is_not_offered_ends_the_prompt() -> None:
    table = Table(native("secret"), tools=())
    events = await table.ask()
    assert results(events) == ["Not run: no tools are offered. Answer without them."] * 2
    assert no_answers(events) == ["calls"]
    assert events[-1] == chat_events.Finish(reason="tool_calls", turn=2)
    assert len(table.provider.requests) == 2
    assert table.client.conversation.messages[-1].text == results(events)[0]


CUTS = ["length", "content_filter", "refusal", "error"]


@pytest.mark.parametrize("reason", CUTS)
@pytest.mark.parametrize(("script", "mode"), [(native, None), (tagged, None)])
async def test_a_call_of_a_cut_answer_is_not_run(
    script: Callable[..., Script], mode: ToolMode | None, reason: str
) -> None:
    table = Table(script("clock", reason), DONE, mode=mode)
    events = await table.ask()
    assert results(events) == [CUT_CALL]
    assert table.clock.calls == []
    assert table.asked == []
    assert no_answers(events) == ["calls"]
    assert events[-1] == chat_events.Finish(reason=reason)
    assert len(table.provider.requests) == 1
    assert table.client.conversation.messages[-1].text == CUT_CALL


@pytest.mark.parametrize("reason", CUTS)
async def test_an_action_of_a_cut_answer_is_not_run(reason: str) -> None:
    table = Table(react("clock", reason), mode="react")
    events = await table.ask()
    assert table.clock.calls == []
    assert no_answers(events) == ["thinking"]
    assert events[-1] == chat_events.Finish(reason=reason)


async def test_an_action_before_an_invented_observation_is_whole_wherever_the_rest_was_cut() -> (
    None
):
    action = "Thought: go.\nAction: clock\nAction Input: {}\nObservation: 12:00\nThought: and"
    table = Table([TextDelta(action), Finish("length")], REACT_DONE, mode="react")
    events = await table.ask()
    assert results(events) == ["done"]
    assert events[-1] == chat_events.Finish(reason="stop", turn=2)


@pytest.mark.parametrize("reason", [reason for reason in CUTS if reason != "length"])
async def test_no_action_runs_where_the_server_gave_up_or_stepped_in(reason: str) -> None:
    action = "Thought: go.\nAction: clock\nAction Input: {}\nObservation: 12:00\nThought: and"
    table = Table([TextDelta(action), Finish(reason)], REACT_DONE, mode="react")
    events = await table.ask()
    assert table.clock.calls == []
    assert events[-1] == chat_events.Finish(reason=reason)


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "pause", "function_calls", ""])
async def test_other_reasons_do_not_keep_a_call_from_running(reason: str) -> None:
    table = Table(native("clock", reason), DONE)
    assert results(await table.ask()) == ["done"]


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ([Finish("stop")], "empty"),
        ([TextDelta(" \n"), Finish("stop")], "empty"),
        ([TextDelta("wrong place", index=1), Finish("stop")], "empty"),
        ([ThinkingDelta("Rivers."), Finish("stop")], "thinking"),
        ([ThinkingDelta("", signature="s", signer="x", sealed=True), Finish("stop")], "thinking"),
        ([ThinkingDelta("Rivers."), TextDelta("\n\n"), Finish("length")], "thinking"),
    ],
)
async def test_an_end_without_an_answer_is_reported_once_before_the_turn_ends(
    script: Script, cause: str
) -> None:
    events = await Table(script).ask()
    assert no_answers(events) == [cause]
    assert [type(event).__name__ for event in events[-3:]] == ["NoAnswer", "TurnComplete", "Finish"]


@pytest.mark.parametrize(
    "script",
    [
        DONE,
        [ThinkingDelta("Rivers."), TextDelta("Danube."), Finish("stop")],
        [MediaDelta(modality="image", data=b"x"), Finish("stop")],
        [ErrorEvent(AIError(ErrorCode.BAD_REQUEST, "No."))],
        [Finish("abort")],
    ],
)
async def test_an_answer_a_failure_and_a_stop_are_no_silent_ends(script: Script) -> None:
    assert no_answers(await Table(script).ask()) == []


async def test_silence_after_a_tool_is_reported_too() -> None:
    events = await Table([TextDelta("Let me look."), *native("clock")], [Finish("stop")]).ask()
    assert no_answers(events) == ["empty"]


async def test_a_call_is_read_in_the_form_of_the_model_s_family() -> None:
    asked: list[str] = []

    def knowledge(name: str, _info: ModelInfo | None) -> ModelKnowledge:
        asked.append(name)
        return ModelKnowledge(name=name, tool_tags=(ToolTag("<act>", ("</act>",)),))

    written = TextDelta('<act>{"name": "clock", "arguments": {}}</act>')
    done: Script = [TextDelta("It is noon."), Finish("stop")]
    table = Table([written, Finish("stop")], done, knowledge=knowledge)
    await table.ask()
    assert (table.asked, asked) == (["clock"], ["m"])
    without = Table([written, Finish("stop")], tools=(), knowledge=knowledge)
    await without.ask()
    assert asked == ["m"], "without tools nothing is looked up"
