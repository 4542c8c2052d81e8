"""Speech and transcription with engines of this machine, on the engine of the tests."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.blocks import AudioContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, MediaDelta, Segment
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.sound import SoundOperations
from ollm_tui.providers.embedded.sound_plans import SoundPlanner, SoundTask
from ollm_tui.providers.embedded.supervisor import Supervisor
from ollm_tui.providers.embedded.worker import WorkerPlan, Workers
from ollm_tui.providers.media.answer import gather_sound
from tests.support.engine_cases import fake_plan
from tests.support.sound_models import wave_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
HELLO = "Hello there. How are you?"


class FakePlanner(SoundPlanner):
    """Plans the engine of the tests for every model."""

    def __init__(self, folder: Path) -> None:
        super().__init__(FolderLibrary([folder]), KnownModels(), EmbeddedSettings())
        self.folder = folder
        self.content = {"speech": "model speaks", "transcription": "model hears"}

    def plan(self, name: str, task: SoundTask | None = None) -> WorkerPlan | None:
        if name == "nothing":
            return super().plan(name, task)
        return fake_plan(self.folder, self.content[task or "speech"], engine=task or "none")


@pytest.fixture
def planner(tmp_path: Path) -> FakePlanner:
    return FakePlanner(tmp_path)


@asynccontextmanager
async def engines(planner: FakePlanner) -> AsyncIterator[SoundOperations]:
    async with Supervisor(EmbeddedSettings(load_timeout_s=20)) as supervisor:
        yield SoundOperations(planner, Workers(supervisor), "embedded")


def speech(
    text: str = HELLO, *, model: str = "m", signal: AbortSignal | None = None, **body: Any
) -> Request:
    options = GenerationOptions(extra_body=body or None)
    return Request(model=model, input=text, output="audio", options=options, signal=signal)


def hearing(data: bytes = b"one two three", **body: Any) -> Request:
    options = GenerationOptions(extra_body=body or None)
    return Request(model="m", input=[AudioContent(data=data)], options=options, stream=False)


async def test_speech_is_a_wav_file_in_pieces_a_sentence_each(planner: FakePlanner) -> None:
    async with engines(planner) as them, them.speak(speech()) as events:
        came = [event async for event in events]
    assert [type(event) for event in came] == [MediaDelta, MediaDelta, Finish]
    sound = b"".join(event.data for event in came if isinstance(event, MediaDelta))
    assert sound[:4] == b"RIFF"
    assert sound[44:] == b"\1\0" * len("Hello there." + "How are you?")


@pytest.mark.parametrize("task", ["speech", "transcription"])
async def test_a_model_stays_loaded_for_the_time_of_the_request(
    planner: FakePlanner, task: SoundTask
) -> None:
    async with Supervisor(EmbeddedSettings(load_timeout_s=20)) as supervisor:
        them = SoundOperations(planner, Workers(supervisor), "embedded")

        async def work(keep_alive: str | None) -> None:
            request = speech() if task == "speech" else hearing()
            options = replace(request.options, keep_alive=keep_alive)
            request = replace(request, options=options)
            if task == "speech":
                await gather_sound(them.speak(request))
            else:
                await them.transcribe(request)

        for keep_alive, kept_s in ((None, 300), ("2h", 7200), ("-1", None)):
            await work(keep_alive)
            assert [engine.idle_unload_s for engine in supervisor.engines] == [kept_s]
        (engine,) = supervisor.engines
        await work("0")
        with anyio.fail_after(5):
            await engine.exited.wait()
        assert supervisor.engines == ()
        with pytest.raises(AIError, match="keep_alive must be"):
            await work("soon")


async def test_speech_that_comes_whole_says_how_long_it_is(planner: FakePlanner) -> None:
    async with engines(planner) as them:
        response = await gather_sound(them.speak(speech()))
    assert response.content == (
        AudioContent(data=wave_of(b"\1\0" * 24, rate=8000), mime_type="audio/wav"),
    )


async def test_a_text_without_words_is_one_error(planner: FakePlanner) -> None:
    async with engines(planner) as them:
        with pytest.raises(AIError, match="takes an input of some text"):
            them.speak(speech(" \n"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {"response_format": "mp3"},
            "The built-in engine writes WAV files, not mp3. Name a file that ends in .wav.",
        ),
        (
            {"instructions": "angry"},
            "`instructions` is no option for speech with the built-in engine. "
            "It takes speed, voice.",
        ),
    ],
)
async def test_what_no_engine_does_is_refused(
    planner: FakePlanner, body: dict[str, Any], text: str
) -> None:
    async with engines(planner) as them:
        with pytest.raises(AIError) as caught:
            them.speak(speech(**body))
    assert (caught.value.code, str(caught.value)) == (ErrorCode.UNSUPPORTED_FEATURE, text)


async def test_a_model_that_is_not_there_is_one_event(planner: FakePlanner) -> None:
    async with engines(planner) as them, them.speak(speech(model="nothing")) as events:
        (end,) = [event async for event in events]
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.provider) == (ErrorCode.MODEL_NOT_FOUND, "embedded")


async def test_an_aborted_speech_ends_as_such(planner: FakePlanner) -> None:
    stop = AbortSignal()
    async with (
        engines(planner) as them,
        them.speak(speech("A word. " * 2000, signal=stop)) as events,
    ):
        await anext(events)
        stop.abort()
        with anyio.fail_after(5):
            rest = [event async for event in events]
    assert rest[-1:] == [Finish("abort")]


async def test_a_speech_that_is_aborted_before_it_begins_ends_as_such(
    planner: FakePlanner,
) -> None:
    stop = AbortSignal()
    stop.abort()
    async with engines(planner) as them, them.speak(speech(signal=stop)) as events:
        assert [event async for event in events] == [Finish("abort")]


async def test_a_crash_while_speaking_is_the_last_event(planner: FakePlanner) -> None:
    planner.content["speech"] = "model crash"
    async with engines(planner) as them, them.speak(speech()) as events:
        (end,) = [event async for event in events]
    assert isinstance(end, ErrorEvent)
    assert end.error.message == "The engine stopped (signal 11)."


async def test_a_transcription_has_language_duration_and_segments(planner: FakePlanner) -> None:
    heard: list[Segment] = []

    async def report(segment: Segment) -> None:
        heard.append(segment)

    async with engines(planner) as them:
        response = await them.transcribe_segments(hearing(language="de"), report)
    assert response.content == (TextContent("one two three"),)
    assert response.metadata == {
        "language": "de",
        "duration_s": 3,
        "segments": [
            {"start": 0, "end": 1, "text": " one"},
            {"start": 1, "end": 2, "text": " two"},
            {"start": 2, "end": 3, "text": " three"},
        ],
    }
    assert [(one.start_s, one.end_s, one.text, one.total_s) for one in heard] == [
        (0, 1, " one", 3),
        (1, 2, " two", 3),
        (2, 3, " three", 3),
    ]


@pytest.mark.parametrize(
    ("request_", "match"),
    [
        (hearing(b""), "The sound is empty"),
        (hearing(b"x", format="srt"), "`format` is no option for transcription"),
        (Request(model="m", input=[TextContent("x")], stream=False), "one sound"),
    ],
)
async def test_a_transcription_of_something_else_is_refused(
    planner: FakePlanner, request_: Request, match: str
) -> None:
    async with engines(planner) as them:
        with pytest.raises(AIError, match=match):
            await them.transcribe(request_)


async def test_a_failed_transcription_names_its_provider(planner: FakePlanner) -> None:
    planner.content["transcription"] = "model fail"
    async with engines(planner) as them:
        with pytest.raises(AIError) as caught:
            await them.transcribe(hearing())
    assert (caught.value.message, caught.value.provider) == ("The sound is too short.", "embedded")
