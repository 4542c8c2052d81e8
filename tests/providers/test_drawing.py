"""Pictures of a text: as data, or from the server's own links and no others."""

from dataclasses import replace
from typing import Any

import pytest

from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.signals import AbortSignal
from tests.providers.test_audio import UNKNOWN_PATH, WITHOUT
from tests.providers.test_single_input import connected
from tests.support.fake_openai import FakeOpenAI
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, Reply, serve
from tests.support.picture_bytes import png

DRAW = Request(model="painter", input="a cat", output="image", stream=False)
CAT = ImageContent(data=png(6, 5), mime_type="image/png", width=6, height=5)


async def test_every_adapter_draws_or_says_that_it_cannot() -> None:
    for name, remote in REMOTES.items():
        async with connected(remote) as (provider, server):
            if name in WITHOUT | UNKNOWN_PATH:
                with pytest.raises(AIError, match="offers no pictures") as caught:
                    await provider.invoke(DRAW)
                assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
                assert (server.received == []) == (name in WITHOUT)
                continue
            response = await provider.invoke(DRAW)
        assert isinstance(response, Response), name
        (picture,) = response.content
        assert picture == ImageContent(data=png(3, 2), mime_type="image/png", width=3, height=2), (
            name
        )
        assert response.metadata == {"revised_prompts": ["a cat, in oil"]}
        assert response.usage is not None
        assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (3, 9)


async def test_size_and_seed_are_sent_and_openais_own_models_get_no_format() -> None:
    options = GenerationOptions(seed=7, extra_body={"size": "16x8"})
    async with connected(REMOTES["openai-compatible"]) as (provider, server):
        await provider.invoke(replace(DRAW, options=options))
        with pytest.raises(AIError, match="Not a picture model"):
            await provider.invoke(replace(DRAW, model="gpt-image-1"))
    first, second = (one.json() for one in server.received)
    assert first == {
        "model": "painter",
        "prompt": "a cat",
        "seed": 7,
        "size": "16x8",
        "response_format": "b64_json",
    }
    assert "response_format" not in second


async def test_a_link_is_followed_to_the_server_itself_and_to_no_other() -> None:
    async with connected(REMOTES["openai-compatible"]) as (provider, server):
        own = server.url.replace("127.0.0.1", "localhost")
        async with serve(FakeOpenAI()) as other:
            here = str(provider._transport.url).removesuffix("/v1")
            for link in ("/made/cat.png", f"{here}/made/cat.png"):
                response = await provider.invoke(replace(DRAW, input=link))
                assert response.content == (CAT,)
            for link in (f"{other.url}/made/cat.png", "file:///etc/passwd", "http://[", own + "0/"):
                with pytest.raises(AIError, match="another server") as caught:
                    await provider.invoke(replace(DRAW, input=link))
                assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
                assert caught.value.hint
            assert other.received == []
        with pytest.raises(AIError):
            await provider.invoke(replace(DRAW, input="/made/nothing.png"))
        with pytest.raises(AIError, match="no picture that can be read"):
            await provider.invoke(replace(DRAW, input="data:image/png;base64,AAAA"))


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"data": []},
        {"data": [{}]},
        {"data": [{"b64_json": "&&&"}]},
        {"data": [{"b64_json": "PHN2Zz4="}]},
        {"error": {"message": "out of paint"}},
    ],
)
async def test_what_is_no_picture_is_an_error(reply: Any) -> None:
    async def answers(_request: Received, sent: Reply) -> None:
        await sent.json(reply)

    words = "out of paint" if "error" in reply else "no picture that can be read"
    async with connected(REMOTES["openai-compatible"], answers) as (provider, _server):
        with pytest.raises(AIError, match=words):
            await provider.invoke(DRAW)


async def test_what_cannot_be_drawn_is_refused_before_and_a_signal_stops_the_wait() -> None:
    signal = AbortSignal()

    async def waits(_request: Received, reply: Reply) -> None:
        signal.abort()
        await reply.start()

    async with connected(REMOTES["openai-compatible"], waits) as (provider, server):
        for request, words in (
            (replace(DRAW, stream=True), "Pictures cannot be streamed"),
            (replace(DRAW, input=" "), "some text"),
            (replace(DRAW, options=GenerationOptions(top_p=1)), "top_p"),
        ):
            with pytest.raises(AIError, match=words):
                await provider.invoke(request)
        assert server.received == []
        with pytest.raises(AIError) as caught:
            await provider.invoke(replace(DRAW, signal=signal))
        assert caught.value.code == ErrorCode.ABORTED


async def test_the_official_client_takes_the_fakes_pictures_for_real() -> None:
    import openai

    async with (
        serve(FakeOpenAI()) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
    ):
        made = await client.images.generate(model="painter", prompt="a cat", n=1)
    assert made.data is not None
    assert made.data[0].b64_json
