"""What a real voice speaks, a real model writes down: `make test-engines` brings the weights."""

import re
import sys
from pathlib import Path

import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.models.known_models import sidecar_path
from ollm_tui.protocol.blocks import AudioContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.provider_events import Finish, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.media.wave_file import with_length
from tests.support.engine_cases import CASES, ESPEAK
from tests.support.sound_models import VOICE_FILE, WEIGHTS, WHISPER_FILE, wave_of

MISSING = CASES["piper"].missing or CASES["whisper"].missing
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
]
SENTENCES = (
    "Open the settings and choose a new model.",
    "The quick brown fox jumps over the lazy dog.",
    "What is the capital of France?",
)
VOICE, EARS = VOICE_FILE.removesuffix(".onnx"), WHISPER_FILE.removesuffix(".bin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    models = tmp_path / "models"
    models.mkdir()
    for name in (VOICE_FILE, f"{VOICE_FILE}.json", WHISPER_FILE):
        (models / name).symlink_to(WEIGHTS / name)
    sidecar_path(models / WHISPER_FILE).write_text("engineOptions: {threads: 1}\n", "utf-8")
    return models


def provider_of(folder: Path, espeak: Path | None = ESPEAK) -> EmbeddedProvider:
    return EmbeddedProvider(FolderLibrary([folder]), EmbeddedSettings(espeak=espeak))


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


async def heard(provider: EmbeddedProvider, sound: bytes) -> Response:
    request = Request(model=EARS, input=[AudioContent(data=sound)], stream=False)
    response = await provider.invoke(request)
    assert isinstance(response, Response)
    return response


async def test_three_sentences_are_heard_as_they_were_spoken(folder: Path) -> None:
    request = Request(model=VOICE, input=" ".join(SENTENCES), output="audio", stream=False)
    async with provider_of(folder) as provider:
        speech = await provider.invoke(request)
        assert isinstance(speech, Response)
        (sound,) = speech.content
        assert isinstance(sound, AudioContent)
        assert isinstance(sound.data, bytes)
        transcription = await heard(provider, sound.data)
        loaded = {info.name for info in await provider.list_running()}
    assert words_of(transcription.text) == words_of(" ".join(SENTENCES))
    assert transcription.metadata["language"] == "en"
    assert loaded == {VOICE, EARS}


async def test_speech_comes_sentence_by_sentence(folder: Path) -> None:
    request = Request(model=VOICE, input=" ".join(SENTENCES), output="audio")
    async with provider_of(folder) as provider, provider.speak(request) as events:
        came = [event async for event in events]
        pieces = [event.data for event in came if isinstance(event, MediaDelta)]
        assert (len(pieces), came[-1]) == (3, Finish("stop"))
        transcription = await heard(provider, with_length(pieces[0]))
    assert words_of(transcription.text) == words_of(SENTENCES[0])


async def test_a_voice_speaks_faster_and_slower(folder: Path) -> None:
    sizes = []
    async with provider_of(folder) as provider:
        for speed in (2.0, 0.5):
            options = GenerationOptions(extra_body={"speed": speed})
            request = Request(model=VOICE, input=SENTENCES[0], output="audio", options=options)
            async with provider.speak(request) as events:
                sizes.append(sum([len(e.data) async for e in events if isinstance(e, MediaDelta)]))
    assert sizes[1] > sizes[0] * 2


async def test_a_language_that_the_model_does_not_know_is_refused(folder: Path) -> None:
    options = GenerationOptions(extra_body={"language": "de"})
    sound = [AudioContent(data=wave_of(bytes(32_000)))]
    request = Request(model=EARS, input=sound, options=options, stream=False)
    async with provider_of(folder) as provider:
        with pytest.raises(AIError, match="does not know the language de"):
            await provider.invoke(request)


async def test_espeak_speaks_in_the_language_asked_for(folder: Path) -> None:
    if ESPEAK is None:
        pytest.skip("espeak-ng is not installed")
    options = GenerationOptions(extra_body={"voice": "de"})
    request = Request(
        model="espeak-ng", input="Guten Tag.", output="audio", options=options, stream=False
    )
    async with provider_of(folder) as provider:
        speech = await provider.invoke(request)
    assert isinstance(speech, Response)
    (sound,) = speech.content
    assert isinstance(sound, AudioContent)
    assert len(sound.data or b"") > 10_000
