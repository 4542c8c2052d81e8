"""A request with a single input goes to the operation that makes its output, or is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from ollm_tui.protocol.blocks import AudioContent, EmbeddingContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose, SupportsEmbed
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers import create_provider
from ollm_tui.providers.media.answer import output_of
from tests.support.fake_backends import FakeLlamaCpp
from tests.support.fake_ollama import OllamaServer
from tests.support.fakes import REMOTES, Remote
from tests.support.http_server import Handler, Server, serve

EMBED = Request(
    model="tiny",
    input=[TextContent("ab"), TextContent("c")],
    output="embedding",
    stream=False,
)


def embedding_ollama() -> OllamaServer:
    server = OllamaServer()
    server.models["vectors:latest"] = ["embedding"]
    return server


@asynccontextmanager
async def connected(
    remote: Remote, handler: Handler | None = None, **more: object
) -> AsyncIterator[tuple[Any, Server]]:
    async with serve(handler or remote.make()) as server:
        provider = create_provider(remote.spec(server.url, **more))
        yield provider, server
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


WITHOUT = {
    "anthropic": "p offers no embeddings.",
    "llamacpp messages": "p at localhost:.* offers no embeddings",
    "llamacpp": "does not support embeddings",
    "llamacpp-router": "does not support embeddings",
    "vllm": "p at localhost:.* offers no embeddings",
}
"""Servers that make none here, and what is said then."""


async def test_every_adapter_makes_embeddings_or_says_that_it_has_none() -> None:
    for name, remote in REMOTES.items():
        handler = embedding_ollama() if name == "ollama" else None
        request = replace(EMBED, model="vectors") if name == "ollama" else EMBED
        async with connected(remote, handler) as (provider, server):
            if name in WITHOUT:
                with pytest.raises(AIError, match=WITHOUT[name]) as caught:
                    await provider.invoke(request)
                assert caught.value.code != ErrorCode.INTERNAL_ERROR, name
                assert isinstance(provider, SupportsEmbed) == bool(server.received), name
                continue
            response = await provider.invoke(request)
            assert isinstance(response, Response)
            assert response.content == (
                EmbeddingContent((2.0, 97.0)),
                EmbeddingContent((1.0, 99.0)),
            ), name
            assert response.usage is not None
            assert response.usage.prompt_tokens == 3


async def test_ollama_takes_dimensions_a_window_and_a_time_to_stay_and_cuts_nothing() -> None:
    options = GenerationOptions(num_ctx=512, keep_alive="5m", extra_body={"dimensions": 2})
    asked = replace(EMBED, model="vectors", options=options)
    async with connected(REMOTES["ollama"], embedding_ollama()) as (provider, server):
        await provider.invoke(asked)
        with pytest.raises(AIError) as caught:
            await provider.invoke(replace(asked, input="x" * 3000))
        with pytest.raises(AIError, match="does not support embeddings"):
            await provider.invoke(replace(asked, model="tiny"))
        with pytest.raises(AIError) as missing:
            await provider.invoke(replace(asked, model="nowhere"))
    assert server.received[0].json() == {
        "model": "vectors",
        "input": ["ab", "c"],
        "truncate": False,
        "options": {"num_ctx": 512},
        "keep_alive": "5m",
        "dimensions": 2,
    }
    assert caught.value.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
    assert caught.value.hint == "Shorten the text, or split it into several."
    assert missing.value.code == ErrorCode.MODEL_NOT_FOUND


async def test_an_ollama_before_api_embed_is_named_as_such() -> None:
    async def old(_request: object, reply: Any) -> None:
        await reply.whole(b"404 page not found", 404, "text/plain")

    async with connected(REMOTES["ollama"], old) as (provider, _server):
        with pytest.raises(AIError, match="does not know the request") as caught:
            await provider.invoke(EMBED)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"stream": True}, ErrorCode.UNSUPPORTED_FEATURE, "Embeddings cannot be streamed."),
        ({"output": None}, ErrorCode.BAD_REQUEST, "does not say what to make"),
        ({"output": "score"}, ErrorCode.UNSUPPORTED_MODALITY, "Making score of text"),
        (
            {"input": [AudioContent(data=b"RIFF")]},
            ErrorCode.UNSUPPORTED_MODALITY,
            "Making embedding of audio",
        ),
        (
            {"options": GenerationOptions(temperature=0.1)},
            ErrorCode.UNSUPPORTED_FEATURE,
            "temperature",
        ),
    ],
)
async def test_what_cannot_be_made_is_refused_before_anything_is_sent(
    changes: Any, code: ErrorCode, words: str
) -> None:
    for name in ("ollama", "openai-compatible"):
        async with connected(REMOTES[name]) as (provider, server):
            with pytest.raises(AIError, match=words) as caught:
                await provider.invoke(replace(EMBED, **changes))
            assert caught.value.code == code
            assert server.received == []


async def test_an_output_has_no_place_in_a_chat() -> None:
    asked = Request(model="tiny", messages=[Message("user", "hi")], output="audio", stream=False)
    async with connected(REMOTES["openai-compatible"]) as (provider, _server):
        with pytest.raises(AIError, match="`output`") as caught:
            await provider.invoke(asked)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_a_pool_embeds_by_the_same_request() -> None:
    remote = REMOTES["openai-compatible"]
    async with serve(remote.make()) as other, serve(remote.make()) as one:
        provider: ProviderAdapter = create_provider(
            remote.spec(one.url, base_urls=(one.url, other.url))
        )
        response = await provider.invoke(EMBED)
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert isinstance(response, Response)
    assert len(response.content) == 2


async def test_a_llama_cpp_without_embeddings_says_so_in_its_own_words() -> None:
    async with connected(REMOTES["llamacpp"], FakeLlamaCpp()) as (provider, _server):
        with pytest.raises(AIError, match="does not support embeddings"):
            await provider.invoke(EMBED)


def test_what_a_model_makes_is_known_if_it_is_one_thing_other_than_text() -> None:
    def made(*kinds: str) -> str | None:
        capability = ModelCapability(frozenset({"text"}), frozenset(kinds))
        return output_of(ModelInfo(name="m", capability=capability))

    assert made("embedding") == "embedding"
    assert made("text") is made("text", "audio") is made() is None
    assert output_of(None) is output_of(ModelInfo(name="m")) is None


async def test_the_official_ollama_client_takes_the_fakes_vectors_for_real() -> None:
    import ollama

    async with serve(embedding_ollama()) as server:
        client = ollama.AsyncClient(host=server.url)
        made = await client.embed("vectors", ["ab", "c"], dimensions=2)
        with pytest.raises(ollama.ResponseError, match="does not support embeddings"):
            await client.embed("tiny", "ab")
        await client.close()  # type: ignore[no-untyped-call]  # the client has no types there
    assert [list(vector) for vector in made.embeddings] == [[2.0, 97.0], [1.0, 99.0]]
    assert made.prompt_eval_count == 3
