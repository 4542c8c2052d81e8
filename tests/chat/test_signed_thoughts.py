"""Signed thoughts through a whole chat: with tools, saved and opened again, with another model."""

from pathlib import Path
from typing import Any

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.codec import message_from_json, message_to_json
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.store.conversations import open_store
from tests.support.fake_anthropic import SIGNATURE, FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Server, serve
from tests.support.tools import ScriptedTool, runner_for

THOUGHT = {"type": "thinking", "thinking": "I have to look.", "signature": SIGNATURE}
CALL = {"type": "tool_use", "id": "call_a1", "name": "weather", "input": {"city": "Oslo"}}


async def test_signed_thoughts_go_back_to_their_model_and_to_no_other() -> None:
    async with serve(FakeAnthropic()) as claude, serve(FakeOpenAI()) as other:
        registry = ProviderRegistry()
        for name, kind, server in (
            ("claude", "anthropic", claude),
            ("box", "openai-compatible", other),
        ):
            registry.register(create_provider(spec_of(name, kind, server)))
        tool = ScriptedTool("weather", parameters={"type": "object"})
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)), tools=runner_for(tool))
        conversation = Conversation(model="claude://tiny", tools=("weather",))
        client = ChatClient(parts, conversation)
        await send(client, "ponder")
        assert tool.calls == [{"city": "Oslo"}]
        conversation.messages = [
            message_from_json(message_to_json(m)) for m in conversation.messages
        ]
        await send(client, "hello")
        conversation.model = "claude://small"
        await send(client, "hello")
        conversation.model = "box://tiny"
        await send(client, "hello")
        for adapter in registry.by_priority():
            assert isinstance(adapter, SupportsDispose)
            await adapter.dispose()
    first, after_tool, same, another = asked(claude)
    assert len(first) == 1
    assert after_tool[1]["content"] == [THOUGHT, CALL]
    assert after_tool[2]["content"][0]["type"] == "tool_result"
    assert same[1]["content"] == [THOUGHT, CALL]
    assert another[1]["content"] == [CALL]
    (elsewhere,) = asked(other)
    assert "thinking" not in str(elsewhere)
    assert SIGNATURE not in str(elsewhere)


async def test_signatures_are_saved_with_the_chat(tmp_path: Path) -> None:
    async with serve(FakeAnthropic()) as server:
        provider = create_provider(spec_of("claude", "anthropic", server))
        registry = ProviderRegistry()
        registry.register(provider)
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
        async with open_store(tmp_path / "chats.db") as store:
            conversation = Conversation(model="claude://tiny")
            await send(
                ChatClient(parts, conversation, journal=store.journal(conversation)), "think"
            )
            (chat,) = await store.list()
            opened = await store.load(chat.id)
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert opened.history == conversation.messages
    thought = ThinkingContent("Let me see.", SIGNATURE, "claude://tiny")
    assert opened.history[-1].content == (thought, TextContent("Yes."))


def spec_of(name: str, kind: str, server: Server) -> ProviderSpec:
    return ProviderSpec(name=name, kind=kind, base_url=server.url)


async def send(client: ChatClient, prompt: str) -> None:
    async with client.chat(prompt) as events:
        kinds = [type(event).__name__ async for event in events]
    assert kinds[-1] == "Finish", kinds


def asked(server: Server) -> list[list[dict[str, Any]]]:
    return [
        request.json()["messages"]  # type: ignore[misc]
        for request in server.received
        if request.method == "POST" and "count_tokens" not in request.path
    ]
