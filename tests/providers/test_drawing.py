"""Pictures of a text: as data, or from the server's own links and no others."""

import base64
import json
import time
from dataclasses import replace
from typing import Any

import anyio
import pytest

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import Finish, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from tests.providers.test_audio import SPEAK, UNKNOWN_PATH, WITHOUT
from tests.providers.test_single_input import connected
from tests.support.fake_openai import FakeOpenAI, parts_of
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, Reply, in_thread, serve
from tests.support.picture_bytes import png

DRAW = Request(model="painter", input="a cat", output="image", stream=False)
PNG = base64.b64encode(png()).decode()
CAT = ImageContent(data=png(6, 5), mime_type="image/png", width=6, height=5)


async def test_every_adapter_draws_or_says_that_it_cannot() -> None:
    for name, remote in REMOTES.items():
        async with connected(remote) as (provider, server):
            if name == "ollama":
                with pytest.raises(AIError, match="sent no picture"):
                    await provider.invoke(replace(DRAW, model="tiny"))
                continue
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
        if name == "kobold":
            continue  # its interface has neither
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
            (replace(DRAW, input=" "), "some text"),
            (replace(DRAW, input=" ", stream=True), "some text"),
            (replace(DRAW, mask=CAT), "A mask takes a picture"),
            (replace(DRAW, input=[TextContent("red"), ImageContent(data=b"no")]), "no picture"),
            (replace(DRAW, input=[TextContent("red"), ImageContent(url="http://x/")]), "as data"),
            (replace(DRAW, options=GenerationOptions(extra_body={"n": 0})), "whole number"),
            (replace(DRAW, options=GenerationOptions(top_p=1)), "top_p"),
        ):
            with pytest.raises(AIError, match=words):
                await provider.invoke(request)
        assert server.received == []
        with pytest.raises(AIError) as caught:
            await provider.invoke(replace(DRAW, signal=signal))
        assert caught.value.code == ErrorCode.ABORTED


async def test_several_pictures_come_in_their_order_whole_or_as_a_stream() -> None:
    request = replace(DRAW, options=GenerationOptions(extra_body={"n": 3}))
    async with connected(REMOTES["openai-compatible"]) as (provider, _server):
        whole = await provider.invoke(request)
        stream = await provider.invoke(replace(request, stream=True))
        async with stream as events:
            streamed = [event async for event in events]
    assert [block.data for block in whole.content] == [png(3, 2), png(4, 2), png(5, 2)]
    *deltas, end = streamed
    assert deltas == [
        MediaDelta(modality="image", data=block.data, index=number)
        for number, block in enumerate(whole.content)
    ]
    assert end == Finish("stop", whole.usage)


EDIT = replace(DRAW, input=[TextContent("make it red"), CAT])


async def test_pictures_are_edited_by_a_form_and_a_mask_says_where() -> None:
    async with connected(REMOTES["openai-compatible"]) as (provider, server):
        (one,) = (await provider.invoke(EDIT)).content
        masked = replace(EDIT, mask=ImageContent(data=f"data:,{PNG}"), output="image")
        (with_mask,) = (await provider.invoke(masked)).content
        several = replace(
            EDIT, input=[TextContent("make it red"), CAT, CAT], options=GenerationOptions(seed=3)
        )
        (of_two,) = (await provider.invoke(several)).content
        with pytest.raises(AIError, match="Not a picture model"):
            await provider.invoke(replace(EDIT, model="tiny"))
    assert [picture.width for picture in (one, with_mask, of_two)] == [4, 5, 5]
    first, second, third, _ = (parts_of(request) for request in server.received)
    assert first == [
        ("model", None, b"painter"),
        ("prompt", None, b"make it red"),
        ("response_format", None, b"b64_json"),
        ("image", "image.png", CAT.data),
    ]
    assert second[-1] == ("mask", "mask.png", png())
    assert [part[:2] for part in third if part[1]] == [("image[]", "image.png")] * 2
    assert ("seed", None, b"3") in third
    assert {request.path for request in server.received} == {"/v1/images/edits"}


async def test_lm_studio_says_with_a_status_of_success_that_it_does_not_draw() -> None:
    async def answers(_request: Received, reply: Reply) -> None:
        await reply.json({"error": "Unexpected endpoint or method. (POST /v1/images/generations)"})

    async with connected(REMOTES["lmstudio"], answers) as (provider, _server):
        for request, what in (
            (DRAW, "pictures"),
            (EDIT, "pictures"),
            (replace(SPEAK, stream=False), "speech"),
        ):
            with pytest.raises(AIError, match=f"offers no {what}") as caught:
                await provider.invoke(request)
            assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_a_large_picture_does_not_hold_up_the_event_loop() -> None:
    data = png() + bytes(20_000_000)
    reply = json.dumps({"data": [{"b64_json": base64.b64encode(data).decode()}]}).encode()
    longest, before = 0.0, time.monotonic()

    async def answers(_request: Received, sent: Reply) -> None:
        await sent.whole(reply)

    async def beat() -> None:
        nonlocal longest, before
        while True:
            await anyio.sleep(0)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()

    with in_thread(answers) as server:
        provider: Any = create_provider(REMOTES["openai-compatible"].spec(server.url))
        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            response = await provider.invoke(DRAW)
            group.cancel_scope.cancel()
        await provider.dispose()
    assert response.content[0].data == data
    assert longest < 0.25, longest


async def test_the_official_client_takes_the_fakes_pictures_for_real() -> None:
    import openai

    async with (
        serve(FakeOpenAI()) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
    ):
        made = await client.images.generate(model="painter", prompt="a cat", n=2)
        files = ("cat.png", png(), "image/png")
        edited = await client.images.edit(model="painter", prompt="red", image=files, mask=files)
        of_two = await client.images.edit(model="painter", prompt="red", image=[files, files])
        (ours, theirs) = server.received[1], server.received[2]
    assert made.data is not None
    assert [bool(one.b64_json) for one in made.data] == [True, True]
    assert edited.data is not None
    assert of_two.data is not None
    assert {part[0] for part in parts_of(ours)} == {"model", "prompt", "image", "mask"}
    assert {part[0] for part in parts_of(theirs)} == {"model", "prompt", "image[]"}


async def test_our_requests_have_the_fields_of_the_official_clients_types() -> None:
    from openai.types import image_edit_params, image_generate_params

    options = GenerationOptions(extra_body={"n": 2, "size": "16x16", "quality": "low"})
    async with connected(REMOTES["openai"]) as (provider, server):
        await provider.invoke(replace(DRAW, options=options))
        await provider.invoke(replace(EDIT, options=options, mask=CAT))
    drawn, edited = server.received
    assert (
        drawn.json().keys()
        <= image_generate_params.ImageGenerateParamsNonStreaming.__annotations__.keys()
    )
    known = image_edit_params.ImageEditParamsNonStreaming.__annotations__.keys()
    assert {part[0] for part in parts_of(edited)} <= known
