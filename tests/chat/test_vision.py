"""Pictures and models that read only text: left out, said, and never replaced by words."""

from dataclasses import dataclass, field, replace

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import (
    AudioContent,
    Block,
    DocumentContent,
    ImageContent,
    TextContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

PICTURE = ImageContent(data=b"png", mime_type="image/png")
ASKED = (TextContent("What is it?"), PICTURE)
ONLY_TEXT = ModelCapability(frozenset({"text"}), frozenset({"text"}))
SEES = ModelCapability(frozenset({"text", "image"}), frozenset({"text"}))


@dataclass
class ShowingProvider(ScriptedProvider):
    """Says what a model can do only when it is asked about it alone, as older Ollamas do."""

    capability: ModelCapability | None = None
    error: AIError | None = None
    shown: list[str] = field(default_factory=list)

    async def show_model(self, name: str) -> ModelInfo:
        self.shown.append(name)
        if self.error is not None:
            raise self.error
        return ModelInfo(name=name, capability=self.capability)


def client_over(*providers: ScriptedProvider, model: str = "scripted://m") -> ChatClient:
    registry = ProviderRegistry()
    for provider in providers:
        provider.script = (TextDelta("ok"), Finish("stop"))
        registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    return ChatClient(parts, Conversation(model=model))


async def ask(client: ChatClient, *content: Block) -> list[object]:
    async with client.chat(content) as events:
        return [event async for event in events]


def sent_pictures(provider: ScriptedProvider) -> int:
    messages = provider.requests[-1].conversation
    return sum(isinstance(block, ImageContent) for m in messages for block in m.content)


def left_out(events: list[object]) -> list[tuple[int, str]]:
    return [(e.count, e.model) for e in events if isinstance(e, chat_events.PicturesLeftOut)]


@pytest.mark.parametrize("capability", [SEES, None, ModelCapability()])
async def test_a_picture_goes_to_a_model_that_sees_or_may(
    capability: ModelCapability | None,
) -> None:
    provider = ScriptedProvider(models=[ModelInfo(name="m", capability=capability)])
    events = await ask(client_over(provider), *ASKED)
    assert (sent_pictures(provider), left_out(events)) == (1, [])


async def test_it_is_left_out_for_a_model_that_is_listed_as_reading_only_text() -> None:
    provider = ScriptedProvider(models=[ModelInfo(name="m", capability=ONLY_TEXT)])
    client = client_over(provider)
    events = await ask(client, *ASKED)
    assert (sent_pictures(provider), left_out(events)) == (0, [(1, "m")])
    [message] = provider.requests[-1].conversation
    assert message.content == (TextContent("What is it?"),)
    # The chat itself keeps it.
    assert client.conversation.messages[0].content == ASKED


async def test_a_server_that_has_not_declared_it_is_asked_once() -> None:
    provider = ShowingProvider(models=[ModelInfo(name="m")], capability=ONLY_TEXT)
    client = client_over(provider)
    for _ in range(2):
        await ask(client, *ASKED)
        assert sent_pictures(provider) == 0
    assert provider.shown == ["m"]


async def test_no_server_is_asked_while_there_is_no_picture() -> None:
    provider = ShowingProvider(capability=ONLY_TEXT)
    await ask(client_over(provider), TextContent("hi"))
    assert provider.shown == []


async def test_a_server_that_cannot_say_gets_the_picture() -> None:
    error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Gone.")
    for provider in (ShowingProvider(error=error), ScriptedProvider(list_error=error)):
        await ask(client_over(provider), *ASKED)
        assert sent_pictures(provider) == 1


async def test_switching_in_mid_chat_leaves_out_the_pictures_of_earlier_messages() -> None:
    seeing = ShowingProvider("seeing", capability=SEES)
    blind = ShowingProvider("blind", capability=ONLY_TEXT)
    client = client_over(seeing, blind, model="seeing://s")
    await ask(client, *ASKED)
    assert sent_pictures(seeing) == 1
    client.conversation.model = "blind://b"
    events = await ask(client, TextContent("And now?"))
    assert (sent_pictures(blind), left_out(events)) == (0, [(1, "b")])
    assert [m.text for m in blind.requests[-1].conversation] == ["What is it?", "ok", "And now?"]
    client.conversation.model = "seeing://s"
    assert left_out(await ask(client, TextContent("And again?"))) == []
    assert sent_pictures(seeing) == 1


async def test_what_a_server_takes_no_messages_with_is_left_out_and_the_rest_is_sent() -> None:
    @dataclass
    class WithoutSound(ScriptedProvider):
        message_media: frozenset[str] = frozenset({"image"})

    sound, paper = AudioContent(data=b"RIFF"), DocumentContent(data=b"%PDF")
    provider = WithoutSound(models=[ModelInfo(name="m")])
    client = client_over(provider)
    events = await ask(client, TextContent("What?"), PICTURE, sound, paper)
    (event,) = [e for e in events if isinstance(e, chat_events.PicturesLeftOut)]
    assert (event.count, event.kinds) == (2, ("audio", "document"))
    assert [block.type for block in provider.requests[-1].conversation[0].content] == [
        "text",
        "image",
    ]
    # A listing tells of sound as it does of pictures; a model of which nothing is known gets it.
    deaf = ScriptedProvider("deaf", models=[ModelInfo(name="m", capability=SEES)])
    unknown = ScriptedProvider("unknown", models=[ModelInfo(name="m")])
    for other, kinds in ((deaf, ["text", "document"]), (unknown, ["text", "audio", "document"])):
        client = client_over(other, model=f"{other.name}://m")
        await ask(client, TextContent("What?"), sound, paper)
        assert [block.type for block in other.requests[-1].conversation[0].content] == kinds


async def test_a_question_of_nothing_but_a_picture_is_not_asked_of_such_a_model() -> None:
    provider = ShowingProvider(capability=ONLY_TEXT)
    events = await ask(client_over(provider), PICTURE)
    [end] = events
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.known_code is ErrorCode.UNSUPPORTED_MODALITY
    assert provider.requests == []


def test_an_earlier_question_of_nothing_but_a_picture_goes_with_its_answer() -> None:
    kept = (Message("user", "hi"), Message("assistant", "Hello."), Message("user", "Go on"))
    correction = Message("user", "Write JSON.", metadata={"correction": True})
    gone = (Message("user", [PICTURE]), Message("assistant", "A cat."), correction)
    history = (*kept[:2], *gone, Message("assistant", "{}"), kept[2])
    assert messages_to_send(history, unsent={"image"}) == kept
    assert len(messages_to_send(history)) == len(history)


async def test_a_stop_while_the_server_is_asked_ends_the_prompt() -> None:
    signal = AbortSignal()

    class Stopping(ShowingProvider):
        async def show_model(self, name: str) -> ModelInfo:
            signal.abort()
            return replace(await super().show_model(name), capability=SEES)

    provider = Stopping()
    async with client_over(provider).chat(ASKED, signal=signal) as events:
        ends = [event async for event in events]
    assert ends[-1] == chat_events.Finish(reason="abort")


REFUSAL = AIError(ErrorCode.UNSUPPORTED_MODALITY, "m is not a multimodal model", status=400)


class Blind(ScriptedProvider):
    """Lists nothing of its model's eyes, and refuses every request with a picture."""

    def chat_stream(self, request: Request) -> ProviderStream:
        sees = any(isinstance(b, ImageContent) for m in request.conversation for b in m.content)
        self.script = (ErrorEvent(REFUSAL),) if sees else (TextDelta("ok"), Finish("stop"))
        return super().chat_stream(request)


async def test_a_model_that_refuses_a_picture_is_asked_again_without_it_and_then_never() -> None:
    provider = Blind(models=[ModelInfo(name="m", capability=SEES)])
    client = client_over(provider)
    events = await ask(client, *ASKED)
    assert left_out(events) == [(1, "m")]
    assert events[-1] == chat_events.Finish(reason="stop", turn=1)
    assert len(provider.requests) == 2
    assert isinstance((await ask(client, TextContent("And?")))[-1], chat_events.Finish)
    assert (len(provider.requests), sent_pictures(provider)) == (3, 0)


async def test_nothing_but_a_refused_picture_ends_that_prompt_and_no_later_one() -> None:
    provider = Blind(models=[ModelInfo(name="m")])
    client = client_over(provider)
    end = (await ask(client, PICTURE))[-1]
    assert isinstance(end, chat_events.ErrorEvent)
    assert "does not accept pictures" in end.error.message
    assert isinstance((await ask(client, TextContent("Hello")))[-1], chat_events.Finish)
