"""Speech as a stream of sound, and sound as text; what is no sound never passes for it."""

from dataclasses import replace
from typing import Any

import pytest

from ollm_tui.protocol.blocks import AudioContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, MediaDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.openai_compatible import audio
from tests.providers.test_single_input import connected
from tests.support.fake_openai import FakeOpenAI, form_of
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, Reply, serve

SPEAK = Request(model="voice", input="Hello there.", output="audio")
HEAR = Request(model="ears", input=[AudioContent(data=b"RIFFHello.")], stream=False)
WITHOUT = frozenset({"ollama", "anthropic", "llamacpp messages"})
UNKNOWN_PATH = frozenset({"llamacpp", "llamacpp-router", "vllm"})


def wants(**body: Any) -> GenerationOptions:
    return GenerationOptions(extra_body=body)


async def test_every_adapter_speaks_and_transcribes_or_says_that_it_cannot() -> None:
    whole = replace(SPEAK, stream=False, options=wants(response_format="wav"))
    for name, remote in REMOTES.items():
        async with connected(remote) as (provider, server):
            for request, what in ((whole, "speech"), (HEAR, "transcription")):
                if name in WITHOUT | UNKNOWN_PATH:
                    with pytest.raises(AIError, match=f"offers no {what}") as caught:
                        await provider.invoke(request)
                    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
                    assert caught.value.hint
                    assert (server.received == []) == (name in WITHOUT)
                    continue
                response = await provider.invoke(request)
                assert isinstance(response, Response), name
                assert response.content == (
                    (AudioContent(data=b"RIFFHello there.", mime_type="audio/wav"),)
                    if what == "speech"
                    else (TextContent("Hello."),)
                ), name


async def test_speech_is_streamed_with_one_end_and_openai_gets_the_voice_it_requires() -> None:
    for name, voice in (("openai", "alloy"), ("openai-compatible", None)):
        async with connected(REMOTES[name]) as (provider, server):
            async with await provider.invoke(SPEAK) as events:
                found = [event async for event in events]
            assert b"".join(e.data for e in found if isinstance(e, MediaDelta)) == (
                b"ID3Hello there."
            )
            assert isinstance(found[-1], Finish)
            assert found[-1].reason == "stop"
            (asked,) = server.received
            assert asked.path == "/v1/audio/speech"
            assert asked.json().get("voice") == voice
            assert asked.json()["input"] == "Hello there."


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": {"message": "no voice of this name"}}', "no voice of this name"),
        (b"<html><body>Welcome</body></html>", "sent no sound"),
        (b"404 page not found\n", "sent no sound"),
        (b"", "sent no sound"),
    ],
)
async def test_what_is_no_sound_is_an_error(body: bytes, words: str) -> None:
    async def answers(_request: Received, reply: Reply) -> None:
        await reply.whole(body, 200, "audio/mpeg")

    async with (
        connected(REMOTES["openai-compatible"], answers) as (provider, _server),
        await provider.invoke(SPEAK) as events,
    ):
        (end,) = [event async for event in events]
    assert isinstance(end, ErrorEvent)
    assert words in end.error.message


async def test_sound_without_end_is_cut_at_the_limit_and_a_lost_connection_is_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audio, "MAX_SPEECH_BYTES", 1000)

    async def answers(request: Received, reply: Reply) -> None:
        await reply.start(content_type="audio/wav")
        await reply.write(b"RIFF" + bytes(2000 if b"long" in request.body else 10))
        reply.cut()

    async with connected(REMOTES["openai-compatible"], answers) as (provider, _server):
        for text, words in (("long", "speech of more than"), ("cut", "connection")):
            with pytest.raises(AIError, match=words):
                await provider.invoke(replace(SPEAK, input=text, stream=False))


