"""Requests that are no chats are what the types of the official clients take."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter

from ollm_tui.protocol.blocks import AudioContent, ImageContent, TextContent
from ollm_tui.protocol.request import GenerationOptions, Request
from tests.providers.test_single_input import connected
from tests.support.fake_ollama import OllamaServer
from tests.support.fake_openai import parts_of
from tests.support.fakes import REMOTES
from tests.support.http_server import Received
from tests.support.picture_bytes import png

CAT = ImageContent(data=png(6, 5), mime_type="image/png")
WAVE = AudioContent(data=b"RIFFHello.")


def wants(seed: int | None = None, **body: Any) -> GenerationOptions:
    return GenerationOptions(seed=seed, extra_body=body)


CASES: dict[str, tuple[str, str, Request]] = {
    "embeddings": (
        "openai",
        "openai.types.embedding_create_params:EmbeddingCreateParams",
        Request(model="tiny", input="a river", output="embedding", options=wants(dimensions=2)),
    ),
    "speech": (
        "openai",
        "openai.types.audio.speech_create_params:SpeechCreateParams",
        Request(
            model="voice", input="Hello.", output="audio", options=wants(speed=1.5, voice="ash")
        ),
    ),
    "transcription": (
        "openai",
        "openai.types.audio.transcription_create_params:TranscriptionCreateParamsNonStreaming",
        Request(model="ears", input=[WAVE], options=wants(language="en", prompt="names")),
    ),
    "picture": (
        "openai",
        "openai.types.image_generate_params:ImageGenerateParamsNonStreaming",
        Request(
            model="painter", input="a cat", output="image", options=wants(n=2, size="1024x1024")
        ),
    ),
    "edit": (
        "openai",
        "openai.types.image_edit_params:ImageEditParamsNonStreaming",
        Request(model="painter", input=[TextContent("a hat"), CAT], output="image", mask=CAT),
    ),
    "video": (
        "openai",
        "openai.types.video_create_params:VideoCreateParams",
        Request(
            model="film", input="a cat", output="video", options=wants(size="1280x720", seconds=4)
        ),
    ),
    "infill": (
        "openai",
        "openai.types.completion_create_params:CompletionCreateParamsStreaming",
        Request(model="tiny", input="def f(x):", suffix="    return y", options=wants(7)),
    ),
    "ollama's embeddings": (
        "ollama",
        "ollama._types:EmbedRequest",
        Request(model="vectors", input="a river", output="embedding", options=wants(dimensions=2)),
    ),
    "ollama's infill": (
        "ollama",
        "ollama._types:GenerateRequest",
        Request(model="tiny", input="def f(x):", suffix="    return y", options=wants(7)),
    ),
}


def ollama_server() -> OllamaServer:
    server = OllamaServer()
    server.models["vectors:latest"] = ["embedding"]
    server.models["tiny:latest"] = ["completion", "insert"]
    return server


def types_of(place: str) -> Mapping[str, Any]:
    """Return the types of the fields of a client's request."""
    # The clients take a second and more to import, in each process that collects these tests.
    module, _, name = place.partition(":")
    return get_type_hints(getattr(import_module(module), name))


def fields_of(asked: Received) -> Iterator[tuple[str, object]]:
    """Give the fields that were sent; the files of a form as bytes."""
    if asked.headers["content-type"].startswith("application/json"):
        yield from asked.json().items()
    else:
        for name, file, content in parts_of(asked):
            yield name, content.decode() if file is None else content


@pytest.mark.parametrize("name", CASES)
async def test_an_endpoint_gets_what_its_official_client_takes(name: str) -> None:
    backend, place, request = CASES[name]
    fake = ollama_server() if backend == "ollama" else None
    async with connected(REMOTES[backend], fake) as (provider, server):
        await provider.invoke(replace(request, stream=False))
    types = types_of(place)
    (asked,) = (one for one in server.received if one.method == "POST")
    fields = dict(fields_of(asked))
    assert len(fields) > 1
    assert fields.keys() <= types.keys()
    for field, value in fields.items():
        if not isinstance(value, bytes):
            TypeAdapter(types[field]).validate_python(value)
