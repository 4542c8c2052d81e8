"""Tools for models that cannot call natively: ReAct, leaked calls, and switching between."""

from collections.abc import Sequence

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode, ToolModes
from ollm_tui.chat.parts import ChatLimits, ChatParts
from ollm_tui.chat.tool_loop import ToolOffer
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent, ToolCallResult
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)
from ollm_tui.protocol.tools import ToolCall, ToolResult, ToolSchema
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.chat.test_tools_in_chat import Turns
from tests.support.providers import ScriptedProvider
from tests.support.tools import Offered

WEATHER = ToolSchema(
    name="weather",
    description="Weather of a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
)


class Weather:
    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def offer(self, names: Sequence[str]) -> ToolOffer:
        return Offered((WEATHER,) if "weather" in names else (), self.run)

    async def run(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        return ToolResult(call_id=call.id, name=call.name, content="sunny")


def client_over(
    provider: ScriptedProvider, tools: Weather, mode: ToolMode | None = None
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    chosen = {"scripted://m": mode} if mode else {}
    parts = ChatParts(
        router=Router(registry, ModelCatalog(registry)),
        tools=tools,
        modes=ToolModes(chosen=chosen),
        limits=ChatLimits(corrections=2),
    )
    return ChatClient(parts, Conversation(model="scripted://m", tools=("weather",)))


async def ask(client: ChatClient, prompt: str = "hi") -> list[ChatEvent]:
    async with client.chat(prompt) as events:
        return [event async for event in events]


def says(*pieces: str) -> list[ProviderEvent | anyio.Event | Exception]:
    return [*(TextDelta(piece) for piece in pieces), Finish("stop")]


STEP = 'Thought: I need the weather.\nAction: weather\nAction Input: {"city": "Wien"}\n'
ANSWER = "Thought: I know.\nFinal Answer: It is sunny.\n"


async def test_a_react_turn_runs_its_action_and_shows_no_scaffolding() -> None:
    provider, tools = Turns(says(*STEP), says(*ANSWER)), Weather()
    client = client_over(provider, tools, "react")
    events = await ask(client)
    thought = "".join(e.delta for e in events if isinstance(e, chat_events.ThinkingDelta))
    answer = "".join(e.delta for e in events if isinstance(e, chat_events.TextDelta))
    assert "I need the weather." in thought
    assert answer.strip() == "It is sunny."
    assert [(c.name, c.args) for c in tools.calls] == [("weather", {"city": "Wien"})]
    assert events[-1] == chat_events.Finish(reason="stop", turn=2)


async def test_react_requests_hold_instructions_stop_and_observations_and_no_native_tools() -> None:
    provider, tools = Turns(says(STEP), says(ANSWER)), Weather()
    client = client_over(provider, tools, "react")
    await ask(client)
    first, second = provider.requests
    assert first.tools == ()
    assert "weather" in (first.system_prompt or "")
    assert first.options.stop == ("\nObservation:",)
    assert second.messages is not None
    assert not any(m.tool_calls or m.role == "tool" for m in second.messages)
    prompt_text = "\n".join(message.text for message in second.messages)
    assert "Action: weather" in prompt_text
    assert 'Observation: "sunny"' in prompt_text or "Observation: sunny" in prompt_text


async def test_the_history_of_a_react_chat_is_ordinary_so_that_the_model_can_be_switched() -> None:
    provider, tools = Turns(says(STEP), says(ANSWER)), Weather()
    client = client_over(provider, tools, "react")
    await ask(client)
    question, called, result, answer = client.conversation.messages
    assert question.role == "user"
    assert [call.name for call in called.tool_calls] == ["weather"]
    assert (result.role, result.name, result.text) == ("tool", "weather", "sunny")
    assert answer.text == "It is sunny."


async def test_a_turn_that_cannot_be_read_is_sent_back_with_a_correction_at_most_twice() -> None:
    lost = "Thought: hm.\nAction: weather\n"
    provider, tools = Turns(says(lost), says(lost), says(lost), says(ANSWER)), Weather()
    client = client_over(provider, tools, "react")
    events = await ask(client)
    corrections = [m for m in client.conversation.messages if m.metadata.get("correction")]
    assert len(corrections) == 2
    assert all(message.role == "user" for message in corrections)
    assert len(provider.requests) == 3
    assert isinstance(events[-1], chat_events.Finish)


async def test_asking_again_drops_the_corrections_with_the_answer() -> None:
    provider = Turns(says("Thought: hm.\nAction: weather\n"), says(ANSWER))
    client = client_over(provider, Weather(), "react")
    await ask(client)
    assert [m.role for m in client.conversation.messages].count("user") == 2
    async with client.retry() as events:
        assert [e async for e in events]
    assert [m.text for m in client.conversation.messages if m.role == "user"] == ["hi"]


async def test_an_input_that_is_no_json_is_never_run_and_the_model_is_informed() -> None:
    broken = "Thought: go.\nAction: weather\nAction Input: city = Wien\n"
    provider = Turns(says(broken), says(ANSWER))

    class Refusing(Weather):
        async def run(self, call: ToolCall) -> ToolResult:
            assert call.args is None
            return ToolResult(call_id=call.id, name=call.name, content="No JSON.", is_error=True)

    events = await ask(client_over(provider, Refusing(), "react"))
    [result] = [event for event in events if isinstance(event, ToolCallResult)]
    assert result.result.is_error


async def test_a_call_that_leaked_as_text_is_run_and_not_shown() -> None:
    leaked = '{"name": "weather", "arguments": {"city": "Wien"}}'
    provider, tools = Turns(says(*leaked), says("It is sunny.")), Weather()
    events = await ask(client_over(provider, tools))
    assert [call.args for call in tools.calls] == [{"city": "Wien"}]
    shown = "".join(e.delta for e in events if isinstance(e, chat_events.TextDelta))
    assert shown == "It is sunny."


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "weather", "arguments": {"town": 3}}',
        '{"name": "other", "arguments": {}}',
        'Use {"name": "weather", "arguments": {"city": "Wien"}} to ask.',
    ],
)
async def test_text_that_is_no_valid_call_stays_text(text: str) -> None:
    tools = Weather()
    events = await ask(client_over(Turns(says(*text)), tools))
    assert tools.calls == []
    assert "".join(e.delta for e in events if isinstance(e, chat_events.TextDelta)) == text