async def test_the_name_of_a_file_and_nothing_else_of_this_machine_is_sent() -> None:
    options = replace(wants(language="en", response_format="verbose_json"), temperature=0.5)
    asked = replace(HEAR, input=[AudioContent(data="UklGRkhlbGxvLg==")], options=options)
    async with connected(REMOTES["openai-compatible"]) as (provider, server):
        response = await provider.invoke(asked)
    (sent,) = server.received
    assert form_of(sent) == {
        "model": b"ears",
        "response_format": b"verbose_json",
        "temperature": b"0.5",
        "language": b"en",
        "file": b"RIFFHello.",
    }
    assert b'filename="audio.wav"' in sent.body
    assert isinstance(response, Response)
    assert response.metadata["language"] == "english"
    assert response.metadata["duration_s"] == 1.5


async def test_a_form_holds_whatever_a_field_is_called() -> None:
    body, kind = audio.form({'a"\r\nx: y': "1\r\n2"}, b"fLaC")
    fields = form_of(Received("POST", "/", {"content-type": kind}, body))
    assert fields == {"a%22%0D%0Ax: y": b"1\r\n2", "file": b"fLaC"}
    assert b'filename="audio.flac"' in body


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (replace(SPEAK, input="  "), "takes an input of some text"),
        (replace(SPEAK, options=GenerationOptions(temperature=1)), "temperature"),
        (replace(SPEAK, system_prompt="x"), "system_prompt"),
        (replace(HEAR, stream=True), "A transcription cannot be streamed"),
        (replace(HEAR, input=[AudioContent(url="https://x/y.wav")]), "cannot be sent"),
        (replace(HEAR, input=[AudioContent(data=b"")]), "empty"),
        (replace(HEAR, input=[AudioContent(data="&")]), "not valid base64"),
        (replace(HEAR, input=[AudioContent(data=b"a"), AudioContent(data=b"b")]), "one sound"),
        (replace(HEAR, output="image"), "Making image of audio"),
    ],
)
async def test_what_cannot_be_sent_is_refused_before(request_: Request, words: str) -> None:
    async with connected(REMOTES["openai-compatible"]) as (provider, server):
        with pytest.raises(AIError, match=words):
            answer = await provider.invoke(request_)
            async with answer as events:
                async for event in events:
                    assert not isinstance(event, MediaDelta)
    assert server.received == []


async def test_silence_has_an_empty_transcription_and_a_reply_without_a_text_is_an_error() -> None:
    async def answers(request: Received, reply: Reply) -> None:
        is_silent = b"quiet" in request.body
        await reply.whole(b'{"text": ""}' if is_silent else b'{"detail": "busy"}')

    async with connected(REMOTES["openai-compatible"], answers) as (provider, _server):
        response = await provider.invoke(replace(HEAR, model="quiet"))
        assert response.text == ""
        with pytest.raises(AIError, match="sent no transcription"):
            await provider.invoke(HEAR)


async def test_a_signal_stops_the_sound_and_the_wait_for_a_text() -> None:
    signal = AbortSignal()

    async def waits(_request: Received, reply: Reply) -> None:
        signal.abort()
        await reply.start()

    async with connected(REMOTES["openai-compatible"], waits) as (provider, _server):
        for request in (replace(SPEAK, stream=False), HEAR):
            with pytest.raises(AIError) as caught:
                await provider.invoke(replace(request, signal=signal))
            assert caught.value.code == ErrorCode.ABORTED


async def test_the_official_client_takes_the_fakes_sounds_for_real() -> None:
    import openai

    async with (
        serve(FakeOpenAI()) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
    ):
        sound = await client.audio.speech.create(model="voice", voice="alloy", input="Hi.")
        text = await client.audio.transcriptions.create(
            model="ears", file=("a.wav", b"RIFFHi."), response_format="json"
        )
    assert sound.content == b"ID3Hi."
    assert text.text == "Hi."


async def test_a_pool_speaks_by_the_next_server_if_one_is_down() -> None:
    remote = REMOTES["openai-compatible"]
    async with serve(remote.make()) as server:
        provider: ProviderAdapter = create_provider(
            remote.spec(server.url, base_urls=("http://127.0.0.1:9", server.url))
        )
        response = await provider.invoke(replace(SPEAK, stream=False))
        heard = await provider.invoke(HEAR)
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert isinstance(response, Response)
    assert response.content == (AudioContent(data=b"ID3Hello there.", mime_type="audio/mpeg"),)
    assert isinstance(heard, Response)
    assert heard.text == "Hello."
