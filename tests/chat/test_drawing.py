"""A prompt that is drawn: its pictures are kept, drawn again, and picked up after a crash."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.drawing import DrawingWish, newest_picture, resumable_job, wish_of
from ollm_tui.chat.model_support import count_media
from ollm_tui.chat.parts import ChatLimits, ChatParts
from ollm_tui.chat.prompt import messages_to_send
from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent, TextContent
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish, MediaDelta
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ChatJournal, ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress, ProviderEvent
from ollm_tui.protocol.provider_events import Finish as ProviderFinish
from ollm_tui.protocol.provider_events import MediaDelta as ProviderMedia
from ollm_tui.protocol.provider_events import TextDelta as ProviderText
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.store.conversations import open_store
from tests.support.picture_bytes import png
from tests.support.providers import ScriptedProvider

WISH = DrawingWish(model="scripted://painter", size="16x8", seed=4, count=2)


def picture(width: int) -> ImageContent:
    return ImageContent(data=png(width, 2), mime_type="image/png", width=width, height=2)


@dataclass
class Painter(ScriptedProvider):
    """Draws pictures that get wider; an `anyio.Event` among the steps waits until it is set."""

    steps: Sequence[DrawingProgress | anyio.Event | AIError] = ()
    later: Sequence[DrawingProgress | anyio.Event | AIError] | None = None
    """The steps from the second picture on, if they are others."""
    jobs: set[str] = field(default_factory=set)
    resumed: list[str] = field(default_factory=list)

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        self.requests.append(request)
        is_later = self.later is not None and len(self.requests) > 1
        for step in self.later if is_later and self.later else self.steps:
            if isinstance(step, AIError):
                raise step
            if isinstance(step, DrawingProgress):
                assert report is not None
                await report(step)
            else:
                await step.wait()
        return Response(content=(picture(2 + len(self.requests)),))

    async def resume_drawing(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        del request, report
        self.resumed.append(job)
        if job not in self.jobs:
            raise AIError(ErrorCode.BAD_REQUEST, "It no longer has this drawing.")
        return Response(content=(picture(99),))


def client_over(
    provider: ScriptedProvider,
    conversation: Conversation | None = None,
    journal: ChatJournal | None = None,
    **limits: float,
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    router = Router(registry, ModelCatalog(registry))
    parts = ChatParts(router=router, limits=ChatLimits(**limits))  # type: ignore[arg-type]
    return ChatClient(parts, conversation or Conversation(), journal=journal)


async def drawn(
    client: ChatClient, wish: DrawingWish = WISH, signal: AbortSignal | None = None
) -> list[ChatEvent]:
    async with client.draw("a cat", wish, signal) as events:
        return [event async for event in events]


async def test_pictures_are_kept_and_shown_one_after_another_with_their_steps() -> None:
    painter = Painter(steps=[DrawingProgress(step=1, total_steps=9, preview=png())])
    client = client_over(painter)
    events = await drawn(client)
    media = [event for event in events if isinstance(event, MediaDelta)]
    assert [(one.data, one.step, one.total_steps) for one in media] == [
        (b"", 0, None),
        (png(), 1, 9),
        (png(3, 2), None, None),
        (b"", 0, None),
        (png(), 1, 9),
        (png(4, 2), None, None),
    ]
    assert [one.block for one in media] == ["b1"] * 3 + ["b2"] * 3
    assert isinstance(events[-1], Finish)
    assert [(one.options.seed, one.options.extra_body) for one in painter.requests] == [
        (4, {"size": "16x8"}),
        (5, {"size": "16x8"}),
    ]
    question, answer = client.conversation.messages
    assert wish_of(question) == WISH
    assert answer.content == (picture(3), picture(4))
    assert answer.metadata == {"drawn_by": "scripted://painter"}
    assert client.conversation.model is None, "the model of the chat is another"


async def test_a_chat_model_reads_that_there_was_a_picture_and_gets_none() -> None:
    client = client_over(Painter())
    await drawn(client)
    question, answer = messages_to_send(client.conversation.messages)
    assert question.text == "a cat"
    assert answer.content == (TextContent("[image] [image]"),)
    assert not count_media(client.conversation.messages)


async def test_retrying_draws_again_in_place_of_the_pictures_before() -> None:
    painter = Painter()
    client = client_over(painter)
    await drawn(client)
    async with client.retry() as events:
        assert [event async for event in events]
    assert [message.role for message in client.conversation.messages] == ["user", "assistant"]
    assert client.conversation.messages[-1].content == (picture(5), picture(6))


async def test_a_picture_in_the_prompt_goes_to_the_model_to_be_edited() -> None:
    painter = Painter()
    client = client_over(painter)
    content: list[Block] = [TextContent("red"), picture(9)]
    async with client.draw(content, replace(WISH, count=1)) as events:
        assert [event async for event in events]
    assert painter.requests[0].input == tuple(content)
    assert newest_picture(client.conversation.messages) == picture(3)


async def test_what_was_drawn_before_a_stop_or_a_failure_stays() -> None:
    for way in ("signal", "leave", "failure"):
        signal, failure = AbortSignal(), AIError(ErrorCode.ENGINE_ERROR, "Out of paint.")
        client = client_over(Painter(later=[failure if way == "failure" else anyio.Event()]))
        async with client.draw("a cat", WISH, signal) as events:
            async for event in events:
                is_picture = isinstance(event, MediaDelta) and event.step is None
                if is_picture and way == "signal":
                    signal.abort()
                elif is_picture and way == "leave":
                    break
            last = event
        answer = client.conversation.messages[-1]
        assert answer.content == (picture(3),), way
        assert answer.metadata["ended"] == ("failed" if way == "failure" else "stopped")
        if way == "failure":
            assert isinstance(last, ErrorEvent)
            assert last.error.message == "Out of paint."
        elif way == "signal":
            assert last == Finish(reason="abort")


async def test_a_model_that_cannot_draw_and_a_limit_of_time_say_so() -> None:
    (event,) = await drawn(client_over(ScriptedProvider()))
    assert isinstance(event, ErrorEvent)
    assert event.error.message == "Scripted offers no pictures."
    slow = client_over(Painter(steps=[anyio.Event()]), prompt_s=0.01)
    _, event = await drawn(slow)
    assert isinstance(event, ErrorEvent)
    assert event.error.code == ErrorCode.TIMEOUT
    assert [message.role for message in slow.conversation.messages] == ["user"]


async def test_pictures_come_back_with_the_chat(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with open_store(path) as store:
        conversation = Conversation()
        client = client_over(Painter(), conversation, store.journal(conversation))
        await drawn(client)
        kept = conversation.messages
        (chat,) = await store.list()
        assert (await store.load(chat.id)).history == kept


async def test_a_job_is_on_the_disk_while_its_picture_is_made() -> None:
    written: list[Message] = []
    has_job = anyio.Event()

    class Notes:
        async def begin(self, message: Message) -> str:
            written.append(message)
            if "job" in message.metadata:
                has_job.set()
            return str(len(written))

        async def update(self, message_id: str, message: Message) -> None:
            del message_id
            written.append(message)

        async def finish(self, message_id: str, message: Message) -> None:
            await self.update(message_id, message)

        async def branch(self, kept: int, messages: Sequence[Message]) -> None: ...

        def rewind(self, kept: int) -> None:
            del kept

    painter = Painter(steps=[DrawingProgress(job="j1"), has_job])
    client = client_over(painter, journal=Notes())
    with anyio.fail_after(5):
        await drawn(client, replace(WISH, count=1))
    question, begun, *_, final = written
    assert wish_of(question) == replace(WISH, count=1)
    assert begun.metadata == {"drawn_by": "scripted://painter", "job": "j1"}
    assert final.metadata == {"drawn_by": "scripted://painter"}
    assert final.content == (picture(3),)


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_job_of_a_program_that_was_killed_is_picked_up_or_drawn_anew(
    is_kept: bool,
) -> None:
    question = Message("user", "a cat", metadata=replace(WISH, count=1).metadata())
    marks = {"drawn_by": "scripted://painter", "job": "j1", "ended": "interrupted"}
    left = Message("assistant", "Drawing", metadata=marks)
    painter = Painter(jobs={"j1"} if is_kept else set())
    client = client_over(painter, Conversation(messages=[question, left]))
    assert resumable_job(client.conversation.messages) == "j1"
    async with client.retry() as events:
        assert [event async for event in events]
    assert painter.resumed == ["j1"]
    assert client.conversation.messages[-1].content == (picture(99 if is_kept else 3),)
    assert resumable_job(client.conversation.messages) is None


async def test_pictures_and_sound_that_a_chat_model_sends_are_kept_in_their_places() -> None:
    script: list[ProviderEvent] = [
        ProviderText("Here: "),
        ProviderMedia(modality="image", data=png(7, 2), step=1, total_steps=2),
        ProviderMedia(modality="image", data=png(3, 2), step=2, total_steps=2),
        ProviderMedia(modality="audio", data=b"RI"),
        ProviderMedia(modality="audio", data=b"FF"),
        ProviderText("Nice?"),
        ProviderFinish("stop"),
    ]
    client = client_over(ScriptedProvider(script=script), Conversation(model="scripted://m"))
    async with client.chat("draw") as events:
        assert [event async for event in events]
    assert client.conversation.messages[-1].content == (
        TextContent("Here: "),
        picture(3),
        AudioContent(data=b"RIFF"),
        TextContent("Nice?"),
    )
