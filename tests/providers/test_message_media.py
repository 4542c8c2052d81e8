"""Sound, videos and PDF files in messages: each protocol's own form, or a refusal."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from ollm_tui.protocol.blocks import (
    AudioContent,
    DocumentContent,
    ImageContent,
    MediaContent,
    TextContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.media_ports import LimitsMedia
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.anthropic import to_wire as anthropic
from ollm_tui.providers.ollama import to_wire as ollama
from ollm_tui.providers.openai_compatible import to_wire as openai
from tests.contract.test_requests import plain
from tests.support.fakes import REMOTES
from tests.support.http_server import serve

SOUND = AudioContent(data=b"RIFF", mime_type="audio/wav", name="a.wav")
FILM = VideoContent(data=b"film", mime_type="video/webm")
PAPER = DocumentContent(data=b"%PDF", mime_type="application/pdf", name="a.pdf")
ALL: tuple[MediaContent, ...] = (ImageContent(data=b"\x89PNG"), SOUND, FILM, PAPER)


def asking(*blocks: MediaContent) -> Request:
    return Request(model="m", messages=[Message("user", [TextContent("What?"), *blocks])])


def part_of(body: Any) -> object:
    messages = body["messages"]
    content: Any = messages[0]["content"]
    return content[-1]


@cache
def openai_parts() -> TypeAdapter[object]:
    from openai.types.chat import ChatCompletionContentPartParam

    return TypeAdapter(ChatCompletionContentPartParam)


def test_openai_gets_what_its_own_client_has_types_for() -> None:
    sound = part_of(openai.chat_body(asking(SOUND), "openai"))
    paper = part_of(openai.chat_body(asking(PAPER), "openai"))
    data = "data:application/pdf;base64,JVBERg=="
    assert sound == {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    assert paper == {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}
    for part in (sound, paper):
        assert plain(openai_parts().validate_python(part)) == part


def test_anthropic_gets_documents_that_its_own_client_has_types_for() -> None:
    from anthropic.types import DocumentBlockParam

    part = part_of(anthropic.chat_body(asking(PAPER), "a://m"))
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    assert part == {"type": "document", "source": source, "title": "a.pdf"}
    assert plain(TypeAdapter(DocumentBlockParam).validate_python(part)) == part
    linked = part_of(anthropic.chat_body(asking(DocumentContent(url="https://x/a.pdf")), "a://m"))
    assert linked == {"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}}


def test_a_video_goes_as_each_server_reads_it() -> None:
    url = "data:video/webm;base64,ZmlsbQ=="
    usual = {"type": "video_url", "video_url": {"url": url}}
    own = {"type": "input_video", "input_video": {"data": "ZmlsbQ=="}}
    for backend in ("vllm", "localai", None):
        assert part_of(openai.chat_body(asking(FILM), backend)) == usual
    for backend in ("llamacpp", "llamacpp-router", "embedded"):
        assert part_of(openai.chat_body(asking(FILM), backend)) == own


def test_ollama_tells_sound_from_pictures_by_its_bytes_and_reads_wav_only() -> None:
    assert ollama.wire_message(Message("user", [SOUND]))["images"] == ["UklGRg=="]
    with pytest.raises(AIError, match="The sound cannot be sent to this server"):
        ollama.wire_message(Message("user", [AudioContent(data=b"x", mime_type="audio/mpeg")]))


async def test_each_adapter_says_what_its_messages_may_have_and_refuses_the_rest() -> None:
    for name, remote in REMOTES.items():
        async with serve(remote.make()) as server:
            provider: Any = create_provider(remote.spec(server.url))
            invoke, dispose, taken = provider.invoke, provider.dispose, provider.message_media
            assert isinstance(provider, LimitsMedia), name
            for block in ALL:
                if block.type in taken:
                    continue
                request = replace(asking(block), stream=False)
                with pytest.raises(AIError, match="cannot be sent to this server") as caught:
                    await invoke(request)
                assert caught.value.code == ErrorCode.UNSUPPORTED_MODALITY
            await dispose()
