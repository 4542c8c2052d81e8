"""`MediaRun`: one prompt of which a model makes pictures, a video or music.

A question that is drawn has its wish as metadata, so that it is drawn again and not chatted about.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Final, TypeAlias

import anyio

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.making import KINDS, Made, Makes, check_maker, made, newest_made
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.saving import ChatSaver
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, positive, present, string
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import (
    Block,
    Content,
    ImageContent,
    TextContent,
)
from ollm_tui.protocol.chat_events import Emit
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.media.drawing import unless_stopped

DRAWING: Final = "drawing"
"""The metadata key of a question that is drawn: what it wants of the pictures."""
JOB: Final = "job"
"""The metadata key of an answer whose picture a server keeps as a job."""
_UNFINISHED: Final = TextContent("Drawing")
"""What an answer holds before its first picture."""
Ending: TypeAlias = chat_events.Finish | chat_events.ErrorEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingWish:
    """What is wanted of the pictures of one prompt, of its video or of its music."""

    model: str
    """The address of the model that draws."""
    size: str | None = None
    """Width and height in pixels: `512x512`."""
    seed: int | None = None
    """The seed of the first picture; each further one has the next."""
    count: int = 1
    has_mask: bool = False
    """Whether the last of several pictures in the question says where the others are changed."""
    makes: Makes = "image"
    seconds: int | None = None
    """How long a video or music is."""
    fps: int | None = None
    frames: int | None = None

    def metadata(self) -> JsonObject:
        """Return it as the metadata of a question."""
        values: dict[str, JsonValue] = {one.name: getattr(self, one.name) for one in fields(self)}
        values["has_mask"] = self.has_mask or None
        if self.makes == "image":
            del values["makes"]
        return {DRAWING: present(values)}

    @property
    def body(self) -> JsonObject:
        """The keys of the request's body."""
        return present(
            {
                "size": self.size,
                "seconds": self.seconds,
                "fps": self.fps,
                "num_frames": self.frames,
            }
        )


def wish_of(message: Message) -> DrawingWish | None:
    """Return what a question wants to be drawn; None if it is chatted about."""
    values = message.metadata.get(DRAWING)
    if not isinstance(values, Mapping):
        return None
    wish = as_object(dict(values))
    seed, count, makes = wish.get("seed"), wish.get("count"), string(wish, "makes")
    return DrawingWish(
        model=string(wish, "model") or "",
        size=string(wish, "size"),
        seed=seed if isinstance(seed, int) else None,
        count=count if isinstance(count, int) and count > 0 else 1,
        has_mask=wish.get("has_mask") is True,
        makes="video" if makes == "video" else "audio" if makes == "audio" else "image",
        seconds=positive(wish, "seconds"),
        fps=positive(wish, "fps"),
        frames=positive(wish, "frames"),
    )


def resumable_job(messages: list[Message]) -> str | None:
    """Return the job of the newest answer, if ollm quit before it was complete."""
    newest = messages[-1] if messages else None
    if newest is None or newest.metadata.get("ended") != "interrupted":
        return None
    return string(dict(newest.metadata), JOB)


def newest_of(messages: list[Message], makes: Makes) -> Made | None:
    """Return the newest picture, video or sound that a model made."""
    made_by_models = (message for message in reversed(messages) if message.role == "assistant")
    each = (newest_made([*message.content], makes) for message in made_by_models)
    return next((block for block in each if block is not None), None)


def newest_kind(messages: list[Message]) -> Makes | None:
    """Return what a model made last in a chat: a picture, a video or music."""
    for message in reversed(messages):
        for block in reversed(message.content if message.role == "assistant" else ()):
            for makes, kind in KINDS.items():
                if isinstance(block, kind.block) and isinstance(block.data, bytes):
                    return makes
    return None


def newest_picture(messages: list[Message]) -> ImageContent | None:
    """Return the newest picture that a model made."""
    newest = newest_of(messages, "image")
    return newest if isinstance(newest, ImageContent) else None


