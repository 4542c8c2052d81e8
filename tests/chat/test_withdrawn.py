"""An answer that tells late which part of it is thinking is shown and saved once."""

from collections.abc import Sequence

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode, ToolModes
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.chat_events import ChatEvent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import (
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    Withdrawn,
)
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.chat.test_saving import ListJournal
from tests.support.providers import ScriptedProvider
from tests.support.tools import ScriptedTool, runner_for

CALL = '<tool_call>{"name": "clock", "arguments": {}}</tool_call>'


def client_over(
    *script: ProviderEvent, mode: ToolMode = "native"
) -> tuple[ChatClient, ListJournal]:
    registry, journal = ProviderRegistry(), ListJournal()
    registry.register(ScriptedProvider(script=script))
    parts = ChatParts(
        router=Router(registry, ModelCatalog(registry)),
        tools=runner_for(ScriptedTool("clock")),
        modes=ToolModes(chosen={"m": mode}),
    )
    return ChatClient(
        parts, Conversation(model="scripted://m", tools=("clock",)), journal=journal
    ), journal


async def ask(client: ChatClient, options: ChatOptions | None = None) -> list[ChatEvent]:
    async with client.chat("2+2?", options) as events:
        return [event async for event in events]


def shown(events: Sequence[ChatEvent]) -> list[tuple[str, str]]:
    """What a front end has in the end: each block with its kind and text."""
    blocks: dict[str, tuple[str, str]] = {}
    for event in events:
        match event:
            case chat_events.Withdrawn(blocks=withdrawn):
                for block in withdrawn:
                    del blocks[block]
            case chat_events.TextDelta() | chat_events.ThinkingDelta():
                kind = "text" if isinstance(event, chat_events.TextDelta) else "thinking"
                before = blocks.get(event.block, (kind, ""))
                assert before[0] == kind
                blocks[event.block] = kind, before[1] + event.delta
    return list(blocks.values())


def saved(message: Message) -> list[tuple[str, str]]:
    return [
        (block.type, block.text)
        for block in message.content
        if isinstance(block, TextContent | ThinkingContent)
    ]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            (ThinkingDelta("Fo"), ThinkingDelta("ur."), Withdrawn(), TextDelta("Four.")),
            [("text", "Four.")],
        ),
        (
            (TextDelta("So"), TextDelta("."), Withdrawn(), ThinkingDelta("So."), TextDelta("\n4")),
            [("thinking", "So."), ("text", "4")],
        ),
        ((Withdrawn(), TextDelta("4")), [("text", "4")]),
    ],
)
async def test_screen_history_and_journal_have_the_same(
    script: tuple[ProviderEvent, ...], expected: list[tuple[str, str]]
) -> None:
    client, journal = client_over(*script, Finish("stop"))
    assert shown(await ask(client)) == expected
    answer = client.conversation.messages[-1]
    assert saved(answer) == expected
    assert journal.steps[-1] == ("finish 2", answer.text)


@pytest.mark.parametrize("end", [Finish("abort"), Finish("length")])
async def test_what_is_not_taken_back_stays_thinking(end: Finish) -> None:
    client, _ = client_over(ThinkingDelta("Four."), end)
    assert shown(await ask(client)) == [("thinking", "Four.")]
    assert saved(client.conversation.messages[-1]) == [("thinking", "Four.")]


async def test_a_call_in_text_that_was_thinking_is_none_and_in_an_answer_after_all_is_one() -> None:
    off = (TextDelta(f"So. {CALL}"), Withdrawn(), ThinkingDelta(f"So. {CALL}"), TextDelta("4"))
    client, _ = client_over(*off, Finish("stop"))
    events = await ask(client, ChatOptions(max_turns=1))
    assert not any(isinstance(event, chat_events.ToolCallStart) for event in events)
    assert shown(events)[-1] == ("text", "4")
    on = (ThinkingDelta(f"Look. {CALL}"), Withdrawn(), TextDelta(f"Look. {CALL}"))
    client, _ = client_over(*on, Finish("stop"))
    events = await ask(client, ChatOptions(max_turns=1))
    assert [e.call.name for e in events if isinstance(e, chat_events.ToolCallStart)] == ["clock"]
    assert shown(events) == [("text", "Look. ")]


async def test_tools_described_in_text_are_read_from_the_start_again() -> None:
    words = "Thought: I know.\nFinal Answer: 4"
    client, _ = client_over(
        ThinkingDelta(words), Withdrawn(), TextDelta(words), Finish("stop"), mode="react"
    )
    assert shown(await ask(client)) == [("thinking", "I know."), ("text", "4")]
    client, _ = client_over(
        TextDelta("Thought: a\nFinal Answer: b"),
        Withdrawn(),
        ThinkingDelta("x"),
        TextDelta("Final Answer: 4"),
        Finish("stop"),
        mode="react",
    )
    assert shown(await ask(client)) == [("thinking", "x"), ("text", "4")]


async def test_an_answer_after_all_is_checked_against_its_schema() -> None:
    client, _ = client_over(ThinkingDelta("[1]"), Withdrawn(), TextDelta("[1]"), Finish("stop"))
    events = await ask(client, ChatOptions(schema={"type": "array"}, tools=()))
    (structured,) = [e for e in events if isinstance(e, chat_events.StructuredAnswer)]
    texts = [e.block for e in events if isinstance(e, chat_events.TextDelta)]
    assert (structured.value, structured.block) == ([1], texts[-1])
