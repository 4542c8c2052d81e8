"""What real servers replied goes through adapters and the chat client as it was meant.

The replies lie beside the repository; each is given back by a server on loopback, at the path it
was recorded at.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose, SupportsList
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.discovery import probe
from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from tests.support.corpus import RecordedReply, load_replies, needs_corpus, replaying
from tests.support.http_server import serve

pytestmark = needs_corpus

REPLIES = {reply.id: reply for reply in load_replies()}
KINDS = {"/v1/chat/completions": "openai-compatible", "/v1/messages": "anthropic"}
CHATS = [reply for reply in REPLIES.values() if reply.request["path"] in KINDS]
STREAMS = [reply for reply in CHATS if reply.kind == "stream"]
WHOLE = [reply for reply in CHATS if reply.kind == "reply"]
ERRORS = [reply for reply in REPLIES.values() if reply.kind == "http_error"]
NOT_ASKED_AGAIN = (
    "litellm-1.106.2/key-wrong-chat",
    "llama-server-b10434/error-image",
    "llama-server-b10434/router-chat-broken",
    "llama-server-b10434/router-delete",
)
CATEGORIES = {400: "bad_request", 401: "auth", 404: "not_found", 422: "bad_request"}
OTHERS = {
    "litellm-1.106.2/error-image": "unsupported",
    "litellm-1.106.2/error-model": "not_found",
    "litellm-1.106.2/messages-error-model": "not_found",
    "litellm-1.106.2/key-wrong-chat": "auth",
    "llama-server-b10434/error-image": "unsupported",
    "llama-server-b10434/embeddings": "unsupported",
    "llama-server-b10434/router-chat-unknown": "not_found",
    "llama-server-b10434/router-delete": "bad_request",
    "vllm-0.32.0/error-image": "unsupported",
    "vllm-0.32.0/plain-tools-named": "unsupported",
    "vllm-0.32.0/plain-tools-refused": "unsupported",
    "vllm-0.32.0/plain-tools-refused-auto": "unsupported",
}


def reply_id(reply: RecordedReply) -> str:
    return reply.id


def backend_of(reply: RecordedReply) -> str | None:
    return {"vllm-0.32.0": "vllm", "llama-server-b10434": "llamacpp"}.get(reply.server)


@asynccontextmanager
async def adapter_to(
    url: str, kind: str, backend: str | None = None
) -> AsyncIterator[ProviderAdapter]:
    adapter = create_provider(ProviderSpec(name="p", kind=kind, base_url=url, backend=backend))
    try:
        yield adapter
    finally:
        assert isinstance(adapter, SupportsDispose)
        await adapter.dispose()


async def at_once(_seconds: float) -> None:
    """Wait for nothing before a retry."""


async def chatted(reply: RecordedReply) -> tuple[ChatClient, list[chat_events.ChatEvent]]:
    """Ask a chat client that gets this reply."""
    kind = KINDS[reply.request["path"]]
    backend = backend_of(reply) if kind == "openai-compatible" else None
    async with serve(replaying(reply)) as server, adapter_to(server.url, kind, backend) as adapter:
        registry = ProviderRegistry()
        registry.register(adapter)
        router = Router(registry, ModelCatalog(registry))
        parts = ChatParts(router=router, sleep=at_once)
        client = ChatClient(parts, Conversation(model="p://m"))
        client.conversation.options = GenerationOptions(max_tokens=16)
        async with client.chat("hello") as events:
            return client, [event async for event in events]


def of_first_turn(events: list[chat_events.ChatEvent]) -> list[chat_events.ChatEvent]:
    """Leave out the turn after calls that were not offered: this server repeats its reply."""
    return [event for event in events if getattr(event, "turn", 1) == 1]


Delta = chat_events.TextDelta | chat_events.ThinkingDelta


def joined(events: list[chat_events.ChatEvent], kind: type[Delta]) -> str:
    return "".join(event.delta for event in events if isinstance(event, kind))


@pytest.mark.parametrize("reply", STREAMS, ids=reply_id)
async def test_a_stream_of_a_real_server_is_a_chat_s_answer(reply: RecordedReply) -> None:
    client, events = await chatted(reply)
    expected = reply.meta["expected"]
    first = of_first_turn(events)
    text, thinking = (
        joined(first, chat_events.TextDelta),
        joined(first, chat_events.ThinkingDelta),
    )
    wanted = expected["text"]
    if expected["thinking"]:
        wanted = wanted.lstrip()
    assert (text, thinking) == (wanted, expected["thinking"])
    calls = [(e.call.name, e.call.args) for e in first if isinstance(e, chat_events.ToolCallStart)]
    assert calls == [(call["name"], call["args"]) for call in expected["tool_calls"]]
    end = events[-1]
    if expected["outcome"] == "complete":
        assert isinstance(end, chat_events.Finish)
        # Nobody runs the calls of this chat, so it ends with them.
        assert end.reason == expected["finish"]
        assert client.conversation.messages[-1].role in ("assistant", "tool")
        return
    assert isinstance(end, chat_events.ErrorEvent)
    if expected["outcome"] == "incomplete":
        assert end.error.code == ErrorCode.STREAM_INCOMPLETE
    else:
        assert expected["error"]["message"] in end.error.message


@pytest.mark.parametrize("reply", WHOLE, ids=reply_id)
async def test_a_whole_reply_in_place_of_a_stream_is_one_too(reply: RecordedReply) -> None:
    _client, events = await chatted(reply)
    assert isinstance(events[-1], chat_events.Finish)
    first = of_first_turn(events)
    spoken = joined(first, chat_events.TextDelta) + joined(first, chat_events.ThinkingDelta)
    calls = [e.call.name for e in first if isinstance(e, chat_events.ToolCallStart)]
    assert spoken or calls
    body = json.loads(reply.body)
    if "choices" in body:
        message = body["choices"][0]["message"]
        assert spoken.startswith(message.get("reasoning_content") or message.get("content") or "")
        assert calls == [call["function"]["name"] for call in message.get("tool_calls") or ()]


@pytest.mark.parametrize("reply", ERRORS, ids=reply_id)
def test_an_error_of_a_real_server_is_of_the_right_kind(reply: RecordedReply) -> None:
    place = Endpoint("p", "Server", "localhost:1", "Start it.")
    error = http_error(Head(reply.status, "", reply.meta["headers"]), reply.body, place)
    category = error.details["category"]
    if "context" in reply.case:
        assert error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert isinstance(error.details["prompt_tokens"], int)
        assert isinstance(error.details["context_tokens"], int)
    else:
        assert category == OTHERS.get(reply.id, CATEGORIES.get(reply.status, "server"))
    assert error.retryable == (category == "server" and reply.id not in NOT_ASKED_AGAIN)
    if category == "auth":
        assert "Server requires an API key: " in error.message
        assert error.hint == "Set api_key_env below [providers.p]."
    if "image" in reply.case:
        assert error.code == ErrorCode.UNSUPPORTED_MODALITY
    if reply.case in ("error-404", "api-tags", "api-version"):
        assert error.code == ErrorCode.BAD_REQUEST
        assert "does not know this path" in error.message


@pytest.mark.parametrize("reply", [r for r in CHATS if r.kind == "http_error"], ids=reply_id)
async def test_an_error_of_a_real_server_ends_a_chat_in_its_words(reply: RecordedReply) -> None:
    _client, events = await chatted(reply)
    end = events[-1]
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.provider == "p"
    assert end.error.message
    tries = sum(isinstance(event, chat_events.Retrying) for event in events)
    assert tries == (2 if end.error.retryable else 0)


async def models_of(*cases: str, backend: str) -> dict[str, ModelInfo]:
    replies = [REPLIES[case] for case in cases]
    async with (
        serve(replaying(*replies)) as server,
        adapter_to(server.url, "openai-compatible", backend) as adapter,
    ):
        assert isinstance(adapter, SupportsList)
        return {info.name: info for info in await adapter.list_models()}


async def test_lists_of_models_tell_what_stands_in_them() -> None:
    vllm = await models_of("vllm-0.32.0/models", backend="vllm")
    assert {(info.context, info.loaded) for info in vllm.values()} == {(8192, True)}
    litellm = await models_of("litellm-1.106.2/models", backend="generic")
    assert {name: info.context for name, info in litellm.items()} == {"tiny": 8192, "smol": None}
    router = await models_of("llama-server-b10434/key-missing-models", backend="llamacpp-router")
    smol = router["SmolLM2-135M-Instruct.Q4_1"]
    assert (smol.size_bytes, smol.details["quantization"]) == (96576768, "Q4_1")
    assert all(info.details["why_kept"] for info in router.values())


@pytest.mark.parametrize(
    ("cases", "other", "backend", "wants_key"),
    [
        (("key-missing-models", "key-missing-props"), "key-missing-root-paths-version",
         "llamacpp-router", True),
        (("key-wrong-models", "key-missing-props"), "key-missing-root-paths-version",
         "llamacpp-router", True),
        (("router-v1-models-unloaded", "router-props"), "api-tags", "llamacpp-router", False),
        (("single-key-missing-models", "key-missing-props"),
         "single-key-missing-root-paths-version", "llamacpp", True),
    ],
)  # fmt: skip
async def test_a_llama_cpp_server_is_known_with_a_key_and_without(
    cases: tuple[str, ...], other: str, backend: str, wants_key: bool
) -> None:
    folder = "llama-server-b10434"
    replies = [REPLIES[f"{folder}/{case}"] for case in cases]
    async with serve(replaying(*replies, other=REPLIES[f"{folder}/{other}"])) as server:
        engine = (await probe(server.url)).engine
    assert engine is not None
    assert (engine.backend, engine.wants_key) == (backend, wants_key)


async def test_the_other_servers_are_known_too() -> None:
    folder = "vllm-0.32.0"
    for cases, wants_key in (
        (("models", "key-missing-root-paths-version"), False),
        (("key-missing-models", "key-missing-root-paths-version"), True),
    ):
        async with serve(replaying(*(REPLIES[f"{folder}/{c}"] for c in cases))) as server:
            engine = (await probe(server.url)).engine
        assert engine is not None
        assert (engine.backend, engine.version, engine.wants_key) == ("vllm", "0.32.0", wants_key)
    for case in ("litellm-1.106.2/models", "litellm-1.106.2/key-missing-models"):
        async with serve(replaying(REPLIES[case])) as server:
            engine = (await probe(server.url)).engine
        assert engine is not None
        assert (engine.backend, engine.speaks_openai) == (None, True)
