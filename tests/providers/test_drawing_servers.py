"""stable-diffusion.cpp's jobs, and the interface of AUTOMATIC1111's web UI and KoboldCpp."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import DrawingProgress, Finish, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.discovery import probe
from ollm_tui.providers.openai_compatible.models import DRAWS, FILMS
from ollm_tui.providers.openai_compatible.sdcpp import read_sdcpp
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_backends import FakeKobold
from tests.support.fake_drawing import FakeSdCpp, FakeWebUI
from tests.support.http_server import Handler, Server, serve
from tests.support.picture_bytes import png

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

DRAW = Request(model="painter", input="a cat", output="image", stream=False)
CAT = ImageContent(data=png(6, 5), mime_type="image/png", width=6, height=5)
EDIT = replace(DRAW, input=[TextContent("red"), CAT], mask=CAT)
OPTIONS = GenerationOptions(seed=7, extra_body={"size": "16x8", "n": 2, "steps": 4})


@asynccontextmanager
async def opened(backend: str, handler: Handler) -> AsyncIterator[tuple[Any, Server]]:
    async with serve(handler) as server:
        spec = ProviderSpec(
            name="p", kind="openai-compatible", backend=backend, base_url=server.url
        )
        provider: Any = create_provider(spec)
        yield provider, server
        await provider.dispose()


def submitted(server: Server) -> dict[str, object]:
    return next(one.json() for one in server.received if one.method == "POST")


def sizes(response: Any) -> list[tuple[int, int]]:
    return [(picture.width, picture.height) for picture in response.content]


# stable-diffusion.cpp


async def test_a_job_reports_its_place_in_the_queue_and_gives_its_pictures_in_order() -> None:
    seen: list[DrawingProgress] = []

    async def report(progress: DrawingProgress) -> None:
        seen.append(progress)

    async with opened("sdcpp", FakeSdCpp()) as (provider, server):
        response = await provider.draw(replace(DRAW, options=OPTIONS), report)
        job = next(iter(server.received)).json()
    assert sizes(response) == [(16, 8), (17, 8)]
    assert seen == [
        DrawingProgress(job="job_6f_00000001", queue_position=1),
        DrawingProgress(job="job_6f_00000001"),
    ]
    wanted = {"prompt": "a cat", "batch_count": 2, "seed": 7, "width": 16, "height": 8, "steps": 4}
    assert job == wanted


async def test_an_edit_sends_the_picture_as_start_and_as_reference_and_its_mask() -> None:
    picture = base64.b64encode(png(6, 5)).decode()
    async with opened("sdcpp", FakeSdCpp()) as (provider, server):
        response = await provider.invoke(EDIT)
    assert sizes(response) == [(5, 2)]
    wanted = {"init_image": picture, "ref_images": [picture], "mask_image": picture}
    assert submitted(server) == {"prompt": "red", "batch_count": 1, "seed": -1, **wanted}


@pytest.mark.parametrize("state", ["queued", "generating"])
async def test_an_abort_ends_at_once_and_cancels_a_job_that_waits(state: str) -> None:
    fake, signal = FakeSdCpp(states=(state,)), AbortSignal()

    async def stop(_progress: DrawingProgress) -> None:
        signal.abort()

    async with opened("sdcpp", fake) as (provider, server):
        with anyio.fail_after(5), pytest.raises(AIError) as caught:
            await provider.draw(replace(DRAW, signal=signal), stop)
        assert caught.value.code == ErrorCode.ABORTED
        assert server.received[-1].path == "/sdcpp/v1/jobs/job_6f_00000001/cancel"
    assert fake.cancelled == (["job_6f_00000001"] if state == "queued" else [])


async def test_a_stream_that_is_left_cancels_its_job() -> None:
    fake = FakeSdCpp(states=("queued",))
    async with opened("sdcpp", fake) as (provider, server):
        async with await provider.invoke(replace(DRAW, stream=True)):
            with anyio.fail_after(5):
                while not fake.jobs:
                    await anyio.sleep(0.001)
        await server.settled()
    assert len(fake.cancelled) <= 1
    assert all(states == ["cancelled"] for states, _ in fake.jobs.values())


async def test_a_job_is_picked_up_again_unless_the_server_has_dropped_it() -> None:
    fake = FakeSdCpp(states=("generating", "completed"))
    async with opened("sdcpp", fake) as (provider, _server):
        fake.jobs["job_1"] = ["generating", "completed"], {"prompt": "a cat"}
        assert sizes(await provider.resume_drawing("job_1", DRAW)) == [(3, 2)]
        with pytest.raises(AIError, match="no longer has this job") as caught:
            await provider.resume_drawing("job_2", DRAW)
    assert caught.value.code == ErrorCode.BAD_REQUEST
    assert fake.cancelled == []


async def test_a_job_that_fails_says_why_and_a_refused_one_is_no_job() -> None:
    async with opened("sdcpp", FakeSdCpp(states=("failed",))) as (provider, _server):
        with pytest.raises(AIError, match="generate_image returned no results") as caught:
            await provider.invoke(DRAW)
        assert caught.value.code == ErrorCode.ENGINE_ERROR
        with pytest.raises(AIError, match="prompt required"):
            extra = GenerationOptions(extra_body={"prompt": ""})
            await provider.invoke(replace(DRAW, options=extra))


async def test_its_model_is_listed_as_one_that_draws() -> None:
    fake = FakeSdCpp()
    async with opened("sdcpp", fake) as (provider, server):
        (info,) = await provider.list_models()
        engine = (await probe(server.url)).engine
    assert (info.name, info.capability, info.loaded) == ("painter", DRAWS, True)
    assert engine is not None
    assert (engine.backend, engine.label) == ("sdcpp", "stable-diffusion.cpp")
    films: JsonObject = {"model": {"stem": "wan"}, "supported_modes": ["vid_gen"]}
    assert [one.capability for one in read_sdcpp(films)] == [FILMS]
    both: JsonObject = {"model": {"stem": "wan"}, "supported_modes": ["img_gen", "vid_gen"]}
    (either,) = read_sdcpp(both)
    assert either.capability is not None
    assert either.capability.output == {"image", "video"}
    assert read_sdcpp({}) == read_sdcpp(None) == []


# /sdapi/v1


async def test_the_web_ui_gets_model_size_and_seed_and_reports_its_steps() -> None:
    fake = FakeWebUI(done=anyio.Event())
    async with opened("sdwebui", fake) as (provider, server), anyio.create_task_group() as group:

        async def finish() -> None:
            await fake.asked.wait()
            assert fake.done is not None
            fake.done.set()

        group.start_soon(finish)
        stream = await provider.invoke(replace(DRAW, options=OPTIONS, stream=True))
        async with stream as events:
            *steps, first, second, end = [event async for event in events]
    assert steps[0] == MediaDelta(modality="image", data=b"", step=1, total_steps=20)
    assert steps[1] == MediaDelta(modality="image", data=png(1, 1), step=2, total_steps=20)
    assert (first.data, first.index, second.index) == (png(16, 8), 0, 1)
    assert end == Finish("stop")
    assert submitted(server) == {
        "override_settings": {"sd_model_checkpoint": "painter"},
        "prompt": "a cat",
        "batch_size": 2,
        "width": 16,
        "height": 8,
        "seed": 7,
        "steps": 4,
    }


async def test_an_abort_interrupts_the_web_ui_once_it_has_begun() -> None:
    fake, signal = FakeWebUI(done=anyio.Event()), AbortSignal()

    async def stop(_progress: DrawingProgress) -> None:
        signal.abort()

    async with opened("sdwebui", fake) as (provider, _server):
        with anyio.fail_after(5), pytest.raises(AIError) as caught:
            await provider.draw(replace(DRAW, signal=signal), stop)
    assert caught.value.code == ErrorCode.ABORTED
    assert fake.interrupted == 1


async def test_an_abort_before_the_first_step_interrupts_the_web_ui_too() -> None:
    fake, signal = FakeWebUI(done=anyio.Event()), AbortSignal()
    async with opened("sdwebui", fake) as (provider, _server), anyio.create_task_group() as group:

        async def stop() -> None:
            await fake.begun.wait()
            signal.abort()

        group.start_soon(stop)
        with anyio.fail_after(5), pytest.raises(AIError) as caught:
            await provider.draw(replace(DRAW, signal=signal))
    assert caught.value.code == ErrorCode.ABORTED
    assert fake.interrupted == 1


async def test_a_refused_drawing_interrupts_nothing_of_the_web_ui() -> None:
    fake = FakeWebUI()
    async with opened("sdwebui", fake) as (provider, _server):
        with pytest.raises(AIError, match="out of memory"):
            await provider.draw(replace(DRAW, input="refused"))
    assert fake.interrupted == 0


async def test_koboldcpp_draws_and_edits_and_lists_its_second_model() -> None:
    picture = base64.b64encode(png(6, 5)).decode()
    async with opened("kobold", FakeKobold()) as (provider, server):
        assert sizes(await provider.invoke(EDIT)) == [(8, 5)]
        body = submitted(server)
        with pytest.raises(AIError, match="no picture that can be read"):
            await provider.invoke(replace(DRAW, input="nothing"))
        listed = {info.name: info.capability for info in await provider.list_models()}
    assert body == {
        "prompt": "red",
        "batch_size": 1,
        "init_images": [picture],
        "mask": picture,
        "width": 6,
        "height": 5,
    }
    assert listed["painter"] == DRAWS
    assert listed["tiny"] != DRAWS


@pytest.mark.parametrize(("backend", "make"), [("sdcpp", FakeSdCpp), ("sdwebui", FakeWebUI)])
async def test_a_prompt_to_a_model_that_only_draws_is_refused_before_it_is_sent(
    backend: str, make: type[FakeSdCpp | FakeWebUI]
) -> None:
    async with opened(backend, make()) as (provider, server):
        async with provider.chat_stream(
            Request(model="painter", messages=[Message("user", "hello")])
        ) as events:
            (end,) = [event async for event in events]
        assert server.received == []
    assert end.error.message == "painter draws and does not chat."
    assert "/image" in end.error.hint