class MediaRun:
    """One prompt of a conversation that is drawn; each picture is kept as soon as it is there."""

    has_template = False
    """Whether the question brings its own template, which drawings have none of."""
    unsaved: Message | None = None
    """The question, which is saved before anything is asked for."""

    def __init__(
        self,
        parts: ChatParts,
        conversation: Conversation,
        saving: ChatSaver,
        signal: AbortSignal,
        job: str | None,
    ) -> None:
        """Take the conversation, whose newest message is the question, and a job to pick up."""
        self._parts = parts
        self._conversation = conversation
        self._saving, self._growing = saving, saving.begin_growing()
        self._signal = signal
        self._question = conversation.messages[-1]
        self._job = job
        self._wish = wish_of(self._question) or DrawingWish(model="")
        self._kind = KINDS[self._wish.makes]
        self._pictures: list[Block] = []
        self._block = ""
        # Set as soon as the prompt runs.
        self._emit: Emit

    async def run(self, emit: Emit) -> Ending:
        """Draw the pictures and return how that ended."""
        self._emit = emit
        if self.unsaved is not None:
            await self._saving.write_shielded(self.unsaved)
        ended = "failed"
        limit_s = self._parts.limits.prompt_s
        try:
            with anyio.fail_after(limit_s):
                await unless_stopped(self._signal, self._draw_all)
            ended = "complete"
        except TimeoutError:
            raise AIError(
                ErrorCode.TIMEOUT,
                f"The {self._kind.word} took longer than {limit_s:g} s.",
                hint="Ask for less, or raise the time limit of a prompt.",
            ) from None
        except AIError as error:
            if error.code != ErrorCode.ABORTED:
                raise
            ended = "stopped"
            return chat_events.Finish(reason="abort")
        except anyio.get_cancelled_exc_class():
            ended = "stopped"
            raise
        finally:
            await self._keep(ended)
        await self._emit(chat_events.TurnComplete(turn_number=1))
        return chat_events.Finish(reason="stop", turn=1)

    async def _draw_all(self) -> None:
        ref = ModelRef.parse(self._wish.model)
        router = self._parts.router
        resolved = await (router.resolve(self._wish.model) if ref is None else router.at(ref))
        adapter = resolved.provider
        check_maker(adapter, self._wish.makes)
        for number in range(self._wish.count):
            self._block = self._conversation.next_block()
            await self._show(b"", step=0)
            request = self._request(number, resolved.ref.model)
            job, self._job = self._job, None
            response = await made(adapter, self._wish.makes, request, self._report, job)
            self._job = None
            for block in response.content:
                if isinstance(block, self._kind.block) and isinstance(block.data, bytes):
                    self._pictures.append(block)
                    self._growing.take(self._message)
                    await self._show(block.data)

    def _request(self, number: int, model: str) -> Request:
        wish = self._wish
        content, mask = self._input()
        return Request(
            model=model,
            input=content,
            output=self._kind.output,
            mask=mask,
            options=GenerationOptions(
                seed=None if wish.seed is None else wish.seed + number,
                extra_body=wish.body or None,
            ),
            stream=False,
            signal=self._signal,
        )

    def _input(self) -> tuple[Content, ImageContent | None]:
        """Return what the question says and shows, and its mask."""
        content = self._question.content
        pictures = [block for block in content if isinstance(block, ImageContent)]
        if not self._wish.has_mask or len(pictures) < 2:
            return content, None
        mask = pictures[-1]
        return tuple(block for block in content if block is not mask), mask

    async def _report(self, progress: DrawingProgress) -> None:
        if progress.job is not None and progress.job != self._job:
            self._job = progress.job
            self._growing.take(self._message)
        step, total = progress.step or 0, progress.total_steps
        await self._show(progress.preview, step=step, total_steps=total)

    async def _show(
        self, data: bytes, *, step: int | None = None, total_steps: int | None = None
    ) -> None:
        await self._emit(
            chat_events.MediaDelta(
                modality=self._wish.makes,
                data=data,
                step=step,
                total_steps=total_steps,
                turn=1,
                block=self._block,
            )
        )

    def _message(self, ended: str | None = None) -> Message:
        marks: JsonObject = {"drawn_by": self._wish.model}
        if ended is None and self._job is not None:
            marks[JOB] = self._job
        if ended not in (None, "complete"):
            marks["ended"] = ended
        return Message("assistant", self._pictures or [_UNFINISHED], metadata=marks)

    async def _keep(self, ended: str) -> None:
        """Add what was drawn to the history, and write its final form."""
        message = None
        if self._pictures:
            message = self._message(ended)
            self._conversation.messages.append(message)
        elif ended != "complete" and self._job is not None:
            # It was begun in the journal, which has to learn that it ended.
            message = replace(
                self._message(ended), content=(TextContent(f"No {self._kind.word}."),)
            )
            self._conversation.messages.append(message)
        await self._growing.finish(message)
