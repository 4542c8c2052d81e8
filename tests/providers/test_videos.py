"""Videos as jobs that are followed, cancelled and picked up again, and those that come at once."""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from ollm_tui.protocol.blocks import ImageContent, TextContent, VideoContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import DrawingProgress, Finish, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.media import video
from ollm_tui.providers.openai_compatible import jobs
from ollm_tui.providers.pool import Member, pool_of
from tests.providers.test_drawing_servers import opened
from tests.providers.test_single_input import connected
from tests.support.fake_backends import FakeLocalAI
from tests.support.fake_drawing import FakeSdCpp
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_videos import VideoJobs
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, Reply, in_thread
from tests.support.picture_bytes import png
from tests.support.video_bytes import mp4, webm

FILM = Request(model="film", input="a cat walks", output="video", stream=False)
MP4 = VideoContent(data=mp4(), mime_type="video/mp4", duration_s=2.0)
CAT = ImageContent(data=png(6, 5))
KNOWN = frozenset({"openai", "openai-compatible", "lmstudio"})
"""Those whose fake makes videos as OpenAI does."""
Report = Callable[[DrawingProgress], Awaitable[None]]


def wants(seed: int | None = None, **body: Any) -> Request:
    return replace(FILM, options=GenerationOptions(seed=seed, extra_body=body))


def noting(seen: list[DrawingProgress]) -> Report:
    async def report(progress: DrawingProgress) -> None:
        seen.append(progress)

    return report


async def test_every_adapter_makes_videos_or_says_that_it_cannot() -> None:
    for name, remote in REMOTES.items():
        async with connected(remote) as (provider, _server):
            if name in KNOWN | {"localai"}:
                (made,) = (await provider.invoke(FILM)).content
                assert made == MP4, name
                continue
            with pytest.raises(AIError, match="offers no videos") as caught:
                await provider.invoke(FILM)
            assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE, name
            assert caught.value.hint


@pytest.mark.filterwarnings("ignore:The Sora API")
async def test_a_job_reports_its_progress_and_the_official_client_follows_the_same_one() -> None:
    import openai

    fake, seen = FakeOpenAI(), list[DrawingProgress]()
    request = wants(7, size="832x480", seconds=4, fps=24, num_frames=97, guidance_scale=2.5)
    async with connected(REMOTES["openai-compatible"], fake) as (provider, server):
        await provider.make_video(replace(request, input=[TextContent("walk"), CAT]), noting(seen))
    client_fake = FakeOpenAI()
    with in_thread(client_fake) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
        video_ = client.videos.create_and_poll(
            model="film",
            prompt="walk",
            seconds="4",
            size="1280x720",
            input_reference=("input_reference.png", png(6, 5), "image/png"),
            poll_interval_ms=1,
        )
        assert client.videos.download_content(video_.id).read() == mp4()
        client.videos.delete(video_.id)
        client.close()
    assert seen == [
        DrawingProgress(job="video_1"),
        DrawingProgress(job="video_1", step=40, total_steps=100),
    ]
    (sent,), (theirs,) = fake.videos.sent, client_fake.videos.sent
    assert sent == {
        "model": "film",
        "prompt": "walk",
        "size": "832x480",
        "seconds": "4",
        "fps": "24",
        "num_frames": "97",
        "seed": "7",
        "guidance_scale": "2.5",
        "input_reference": png(6, 5),
    }
    assert set(theirs) <= set(sent)
    assert theirs["input_reference"] == sent["input_reference"]


async def test_a_stream_has_the_steps_and_each_video_under_its_index() -> None:
    async with connected(REMOTES["openai-compatible"]) as (provider, _server):
        request = replace(wants(5, n=2), stream=True)
        async with await provider.invoke(request) as events:
            seen = [event async for event in events]
    steps = [event for event in seen if isinstance(event, MediaDelta) and event.step is not None]
    made = [event for event in seen if isinstance(event, MediaDelta) and event.step is None]
    assert {(step.modality, step.total_steps) for step in steps} == {("video", 100)}
    assert [(one.data, one.index) for one in made] == [(mp4(), 0), (mp4(), 1)]
    assert seen[-1] == Finish("stop")


async def test_an_abort_deletes_the_job_and_a_lost_one_is_named() -> None:
    fake, signal = FakeOpenAI(videos=VideoJobs(states=("in_progress",))), AbortSignal()

    async def stop(_progress: DrawingProgress) -> None:
        signal.abort()

    async with connected(REMOTES["openai-compatible"], fake) as (provider, _server):
        with anyio.fail_after(5), pytest.raises(AIError) as caught:
            await provider.make_video(replace(FILM, signal=signal), stop)
        assert caught.value.code == ErrorCode.ABORTED
        assert fake.videos.deleted == ["video_1"]
        with pytest.raises(AIError, match="no longer has this job") as lost:
            await provider.resume_video("video_1", FILM)
        assert lost.value.code == ErrorCode.BAD_REQUEST
        fake.videos.jobs["video_9"] = ["in_progress", "completed"]
        assert (await provider.resume_video("video_9", FILM)).content == (MP4,)
        fake.videos.states = ("failed",)
        with pytest.raises(AIError, match=r"made no video: out of memory\."):
            await provider.invoke(FILM)


