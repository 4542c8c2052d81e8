"""A provider that cannot stream is asked for whole answers, and the chat says so."""

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import (
    AudioContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

NO_STREAM = AIError(ErrorCode.UNSUPPORTED_FEATURE, "Scripted cannot stream its answers.")
ANSWER = Response(
    content=(ThinkingContent("hm"), TextContent("Hello")),
    finish_reason="stop",
    usage=Usage(prompt_tokens=1, completion_tokens=2),
)


class Whole(ScriptedProvider):
    """Refuses to stream; answers, or fails, as a whole."""

    answer: Response | AIError = ANSWER

    async def invoke(self, request: Request) -> Response | ProviderStream:
        if request.stream:
            raise NO_STREAM
        self.requests.append(request)
        if isinstance(self.answer, AIError):
            raise self.answer
        return self.answer


async def ask(provider: Whole) -> list[chat_events.ChatEvent]:
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    client = ChatClient(parts, Conversation(model="scripted://m"))
    async with client.chat("hi") as events:
        return [event async for event in events]


def refusing() -> Whole:
    return Whole(script=[ErrorEvent(NO_STREAM)])


async def test_the_answer_comes_in_one_piece_and_that_is_reported() -> None:
    provider = refusing()
    events = await ask(provider)
    assert [type(event).__name__ for event in events] == [
        "Retrying",
        "ThinkingDelta",
        "TextDelta",
        "TurnComplete",
        "Finish",
    ]
    assert isinstance(events[0], chat_events.Retrying)
    assert events[0].error == NO_STREAM
    assert events[0].wait_s == 0
    assert [request.stream for request in provider.requests] == [True, False]


async def test_a_failure_of_the_whole_answer_is_the_one_end() -> None:
    provider = refusing()
    provider.answer = AIError(ErrorCode.AUTH_FAILED, "Wrong key.")
    events = await ask(provider)
    assert isinstance(events[-1], chat_events.ErrorEvent)
    assert events[-1].error.message == "Wrong key."


async def test_a_stop_of_the_whole_answer_is_an_abort() -> None:
    provider = refusing()
    provider.answer = AIError(ErrorCode.ABORTED, "Stopped.")
    assert (await ask(provider))[-1] == chat_events.Finish(reason="abort")


async def test_a_provider_that_streams_is_never_asked_twice_for_lack_of_a_feature() -> None:
    provider = refusing()
    provider.streaming_format = "sse"
    events = await ask(provider)
    assert events == [chat_events.ErrorEvent(error=NO_STREAM)]


async def test_a_picture_or_a_sound_in_the_answer_is_not_passed_over() -> None:
    provider = refusing()
    provider.answer = Response(
        content=(
            ImageContent(data=b"\x89PNG"),
            AudioContent(data="UklGRg=="),
            AudioContent(data="not base64"),
            VideoContent(url="https://x/y.mp4"),
            UnknownContent("hologram", {}),
        )
    )
    events = await ask(provider)
    media = [event for event in events if isinstance(event, chat_events.MediaDelta)]
    assert [(event.modality, event.data) for event in media] == [
        ("image", b"\x89PNG"),
        ("audio", b"RIFF"),
        ("audio", b""),
        ("video", b""),
        ("hologram", b""),
    ]


async def test_a_call_of_a_whole_answer_is_refused_as_any_that_was_not_offered() -> None:
    provider = refusing()
    provider.answer = Response(content=(), tool_calls=(ToolCall(id="1", name="clock", args={}),))
    events = await ask(provider)
    results = [e for e in events if isinstance(e, chat_events.ToolCallResult)]
    # The model is told once and asked again.
    assert [(e.call.name, e.turn) for e in results] == [("clock", 1), ("clock", 2)]
