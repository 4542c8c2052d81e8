"""LM Studio's own API: lists, loads, unloads, downloads, and how it refuses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers.openai_compatible import LMStudioProvider
from ollm_tui.providers.openai_compatible.models import EMBEDS
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_backends import FakeLMStudio
from tests.support.http_server import Handler, Received, Reply, Server, serve


@asynccontextmanager
async def connected(handler: Handler) -> AsyncIterator[tuple[LMStudioProvider, Server]]:
    async with serve(handler) as server:
        provider = LMStudioProvider(
            ProviderSpec(
                name="lms",
                kind="openai-compatible",
                label="LM Studio",
                base_url=f"{server.url}/v1",
                backend="lmstudio",
                api_key="k1",
            )
        )
        yield provider, server
        await provider.dispose()


async def test_its_list_tells_windows_sizes_and_what_is_loaded() -> None:
    async with connected(FakeLMStudio()) as (provider, server):
        tiny, big, vectors = await provider.list_models()
        assert vectors.capability == EMBEDS
        running = await provider.list_running()
        shown = await provider.show_model("big")
    assert (tiny.name, tiny.label, tiny.loaded, tiny.context) == ("tiny", "Tiny", True, 4096)
    assert (big.loaded, big.context, big.details["context_trained"]) == (False, None, 32768)
    assert big.details["quantization"] == "Q4_K_M"
    assert big.capability is not None
    assert "image" in big.capability.input
    assert [info.name for info in running] == ["tiny"]
    assert shown == big
    asked = [(r.headers["authorization"], r.headers["x-api-key"]) for r in server.received]
    assert set(asked) == {("Bearer k1", "k1")}


async def test_an_older_version_lists_and_says_that_it_can_do_no_more() -> None:
    for status in (404, 200):  # some versions answer an unknown path with 200
        fake = FakeLMStudio(older=True, status_of_unknown=status)
        async with connected(fake) as (provider, _):
            tiny, big, *_ = await provider.list_models()
            assert (tiny.context, tiny.loaded, big.loaded) == (4096, True, False)
            with pytest.raises(AIError) as caught:
                await provider.load_model("big")
            assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
            assert str(caught.value).endswith("It can from 0.4.0 on.")
            with pytest.raises(AIError, match="cannot unload models"):
                await provider.unload_model("tiny")
            with pytest.raises(AIError, match="cannot download models"):
                _ = [progress async for progress in provider.pull_model("new")]


async def test_a_server_that_is_silent_is_asked_for_its_list_only_once() -> None:
    async def silent(_request: Received, _reply: Reply) -> None:
        await anyio.sleep_forever()

    async with serve(silent) as server:
        spec = ProviderSpec(
            name="lms", kind="openai-compatible", base_url=server.url, list_timeout_s=0.05
        )
        provider = LMStudioProvider(spec)
        assert list(await provider.list_models()) == []
        await provider.dispose()
    assert provider.last_error is not None
    assert provider.last_error.code == ErrorCode.TIMEOUT
    assert len(server.received) == 1


async def test_a_model_is_loaded_and_all_of_its_instances_are_unloaded() -> None:
    fake = FakeLMStudio()
    async with connected(fake) as (provider, _):
        await provider.load_model("big")
        await provider.load_model("big")
        assert fake.loaded["big"] == ["big", "big:2"]
        await provider.unload_model("big")
        assert fake.loaded == {"tiny": ["tiny"], "big": []}
        await provider.unload_model("big")  # nothing to do
        for action in (provider.load_model, provider.unload_model, provider.show_model):
            with pytest.raises(AIError) as caught:
                await action("nosuch")
            assert caught.value.code == ErrorCode.MODEL_NOT_FOUND


async def test_what_is_there_is_not_downloaded_again() -> None:
    async with connected(FakeLMStudio()) as (provider, _):
        there = [p.status async for p in provider.pull_model("tiny")]
    assert there == ["already downloaded", "success"]


@pytest.mark.parametrize(
    "event",
    [
        'event: error\ndata: {"type":"error","error":{"type":"x","message":"Out of memory"}}\n\n',
        'data: {"error": "Out of memory"}\n\n',
        'event: error\ndata: {"message": "Out of memory"}\n\n',
    ],
)
async def test_a_failure_inside_an_answer_is_reported_in_the_servers_words(event: str) -> None:
    async def failing(_request: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        await reply.write(b'data: {"choices":[{"index":0,"delta":{"content":"It was"}}]}\n\n')
        await reply.write(event.encode())
        await reply.write(b"data: [DONE]\n\n")

    async with connected(failing) as (provider, _):
        request = Request(model="tiny", messages=[Message("user", "hello")])
        async with provider.chat_stream(request) as stream:
            text, end = [event async for event in stream]
    assert text == TextDelta("It was")
    assert isinstance(end, ErrorEvent)
    assert end.error.message == "Out of memory"
