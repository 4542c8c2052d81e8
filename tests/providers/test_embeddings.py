"""Vectors for texts: asked in batches, in order, and never fewer than texts."""

from collections.abc import Mapping
from dataclasses import replace

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import EmbeddingContent, ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose, SupportsEmbed
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.media.embeddings import (
    CHARACTERS_AT_ONCE,
    TEXTS_AT_ONCE,
    batches,
    checked_vectors,
)
from ollm_tui.providers.openai_compatible.embeddings import read_vectors
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.tasks import single_error
from tests.support.fake_backends import FakeLlamaCpp
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, serve


async def embed(handler: Handler, request: Request) -> tuple[Response, list[Received]]:
    with single_error():
        return await _embed(handler, request)
    raise AssertionError


async def _embed(handler: Handler, request: Request) -> tuple[Response, list[Received]]:
    async with serve(handler) as server:
        spec = ProviderSpec(name="p", kind="openai-compatible", base_url=server.url)
        provider = create_provider(spec)
        assert isinstance(provider, SupportsEmbed)
        assert isinstance(provider, SupportsDispose)
        try:
            return await provider.embed(request), server.received
        finally:
            await provider.dispose()


def texts(*given: str) -> list[TextContent]:
    return [TextContent(text) for text in given]


async def test_a_text_becomes_one_vector_with_what_it_cost() -> None:
    response, (asked,) = await embed(FakeOpenAI(), Request(model="tiny", input="hello"))
    assert response.content == (EmbeddingContent((5.0, 104.0)),)
    assert response.usage is not None
    assert response.usage.prompt_tokens == 5
    assert asked.path == "/v1/embeddings"
    assert asked.json() == {"model": "tiny", "input": ["hello"], "encoding_format": "float"}


async def test_further_options_of_the_server_go_along() -> None:
    options = GenerationOptions(extra_body={"dimensions": 2})
    _, (asked,) = await embed(FakeOpenAI(), Request(model="m", input="a", options=options))
    assert asked.json()["dimensions"] == 2


@settings(deadline=None, max_examples=25)
@given(lengths=st.lists(st.integers(1, 40), min_size=1, max_size=3 * TEXTS_AT_ONCE))
def test_every_text_has_its_own_vector_however_many_there_are(lengths: list[int]) -> None:
    given = texts(*("x" * length for length in lengths))
    response, asked = anyio.run(embed, FakeOpenAI(), Request(model="tiny", input=given))
    vectors = [block.vector for block in response.content if isinstance(block, EmbeddingContent)]
    assert vectors == [(float(length), 120.0) for length in lengths]
    assert response.usage is not None
    assert response.usage.prompt_tokens == sum(lengths)
    assert len(asked) == -(-len(lengths) // TEXTS_AT_ONCE)


async def test_a_server_without_embeddings_says_so_in_its_own_words() -> None:
    with pytest.raises(AIError, match="does not support embeddings") as caught:
        await embed(FakeLlamaCpp(), Request(model="tiny", input="hello"))
    assert caught.value.status == 501


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Request(model="m", messages=[Message("user", "hi")]), ErrorCode.BAD_REQUEST),
        (Request(model="m", input=[]), ErrorCode.BAD_REQUEST),
        (Request(model="m", input=[ImageContent(data=b"x")]), ErrorCode.UNSUPPORTED_MODALITY),
    ],
)
async def test_only_texts_become_vectors(request_: Request, code: ErrorCode) -> None:
    with pytest.raises(AIError) as caught:
        await embed(FakeOpenAI(), request_)
    assert caught.value.code == code


async def test_a_signal_stops_the_wait_for_vectors() -> None:
    signal = AbortSignal()

    async def silent(_request: Received, _reply: Reply) -> None:
        signal.abort()
        await anyio.sleep_forever()

    with pytest.raises(AIError) as caught, anyio.fail_after(5):
        await embed(silent, Request(model="m", input="hi", signal=signal))
    assert caught.value.code == ErrorCode.ABORTED


@pytest.mark.parametrize(
    "reply",
    [
        None,
        {"data": []},
        {"data": [{"embedding": [1.0]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": []}]},
        {"data": [{"embedding": [1.0]}, {"embedding": ["x"]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [True]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [10**400]}]},
        {"data": [{"embedding": [1.0]}] * 3},
    ],
)
def test_a_reply_that_does_not_fit_the_texts_is_an_error(reply: object) -> None:
    with pytest.raises(AIError) as caught:
        checked_vectors(read_vectors(reply).vectors, 2)  # type: ignore[arg-type]
    assert caught.value.code == ErrorCode.ENGINE_ERROR


def test_vectors_without_a_place_come_in_the_order_of_the_texts() -> None:
    entries: list[object] = [{"embedding": [1]}, {"embedding": [2], "index": 7}]
    found = read_vectors({"data": entries})  # type: ignore[dict-item]
    assert found.vectors == [[1], [2]]


def test_long_texts_are_sent_in_several_requests() -> None:
    half = "x" * (CHARACTERS_AT_ONCE // 2)
    assert [len(batch) for batch in batches([half, half, "y", half * 3, "z"])] == [2, 1, 1, 1]


async def test_the_official_openai_client_takes_the_fakes_vectors_for_real() -> None:
    import openai

    async with (
        serve(FakeOpenAI()) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
    ):
        made = await client.embeddings.create(model="tiny", input=["ab", "c"])
    vectors = {entry.index: entry.embedding for entry in made.data}
    assert vectors == {0: [2.0, 97.0], 1: [1.0, 99.0]}


@pytest.mark.parametrize(
    "changes",
    [
        {"system_prompt": "Be brief."},
        {"tools": (ToolSchema(name="clock", description="The time."),)},
        {"tool_choice": "auto"},
        {"should_think": True},
        {"template_format": "jinja2"},
        *(
            {"options": GenerationOptions(**{name: value})}  # type: ignore[arg-type]
            for name, value in {
                "temperature": 0.5,
                "max_tokens": 9,
                "num_ctx": 2048,
                "keep_alive": "5m",
                "response_format": "json",
            }.items()
        ),
    ],
    ids=str,
)
async def test_what_has_no_place_in_an_embedding_is_refused(changes: Mapping[str, object]) -> None:
    asked = replace(Request(model="tiny", input="a"), **changes)  # type: ignore[arg-type]
    with pytest.raises(AIError, match="is not implemented") as caught:
        await embed(FakeOpenAI(), asked)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


def test_vectors_are_sorted_by_indexes_from_any_number() -> None:
    def order(*indexes: int) -> list[object]:
        return [*read_vectors({"data": [{"index": n, "embedding": [n]} for n in indexes]}).vectors]

    assert order(2, 1, 3) == [[1], [2], [3]]
    assert order(1, 0) == [[0], [1]]
    assert order(1, 0, 0) == [[1], [0], [0]]


async def test_vectors_of_other_lengths_than_asked_or_than_each_other_are_an_error() -> None:
    async def ragged(_request: Received, reply: Reply) -> None:
        await reply.whole(b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}')

    with pytest.raises(AIError, match="vectors of 1 and of 2 numbers"):
        await embed(ragged, Request(model="tiny", input=texts("a", "b")))
    options = GenerationOptions(extra_body={"dimensions": 5})
    with pytest.raises(AIError, match="have 2 dimensions, not 5") as caught:
        await embed(FakeOpenAI(), Request(model="tiny", input="a", options=options))
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
