"""Text between two others as it was written, and sound that is no speech."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.media.answer import output_of
from ollm_tui.providers.openai_compatible.localai import read_capabilities
from tests.providers.test_single_input import connected
from tests.support.fake_ollama import OllamaServer
from tests.support.fake_videos import middle
from tests.support.fakes import REMOTES
from tests.support.http_server import Handler, Received, Reply
from tests.support.picture_bytes import png

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

FILL = Request(model="tiny", input="def f(x):", suffix="    return y", stream=False)
MUSIC = Request(model="band", input="slow jazz", output="music", stream=False)
WITHOUT = frozenset({"anthropic", "llamacpp messages", "kobold", "localai"})
UNKNOWN_PATH = frozenset({"vllm"})


def ollama() -> OllamaServer:
    server = OllamaServer()
    server.models["tiny:latest"] = ["completion", "insert"]
    server.models["painter:latest"] = ["image"]
    return server


def handler_of(name: str) -> Handler | None:
    return ollama() if name == "ollama" else None


async def test_every_adapter_fills_a_gap_or_says_that_it_cannot() -> None:
    for name, remote in REMOTES.items():
        async with connected(remote, handler_of(name)) as (provider, server):
            if name in WITHOUT | UNKNOWN_PATH:
                with pytest.raises(AIError, match="offers no infill") as caught:
                    await provider.invoke(FILL)
                assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
                assert (server.received == []) == (name in WITHOUT), name
                continue
            response = await provider.invoke(FILL)
        assert isinstance(response, Response)
        assert response.text == middle(FILL.input, FILL.suffix), name
        assert response.finish_reason == "stop", name
        assert response.usage is not None
        assert (response.usage.prompt_tokens, response.usage.completion_tokens) == (5, 2), name


async def test_each_server_gets_the_two_texts_under_its_own_names() -> None:
    options = GenerationOptions(max_tokens=9, temperature=0.5, stop=("END",), seed=1)
    request = replace(FILL, options=options)
    bodies: dict[str, dict[str, object]] = {}
    for name in ("ollama", "llamacpp", "openai-compatible"):
        async with connected(REMOTES[name], handler_of(name)) as (provider, server):
            async with await provider.invoke(replace(request, stream=True)) as events:
                seen = [event async for event in events]
            bodies[name] = server.received[-1].json()
        assert all(isinstance(event, TextDelta) for event in seen[:-1])
        assert isinstance(seen[-1], Finish)
        assert (seen[-1].reason == "length") == (name == "llamacpp")
    sampling = {"temperature": 0.5, "seed": 1, "stop": ["END"]}
    assert bodies["openai-compatible"] == {
        "model": "tiny",
        "prompt": "def f(x):",
        "suffix": "    return y",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
        **sampling,
    }
    assert bodies["llamacpp"] == {
        "model": "tiny",
        "input_prefix": "def f(x):",
        "input_suffix": "    return y",
        "stream": True,
        "n_predict": 9,
        **sampling,
    }
    assert bodies["ollama"] == {
        "model": "tiny",
        "prompt": "def f(x):",
        "suffix": "    return y",
        "stream": True,
        "options": {"num_predict": 9, **sampling},
    }


async def test_text_in_a_gap_is_no_thinking_whatever_it_looks_like() -> None:
    text = " <think>a</think> b"

    async def answers(_request: Received, reply: Reply) -> None:
        await reply.json({"choices": [{"index": 0, "text": text, "finish_reason": "length"}]})

    async with connected(REMOTES["openai-compatible"], answers) as (provider, _server):
        response = await provider.invoke(FILL)
    assert response.content == (TextContent(text),)
    assert response.finish_reason == "length"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"input": "", "suffix": ""}, "takes a text before the gap or after it"),
        ({"input": [ImageContent(data=png())]}, "picture cannot be sent"),
        ({"options": GenerationOptions(response_format="json")}, "response_format"),
        ({"system_prompt": "x"}, "system_prompt"),
    ],
)
async def test_what_has_no_place_in_a_gap_is_refused(changes: Any, words: str) -> None:
    for name in ("ollama", "llamacpp", "openai-compatible"):
        async with connected(REMOTES[name]) as (provider, server):
            with pytest.raises(AIError, match=words):
                await provider.invoke(replace(FILL, **changes))
            assert server.received == []


async def test_a_model_that_cannot_says_so_in_its_servers_words() -> None:
    async with connected(REMOTES["ollama"]) as (provider, _server):
        with pytest.raises(AIError, match="does not support insert"):
            await provider.invoke(FILL)


async def test_ollama_draws_where_its_version_does() -> None:
    fake = ollama()
    draw = Request(model="painter", input="a cat", output="image", stream=False)
    options = GenerationOptions(seed=7, extra_body={"size": "16x8", "n": 2})
    async with connected(REMOTES["ollama"], fake) as (provider, server):
        response = await provider.invoke(replace(draw, options=options))
        bodies = [one.json() for one in server.received]
        edit: list[Block] = [TextContent("red"), ImageContent(data=png(6, 5))]
        (edited,) = (await provider.invoke(replace(draw, input=edit))).content
        fake.draws = False
        with pytest.raises(AIError, match="does not draw") as caught:
            await provider.invoke(draw)
        with pytest.raises(AIError, match="takes no mask"):
            mask = ImageContent(data=png())
            await provider.invoke(replace(draw, input=edit, mask=mask))
    assert [(one.width, one.height) for one in response.content] == [(16, 8), (16, 8)]
    assert [body["options"] for body in bodies] == [{"seed": 7}, {"seed": 8}]
    assert (edited.width, edited.height) == (4, 2)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


async def test_localai_makes_music_and_others_say_that_they_do_not() -> None:
    options = GenerationOptions(extra_body={"seconds": 9, "lyrics": "la"})
    for name, remote in REMOTES.items():
        async with connected(remote) as (provider, server):
            if name != "localai":
                with pytest.raises(AIError, match="offers no music"):
                    await provider.invoke(MUSIC)
                assert server.received == []
                continue
            response = await provider.invoke(replace(MUSIC, options=options))
            sound = b"RIFF\0\0\0\0WAVEslow jazz:9"
            assert response.content == (AudioContent(data=sound, mime_type="audio/wav"),)
            assert server.received[-1].json()["lyrics"] == "la"
            with pytest.raises(AIError, match="Not a music model"):
                await provider.invoke(replace(MUSIC, model="voice"))
            with pytest.raises(AIError, match="`seconds` takes"):
                wrong = GenerationOptions(extra_body={"seconds": 0})
                await provider.invoke(replace(MUSIC, options=wrong))


def test_a_model_that_makes_music_is_not_asked_to_speak() -> None:
    uses: JsonObject = {"id": "band", "capabilities": ["sound_generation"]}
    speaks: JsonObject = {"id": "voice", "capabilities": ["tts"]}
    models = read_capabilities({"data": [uses, speaks]})
    assert models is not None
    assert [output_of(info) for info in models] == ["music", "audio"]