async def test_a_call_in_the_reasoning_is_no_call() -> None:
    tools = Weather()
    leaked = '<tool_call>{"name": "weather", "arguments": {"city": "Wien"}}</tool_call>'
    provider = Turns([ThinkingDelta(leaked), TextDelta("No."), Finish("stop")])
    await ask(client_over(provider, tools))
    assert tools.calls == []


async def test_a_leaked_call_with_tools_off_stays_text() -> None:
    leaked = '{"name": "weather", "arguments": {"city": "Wien"}}'
    tools = Weather()
    client = client_over(Turns(says(leaked)), tools)
    client.conversation.tools = ()
    await ask(client)
    assert tools.calls == []
    assert client.conversation.last_answer() == leaked


async def test_a_server_that_refuses_tools_is_asked_again_in_text_and_from_then_on() -> None:
    refusal = AIError(ErrorCode.UNSUPPORTED_FEATURE, '"m" does not support tools.')
    provider, tools = Turns([ErrorEvent(refusal)], says(STEP), says(ANSWER)), Weather()
    provider.streaming_format = "sse"
    client = client_over(provider, tools)
    events = await ask(client)
    assert isinstance(events[-1], chat_events.Finish)
    assert [request.tools == () for request in provider.requests] == [False, True, True]
    assert len(tools.calls) == 1
    [note] = [event for event in events if isinstance(event, chat_events.Retrying)]
    assert (note.error, note.wait_s) == (refusal, 0)
    assert note.instead == "The tools are described to the model in text instead."


async def test_a_cut_react_turn_runs_nothing() -> None:
    error = AIError(ErrorCode.STREAM_INCOMPLETE, "Cut.")
    tools = Weather()
    client = client_over(Turns([TextDelta(STEP), ErrorEvent(error)]), tools, "react")
    await ask(client)
    assert tools.calls == []


async def test_answers_are_not_marked_as_final_for_a_model_without_tools() -> None:
    provider = ScriptedProvider(script=[TextDelta("Hello."), Finish("stop")])
    client = client_over(provider, Weather(), mode="react")
    client.conversation.tools = ()
    for prompt in ("hi", "again"):
        async with client.chat(prompt) as events:
            assert [event async for event in events]
    sent = [message.text for message in provider.requests[-1].conversation]
    assert sent == ["hi", "Hello.", "again"]