async def test_a_job_that_never_ends_ends_at_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "MAX_JOB_S", 0.05)
    fake = FakeOpenAI(videos=VideoJobs(states=("in_progress",)))
    async with connected(REMOTES["openai-compatible"], fake) as (provider, _server):
        with anyio.fail_after(5), pytest.raises(AIError, match="took longer than") as caught:
            await provider.invoke(FILM)
    assert caught.value.code == ErrorCode.TIMEOUT
    assert fake.videos.deleted == ["video_1"]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (b"", "no video that can be read"),
        (b"<html>Not found</html>", "no video that can be read"),
        (png(), "no video that can be read"),
        (mp4() + bytes(5000), "more than|no video"),
    ],
)
async def test_what_is_no_video_or_too_large_is_an_error(
    result: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "MAX_VIDEO_BYTES", 4000)
    fake = FakeOpenAI(videos=VideoJobs(result=result))
    async with connected(REMOTES["openai-compatible"], fake) as (provider, _server):
        with pytest.raises(AIError, match=words):
            await provider.invoke(FILM)


async def test_a_reply_with_the_video_itself_needs_no_job() -> None:
    data = base64.b64encode(mp4()).decode()

    async def answers(request: Received, reply: Reply) -> None:
        link = {"url": "http://127.0.0.1:9/film.mp4"}
        entry = link if b"elsewhere" in request.body else {"b64_json": data}
        await reply.json({"id": "v", "status": "completed", "data": [entry]})

    async with connected(REMOTES["openai-compatible"], answers) as (provider, server):
        assert (await provider.invoke(FILM)).content == (MP4,)
        assert len(server.received) == 1
        with pytest.raises(AIError, match="another server"):
            await provider.invoke(replace(FILM, input="elsewhere"))


async def test_localai_gets_frames_for_seconds_and_its_own_links_are_followed() -> None:
    async with connected(REMOTES["localai"], FakeLocalAI()) as (provider, server):
        request = replace(wants(3, seconds=2, size="32x16"), input=[TextContent("walk"), CAT])
        (made,) = (await provider.invoke(request)).content
        assert made.duration_s == pytest.approx(33 / 16, abs=0.001)
        assert server.received[-1].json() == {
            "model": "film",
            "prompt": "walk",
            "response_format": "b64_json",
            "width": 32,
            "height": 16,
            "num_frames": 33,
            "fps": 16,
            "seed": 3,
            "start_image": base64.b64encode(png(6, 5)).decode(),
        }
        assert (await provider.invoke(replace(FILM, input="/made/film.mp4"))).content == (MP4,)
        with pytest.raises(AIError, match="another server"):
            await provider.invoke(replace(FILM, input="http://127.0.0.1:9/film.mp4"))


async def test_stable_diffusion_cpp_makes_videos_as_jobs_that_wait_and_are_cancelled() -> None:
    fake, seen = FakeSdCpp(modes=("vid_gen",)), list[DrawingProgress]()
    request = replace(wants(num_frames=17, fps=8, size="32x16"), input=[TextContent("walk"), CAT])
    async with opened("sdcpp", fake) as (provider, server):
        (made,) = (await provider.make_video(request, noting(seen))).content
        body = next(one.json() for one in server.received if one.method == "POST")
        fake.states = ("queued",)
        signal = AbortSignal()

        async def stop(_progress: DrawingProgress) -> None:
            signal.abort()

        with anyio.fail_after(5), pytest.raises(AIError):
            await provider.make_video(replace(FILM, signal=signal), stop)
        fake.jobs["job_9"] = ["generating", "completed"], {"prompt": "a cat"}
        (again,) = (await provider.resume_video("job_9", FILM)).content
    assert (made.data, made.mime_type) == (webm(17 / 8, 32, 16), "video/webm")
    assert made.duration_s == pytest.approx(17 / 8)
    assert seen[0] == DrawingProgress(job="job_6f_00000001", queue_position=1)
    assert body == {
        "prompt": "walk",
        "seed": -1,
        "width": 32,
        "height": 16,
        "video_frames": 17,
        "fps": 8,
        "init_image": base64.b64encode(png(6, 5)).decode(),
    }
    assert fake.cancelled == ["job_6f_00000002"]
    assert again.mime_type == "video/webm"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (replace(FILM, input=" "), "takes an input of some text"),
        (replace(FILM, input=[TextContent("a"), CAT, CAT]), "takes one picture"),
        (replace(FILM, input=[TextContent("a"), ImageContent(url="http://x/a.png")]), "as data"),
        (wants(seconds=0), "`seconds` takes a whole number from 1"),
        (wants(num_frames=99_999), "`num_frames` takes"),
        (wants(fps=True), "`fps` takes"),
        (wants(n=99), "`n` takes"),
        (replace(FILM, suffix="x"), "`suffix`|infill|Infill"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_it_is_sent(
    request_: Request, words: str
) -> None:
    for stream in (False, True):
        async with connected(REMOTES["openai-compatible"]) as (provider, server):
            with pytest.raises(AIError, match=words):
                await provider.invoke(replace(request_, stream=stream))
            assert server.received == []


async def test_a_pool_picks_a_job_up_again_from_the_member_that_has_it() -> None:
    seen: list[DrawingProgress] = []
    first, second = FakeOpenAI(), FakeOpenAI()
    async with (
        connected(REMOTES["openai-compatible"], first) as (one, _),
        connected(REMOTES["openai-compatible"], second) as (other, _),
    ):
        pool: Any = pool_of("team", "Team", [Member(one, "a:1"), Member(other, "b:2")])
        await pool.make_video(FILM, noting(seen))
        job = seen[0].job
        assert job is not None
        assert "a:1" not in job
        assert "b:2" not in job
        turned: Any = pool_of("team", "Team", [Member(other, "b:2"), Member(one, "a:1")])
        assert (await turned.resume_video(job, FILM)).content == (MP4,)
        smaller: Any = pool_of("team", "Team", [Member(other, "c:3")])
        for lost in (job, "video_1", ""):
            with pytest.raises(AIError, match="no server with this job") as caught:
                await smaller.resume_video(lost, FILM)
            assert caught.value.code == ErrorCode.BAD_REQUEST
    assert len(first.videos.jobs) + len(second.videos.jobs) == 1
