"""The whole runtime on the real engine: tools, reasoning, stops, schemas and counts."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent, ToolCallResult
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.tools.builtin import builtin_tools
from ollm_tui.tools.define import tool
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ReadOnly, ToolRunner
from tests.support.engine import MODEL, embedded, model_folder, needs_engine
from tests.support.json_schemas import drawn_schema
from tests.support.seeds import in_parts

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

__all__ = ["model_folder"]
pytestmark = [pytest.mark.engine, needs_engine]


@tool(effect="read")
async def look_outside() -> str:
    """Look at the weather here."""
    return "sunny"


@asynccontextmanager
async def chatting(folder: Path, root: Path, *tools: str) -> AsyncIterator[ChatClient]:
    """A chat with the scripted model and these built-in tools."""
    async with embedded(folder) as (provider, _supervisor):
        registry = ProviderRegistry()
        registry.register(provider)
        runner = ToolRunner(ToolRegistry([*builtin_tools(root), look_outside]), ReadOnly())
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)), tools=runner)
        yield ChatClient(parts, Conversation(model=f"embedded://{MODEL}", tools=tools))


async def ask(client: ChatClient, prompt: str) -> list[ChatEvent]:
    async with client.chat(prompt) as events:
        return [event async for event in events]


def text_of(events: list[ChatEvent]) -> str:
    return "".join(e.delta for e in events if isinstance(e, chat_events.TextDelta))


async def test_a_native_call_runs_and_its_result_is_answered(
    model_folder: Path, tmp_path: Path
) -> None:
    async with chatting(model_folder, tmp_path, "look_outside") as client:
        events = await ask(client, "use a tool please")
        [result] = [event for event in events if isinstance(event, ToolCallResult)]
        assert result.call.name == "look_outside"
        assert result.result.content == "sunny"
        assert not result.result.is_error
        assert text_of(events).endswith("it is sunny there.")
        assert events[-1].__class__ is chat_events.Finish
        roles = [message.role for message in client.conversation.messages]
        assert roles == ["user", "assistant", "tool", "assistant"]


async def test_reasoning_is_kept_apart_from_the_answer(model_folder: Path, tmp_path: Path) -> None:
    async with chatting(model_folder, tmp_path) as client:
        events = await ask(client, "please think")
        thought = "".join(e.delta for e in events if isinstance(e, chat_events.ThinkingDelta))
        assert "Two and two make four." in thought
        assert text_of(events).strip() == "The answer is **4**."


async def test_an_endless_answer_is_stopped_and_the_next_one_comes(
    model_folder: Path, tmp_path: Path
) -> None:
    async with chatting(model_folder, tmp_path) as client:
        signal = AbortSignal()
        with anyio.fail_after(30):
            async with client.chat("forever", signal=signal) as events:
                async for event in events:
                    last = event
                    if isinstance(event, chat_events.TextDelta):
                        signal.abort()
        assert last == chat_events.Finish(reason="abort")
        assert client.conversation.messages[-1].metadata == {"ended": "stopped"}
        assert "very small model" in text_of(await ask(client, "hello"))


async def test_an_answer_is_held_to_a_json_schema(model_folder: Path, tmp_path: Path) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"color": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["color", "n"],
        "additionalProperties": False,
    }
    async with chatting(model_folder, tmp_path) as client:
        client.conversation.options = GenerationOptions(response_format=schema)
        assert text_of(await ask(client, "hello")).replace(" ", "") == '{"color":"","n":1}'


@in_parts(50)
async def test_the_answer_to_any_schema_is_json_that_matches(
    part: int, model_folder: Path, tmp_path: Path
) -> None:
    """Two hundred schemas, four to a part, each for an answer by the first request."""
    chance = random.Random(part)
    async with chatting(model_folder, tmp_path) as client:
        for _ in range(4):
            client.conversation.messages.clear()
            schema = drawn_schema(chance)
            async with client.chat("hello", ChatOptions(schema=schema)) as events:
                kinds = [type(event).__name__ async for event in events]
            assert kinds[-3:] == ["StructuredAnswer", "TurnComplete", "Finish"], schema
            assert "Retrying" not in kinds, schema


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"minLength": 3000}, "cannot hold the answer to this JSON Schema: Failed to initialize"),
        ({"not": {"type": "string"}}, "a breaks the rule not"),
        ({"pattern": "^(?=a)abc$"}, "a breaks the rule pattern"),
    ],
)
async def test_what_the_engine_cannot_hold_is_told(
    schema: "JsonObject", words: str, model_folder: Path, tmp_path: Path
) -> None:
    value: JsonObject = {"type": "string", **schema}
    whole: JsonObject = {"type": "object", "properties": {"a": value}, "required": ["a"]}
    async with chatting(model_folder, tmp_path) as client:
        options = ChatOptions(schema=whole)
        async with client.chat("hello", options) as events:
            *_, end = [event async for event in events]
    assert isinstance(end, chat_events.ErrorEvent)
    assert words in end.error.message


async def test_the_count_before_the_request_is_the_engines_own(
    model_folder: Path, tmp_path: Path
) -> None:
    async with chatting(model_folder, tmp_path) as client:
        for prompt in ("hello", "Grüße an alle", "and once more"):
            events = await ask(client, prompt)
            assert client.guard.state is not None
            counted = client.guard.state.counted
            assert counted.source == "engine"
            end = events[-1]
            assert isinstance(end, chat_events.Finish)
            assert end.usage is not None
            assert counted.tokens == end.usage.prompt_tokens


async def test_a_prompt_is_counted_once_and_then_only_near_the_window(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Request] = []
    count = EmbeddedProvider.count_tokens

    async def noted(self: EmbeddedProvider, request: Request) -> int:
        counted.append(request)
        return await count(self, request)

    monkeypatch.setattr(EmbeddedProvider, "count_tokens", noted)
    async with chatting(model_folder, tmp_path) as client:
        for prompt in ("hello", "and more", "x" * 500):
            await ask(client, prompt)
        assert len(counted) == 1
        # the reported figures bound it: what comes near the window is counted as it always was
        end = (await ask(client, "x" * 3000))[-1]
        assert len(counted) == 2
        assert isinstance(end, chat_events.Finish)
        blocked = (await ask(client, "x" * 1000))[-1]
        assert len(counted) == 3
        assert isinstance(blocked, chat_events.ErrorEvent)


async def test_a_conversation_over_the_window_is_not_sent(
    model_folder: Path, tmp_path: Path
) -> None:
    async with chatting(model_folder, tmp_path) as client:
        client.conversation.messages = [Message("user", "x"), Message("assistant", "y")]
        events = await ask(client, "z" * 5000)
        assert isinstance(events[-1], chat_events.ErrorEvent)
        assert events[-1].error.details["context_tokens"] == 4096


async def test_a_long_prompt_is_read_with_progress_and_the_chat_makes_room(
    model_folder: Path, tmp_path: Path
) -> None:
    async with chatting(model_folder, tmp_path) as client:
        client.conversation.options = GenerationOptions(num_ctx=4096)
        events = await ask(client, "hello " * 500)
        progress = [one for one in events if isinstance(one, chat_events.PromptProgress)]
        assert len(progress) > 1
        assert progress[-1].done == progress[-1].total
        assert isinstance(events[-1], chat_events.Finish)
        before = [*client.conversation.messages]
        proposal = await client.propose_summary()
        assert proposal.text
        assert client.conversation.messages == before
        await client.compact(proposal)
        after = await ask(client, "hello")
        assert isinstance(after[-1], chat_events.Finish)
        usage = after[-1].usage
        assert usage is not None
        assert 0 < (usage.prompt_tokens or 0) < 1000, "the long prompt is no longer sent"
