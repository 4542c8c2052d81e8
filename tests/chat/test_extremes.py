"""Answers at the edges: saved, read again and sent again as they were, after repair."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish, ToolCallResult
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.store.conversations import ConversationStore, open_store
from tests.support.http_server import Handler, Received, Reply, Server, serve
from tests.support.seeds import sampled
from tests.support.tools import ScriptedTool, runner_for

KINDS = ["ollama", "openai-compatible"]
Call = tuple[str, JsonObject]


def frames(kind: str, texts: Sequence[str] = (), calls: Sequence[Call] = ()) -> Iterator[bytes]:
    """Spell an answer of these texts and calls, with its end."""
    for text in texts:
        yield _frame(kind, {"content": text})
    for number, (name, args) in enumerate(calls):
        function: JsonObject = {
            "name": name,
            "arguments": args if kind == "ollama" else json.dumps(args),
        }
        entry: JsonObject = {"id": f"call_{number}", "index": number, "function": function}
        yield _frame(kind, {"content": "", "tool_calls": [entry]})
    if kind == "ollama":
        yield _line({"message": {"role": "assistant", "content": ""}, "done": True})
    else:
        yield b"data: [DONE]\n\n"


def _frame(kind: str, message: JsonObject) -> bytes:
    if kind == "ollama":
        return _line({"message": {"role": "assistant", **message}, "done": False})
    return b"data: " + _line({"choices": [{"index": 0, "delta": message}]}) + b"\n"


def _line(value: JsonValue) -> bytes:
    return json.dumps(value).encode() + b"\n"


def asked_before(request: Received) -> list[JsonObject]:
    """Give the messages of a request."""
    messages = request.json()["messages"]
    assert isinstance(messages, list)
    return messages


def is_chat(request: Received) -> bool:
    return request.path in {"/api/chat", "/v1/chat/completions"}


def answering(kind: str, texts: Sequence[str], calls: Sequence[Call]) -> Handler:
    """Give the extreme answer to the first question, and a short one to everything after it."""

    async def handler(request: Received, reply: Reply) -> None:
        if not is_chat(request):
            await reply.json({}, 404)
            return
        first = [m["role"] for m in asked_before(request)] == ["user"]
        await reply.start()
        for frame in frames(kind, texts, calls) if first else frames(kind, ["Fine."]):
            await reply.write(frame)

    return handler


@asynccontextmanager
async def provider_for(kind: str, server: Server) -> AsyncIterator[ProviderAdapter]:
    provider = create_provider(ProviderSpec(name="p", kind=kind, base_url=server.url))
    try:
        yield provider
    finally:
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


def parts_for(provider: ProviderAdapter, *tools: ScriptedTool) -> ChatParts:
    registry = ProviderRegistry()
    registry.register(provider)

    async def no_wait(_seconds: float) -> None:
        return

    router = Router(registry, ModelCatalog(registry))
    return ChatParts(router=router, tools=runner_for(*tools), sleep=no_wait)


async def ask(client: ChatClient, prompt: str) -> list[ChatEvent]:
    async with client.chat(prompt) as events:
        return [event async for event in events]


async def chat_and_reopen(
    kind: str,
    store: ConversationStore,
    texts: Sequence[str] = (),
    calls: Sequence[Call] = (),
) -> tuple[list[Message], list[ChatEvent], ScriptedTool]:
    """Ask, go on with this client and with one read from the file, and compare what they sent."""
    tool = ScriptedTool("look")
    async with serve(answering(kind, texts, calls)) as server, provider_for(kind, server) as given:
        parts, conversation = parts_for(given, tool), Conversation(model="p://m", tools=("look",))
        journal = store.journal(conversation)
        client = ChatClient(parts, conversation, journal=journal)
        events = await ask(client, "begin")
        assert isinstance(events[-1], Finish), events[-1]
        stored = await store.load(journal.conversation_id)
        read = [message.message for message in stored.messages]
        assert read == conversation.messages
        again = Conversation(model="p://m", tools=("look",), messages=[*read])
        for other in (client, ChatClient(parts, again)):
            assert isinstance((await ask(other, "continue"))[-1], Finish)
        sent = [request.body for request in server.received if is_chat(request)]
    assert sent[-1] == sent[-2]
    sent[-1].decode("utf-8")
    assert b"\\ud800" not in sent[-1].lower()
    return read, events, tool


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ConversationStore]:
    async with open_store(tmp_path / "chats.db") as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS)
async def test_halves_of_characters_are_repaired_once_and_nul_is_kept(
    kind: str, store: ConversationStore
) -> None:
    texts = ["a\ud800b", "\udfff", "c\0d", "\ud83d\ude00"]
    read, _, _ = await chat_and_reopen(kind, store, texts)
    assert read[1].text == "a\ufffdb\ufffdc\0d\U0001f600"


@pytest.mark.parametrize("kind", sampled(reversed(KINDS), 1))
async def test_an_answer_of_ten_megabytes(kind: str, store: ConversationStore) -> None:
    piece = "0123456789abcde\n" * 4096
    read, _, _ = await chat_and_reopen(kind, store, [piece] * 160)
    assert read[1].text == piece * 160


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_with_a_hundred_thousand_bytes_of_arguments(
    kind: str, store: ConversationStore
) -> None:
    args: JsonObject = {"text": "x" * 99_000 + "\ud800\0é" * 300}
    read, _, tool = await chat_and_reopen(kind, store, calls=[("look", args)])
    repaired = {"text": "x" * 99_000 + "\ufffd\0é" * 300}
    assert tool.calls == [repaired]
    assert [call.args for call in read[1].tool_calls] == [repaired]


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(KINDS, 1))
async def test_of_a_thousand_calls_sixty_four_run_and_all_have_a_result(
    kind: str, store: ConversationStore
) -> None:
    calls: list[Call] = [("look", {"n": number}) for number in range(1000)]
    read, events, tool = await chat_and_reopen(kind, store, calls=calls)
    assert tool.calls == [{"n": number} for number in range(64)]
    ids = [call.id for call in read[1].tool_calls]
    assert ids == [message.tool_call_id for message in read if message.role == "tool"]
    assert len(set(ids)) == 1000
    refused = [e for e in events if isinstance(e, ToolCallResult) and e.result.is_error]
    assert len(refused) == 936
    assert all("64 calls in one turn" in event.result.content for event in refused)


ROUNDS = 6


def failing(kind: str, fails_at: int, how: str) -> Handler:
    """Ask for one call a round; the request of one round fails, and each try of it."""
    failed = 0

    async def handler(request: Received, reply: Reply) -> None:
        nonlocal failed
        if not is_chat(request):
            await reply.json({}, 404)
            return
        rounds = sum(message["role"] == "tool" for message in asked_before(request))
        if rounds + 1 == fails_at and failed < (3 if how == "busy" else 1):
            failed += 1
            await fail(reply)
            return
        await reply.start()
        last = rounds + 1 == ROUNDS
        call: list[Call] = [] if last else [("look", {"round": rounds + 1})]
        for frame in frames(kind, ["Done."] if last else [], call):
            await reply.write(frame)

    async def fail(reply: Reply) -> None:
        if how in {"busy", "refused"}:
            await reply.json({"error": {"message": "no"}}, 503 if how == "busy" else 400)
            return
        await reply.start()
        whole = [*frames(kind, ["Hm."], [("look", {"round": -1})])]
        for frame in whole[:-1]:  # the call came, its end did not
            await reply.write(frame)
        reply.cut()

    return handler


@pytest.mark.one_in(5)
@pytest.mark.parametrize("how", ["busy", "refused", "cut"])
@pytest.mark.parametrize("fails_at", range(1, ROUNDS + 1))
@pytest.mark.parametrize("kind", KINDS)
async def test_a_request_that_fails_in_the_middle_runs_no_tool_twice(
    kind: str, fails_at: int, how: str
) -> None:
    tool = ScriptedTool("look")
    handler = failing(kind, fails_at, how)
    async with serve(handler) as server, provider_for(kind, server) as provider:
        conversation = Conversation(model="p://m", tools=("look",))
        client = ChatClient(parts_for(provider, tool), conversation)
        assert isinstance((await ask(client, "begin"))[-1], ErrorEvent)
        assert tool.calls == [{"round": number} for number in range(1, fails_at)]
        results = [message for message in conversation.messages if message.role == "tool"]
        async with client.go_on() as events:
            end = [event async for event in events][-1]
    assert isinstance(end, Finish)
    assert (end.reason, end.turn) == ("stop", ROUNDS - fails_at + 1)
    assert tool.calls == [{"round": number} for number in range(1, ROUNDS)]
    assert conversation.messages[-1].text == "Done."
    assert [m for m in conversation.messages if m.role == "tool"][: len(results)] == results
    ids = [message.tool_call_id for message in conversation.messages if message.role == "tool"]
    assert len(ids) == len(set(ids)) == ROUNDS - 1


class StuckJournal:
    """Takes every message and never gets one to the disk."""

    def __init__(self) -> None:
        self.taken: list[Message] = []

    async def begin(self, message: Message) -> str:
        self.taken.append(message)
        await anyio.sleep_forever()
        raise AssertionError("never")

    async def update(self, message_id: str, message: Message) -> None: ...

    async def finish(self, message_id: str, message: Message) -> None: ...

    async def branch(self, kept: int, messages: Sequence[Message]) -> None: ...

    def rewind(self, kept: int) -> None: ...


async def test_a_disk_that_does_not_answer_gets_every_message_and_holds_up_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("client", "prompt_run", "saving"):
        monkeypatch.setattr(f"ollm_tui.chat.{module}.FINISH_S", 0.01)
    journal, tool = StuckJournal(), ScriptedTool("look")
    calls: list[Call] = [("look", {"n": number}) for number in range(5)]
    handler = answering("ollama", [], calls)
    async with serve(handler) as server, provider_for("ollama", server) as provider:
        conversation = Conversation(model="p://m", tools=("look",))
        client = ChatClient(parts_for(provider, tool), conversation, journal=journal)
        with anyio.fail_after(5):
            assert isinstance((await ask(client, "begin"))[-1], Finish)
    assert [m for m in journal.taken if m.role == "tool"] == conversation.messages[2:7]
    assert journal.taken[0] == conversation.messages[0]
