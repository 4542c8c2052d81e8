"""The prompt that a server makes of a request, from the servers that tell it."""

from typing import Any

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose, SupportsPromptText
from ollm_tui.protocol.request import PromptText, PromptToken, Request
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.ollama.models import is_older
from ollm_tui.providers.spec import ProviderSpec
from tests.providers.test_counting import answering
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import Server, serve

REQUEST = Request(
    model="tiny:latest",
    messages=[Message("user", "hello")],
    system_prompt="Be brief.",
    tools=[ToolSchema(name="t")],
)
PIECES = [{"id": 7, "piece": "<s>"}, {"id": 8, "piece": "h"}, {"id": 9, "piece": [195]}]


async def told(server: Server, backend: str | None) -> PromptText:
    kind = "openai-compatible" if backend else "ollama"
    spec = ProviderSpec(name="p", label="Box", kind=kind, base_url=server.url, backend=backend)
    provider = create_provider(spec)
    assert isinstance(provider, SupportsPromptText)
    assert isinstance(provider, SupportsDispose)
    try:
        return await provider.prompt_text(REQUEST)
    finally:
        await provider.dispose()


async def test_llamacpp_tells_the_text_and_its_tokens() -> None:
    replies = {
        "/apply-template": {"prompt": "hé"},
        "/tokenize": {"tokens": PIECES},
        "/props?model=tiny%3Alatest": {"bos_token": "<s>", "eos_token": ""},
    }
    async with serve(answering(replies)) as server:
        prompt = await told(server, "llamacpp")
    tokens = (
        PromptToken(7, "<s>"),
        PromptToken(8, "h"),
        PromptToken(9, "\N{REPLACEMENT CHARACTER}"),
    )
    assert prompt == PromptText("hé", tokens, {"bos_token": "<s>"})
    bodies: Any = [request.json() for request in server.received if request.body]
    rendered, tokenized = bodies
    assert [message["role"] for message in rendered["messages"]] == ["system", "user"]
    assert rendered["tools"][0]["function"]["name"] == "t"
    assert "stream" not in rendered
    assert tokenized["with_pieces"] is True
    assert tokenized["content"] == "hé"


async def test_an_older_llamacpp_tells_the_text_without_tokens() -> None:
    replies = {"/apply-template": {"prompt": "x"}, "/tokenize": {"tokens": [1, 2]}}
    async with serve(answering(replies)) as server:
        assert await told(server, "llamacpp") == PromptText("x")


async def test_vllm_tells_the_tokens_and_their_text() -> None:
    tokenized = {"count": 2, "tokens": [5, 6], "token_strs": ["<s>", "Ġhi"]}
    replies = {"/tokenize": tokenized, "/detokenize": {"prompt": "<s> hi"}}
    async with serve(answering(replies)) as server:
        prompt = await told(server, "vllm")
    assert prompt == PromptText("<s> hi", (PromptToken(5, "<s>"), PromptToken(6, "Ġhi")))
    asked, detokenized = (request.json() for request in server.received)
    assert asked["return_token_strs"] is True
    assert asked["add_generation_prompt"] is True
    assert detokenized["tokens"] == [5, 6]


async def test_an_older_vllm_tells_the_text_alone() -> None:
    replies = {"/tokenize": {"count": 1, "tokens": [5]}, "/detokenize": {"prompt": "hi"}}
    async with serve(answering(replies)) as server:
        assert await told(server, "vllm") == PromptText("hi")


async def test_ollama_tells_the_text_without_answering() -> None:
    async with serve(fake_ollama) as server:
        prompt = await told(server, None)
    assert prompt == PromptText("<system>Be brief.\n<user>hello\n<assistant>")
    body = server.received[-1].json()
    assert (body["_debug_render_only"], body["stream"]) == (True, False)


def test_a_build_without_a_version_counts_as_new() -> None:
    versions = ["0.0.0", "v0.0.0-dirty", "0.12.0", "1.0", "0.0.14", "0.11.10", "0", None]
    older = [is_older(version, (0, 12)) for version in versions]
    assert older == [False] * 4 + [True] * 4


@pytest.mark.parametrize("version", ["0.11.10", "0.6.2", "dev", None])
async def test_an_older_ollama_is_not_asked_since_it_would_answer(version: str | None) -> None:
    async with serve(answering({"/api/version": {"version": version}})) as server:
        with pytest.raises(AIError, match=r"does from version 0\.12 on") as refused:
            await told(server, None)
        assert [request.path for request in server.received] == ["/api/version"]
    assert refused.value.code == ErrorCode.UNSUPPORTED_FEATURE


@pytest.mark.parametrize("key", ["remote_host", "remote_model"])
async def test_a_prompt_for_a_model_in_the_cloud_is_not_sent(key: str) -> None:
    replies = {
        "/api/version": {"version": "0.13.0"},
        "/api/show": {key: "https://ollama.com:443"},
        "/api/chat": {"_debug_info": {"rendered_template": "hello"}},
    }
    async with serve(answering(replies)) as server:
        with pytest.raises(AIError, match="sends what tiny:latest is asked to another") as refused:
            await told(server, None)
        assert [request.path for request in server.received] == ["/api/version", "/api/show"]
    assert refused.value.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_a_reply_without_the_prompt_is_an_error() -> None:
    replies = {
        "/api/version": {"version": "0.13.0"},
        "/api/show": {},
        "/api/chat": {"message": {"content": "Hello!"}, "done": True},
        "/apply-template": {},
        "/tokenize": {"tokens": [5]},
        "/detokenize": {},
    }
    async with serve(answering(replies)) as server:
        for backend in (None, "llamacpp", "vllm"):
            with pytest.raises(AIError):
                await told(server, backend)
