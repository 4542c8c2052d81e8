"""LocalAI: what it has, what it can install, what is loaded, and how it starts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers.openai_compatible import LocalAIProvider
from ollm_tui.providers.openai_compatible.models import DRAWS
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_backends import FakeLocalAI
from tests.support.http_server import Handler, Received, Reply, Server, serve

HELLO = Request(model="tiny", messages=[Message("user", "hello")])


@asynccontextmanager
async def connected(handler: Handler) -> AsyncIterator[tuple[LocalAIProvider, Server]]:
    async with serve(handler) as server:
        provider = LocalAIProvider(
            ProviderSpec(
                name="localai",
                kind="openai-compatible",
                label="LocalAI",
                base_url=server.url,
                backend="localai",
            )
        )
        yield provider, server
        await provider.dispose()


async def test_it_lists_what_each_model_is_for_its_window_and_what_is_loaded() -> None:
    async with connected(FakeLocalAI()) as (provider, _):
        info, painter = await provider.list_models()
        running = await provider.list_running()
    assert (info.name, info.context, info.loaded) == ("tiny", 8192, True)
    assert info.capability is not None
    assert info.capability.input == {"text", "image"}
    assert running == [info]
    assert (painter.name, painter.capability, painter.loaded) == ("painter", DRAWS, False)


async def test_an_older_version_lists_everything_as_unknown() -> None:
    async with connected(FakeLocalAI(older=True)) as (provider, _):
        models = await provider.list_models()
    assert [info.name for info in models] == ["tiny", "painter"]
    assert [info.capability for info in models] == [None, None]


@pytest.mark.parametrize("name", ["new", "localai@new"])
async def test_a_model_of_a_gallery_is_installed_by_a_job(name: str) -> None:
    fake = FakeLocalAI()
    async with connected(fake) as (provider, _):
        _ = [progress async for progress in provider.pull_model(name)]
    assert fake.applied == [{"id": name}]


async def test_a_model_is_installed_from_the_address_of_its_configuration() -> None:
    fake = FakeLocalAI()
    async with connected(fake) as (provider, server):
        _ = [progress async for progress in provider.pull_model("https://x.example/m.yaml")]
    assert fake.applied == [{"url": "https://x.example/m.yaml"}]
    assert "/models/available" not in [request.path for request in server.received]


async def test_a_model_that_no_gallery_has_is_not_asked_for() -> None:
    fake = FakeLocalAI()
    async with connected(fake) as (provider, _):
        with pytest.raises(AIError) as caught:
            _ = [progress async for progress in provider.pull_model("newer")]
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    assert caught.value.message == "LocalAI has no model newer."
    assert caught.value.hint == "It has new."
    assert fake.applied == []


async def test_a_model_is_unloaded_and_deleted_by_name() -> None:
    fake = FakeLocalAI()
    async with connected(fake) as (provider, _):
        await provider.unload_model("tiny")
        assert (fake.loaded, list(await provider.list_running())) == ([], [])
        await provider.delete_model("tiny")
        with pytest.raises(AIError) as caught:
            await provider.delete_model("nosuch")
    assert fake.deleted == ["tiny"]
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND


async def test_its_tokenizer_counts_text() -> None:
    async with connected(FakeLocalAI()) as (provider, _):
        assert await provider.count_text_tokens("tiny", "hello") == 5
        assert await provider.count_text_tokens("tiny", "") == 0


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "LocalAI requires an API key: HTTP 401 Unauthorized"),
        (404, "LocalAI at localhost:PORT does not know this path: HTTP 404 Not Found"),
        (500, "LocalAI failed: HTTP 500 Internal Server Error"),
        (503, "HTTP 503 Service Unavailable"),
    ],
)
async def test_an_error_without_a_word_is_reported_by_its_status(status: int, message: str) -> None:
    async def opaque(request: Received, reply: Reply) -> None:
        if request.path == "/readyz":
            await reply.whole(b"OK")
        else:
            await reply.whole(b"", status)

    async with connected(opaque) as (provider, server):
        async with provider.chat_stream(HELLO) as stream:
            (end,) = [event async for event in stream]
        assert list(await provider.list_models()) == []
    assert isinstance(end, ErrorEvent)
    assert end.error.message == message.replace("PORT", server.url.rpartition(":")[2])
    assert provider.last_error is not None
    assert provider.last_error.status == status
