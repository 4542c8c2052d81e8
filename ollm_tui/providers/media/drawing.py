"""Pictures made of a text: what the protocols for them share.

`size` and `n` of `extra_body` are OpenAI's names; protocols with other names translate them.
"""

import base64
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import anyio
from anyio import to_thread
from anyio.abc import ObjectSendStream

from ollm_tui.decode.images import read_image_header
from ollm_tui.protocol.blocks import ImageContent, MediaData, content_to_text, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.ports import SupportsPictures
from ollm_tui.protocol.provider_events import (
    DrawingProgress,
    ErrorEvent,
    Finish,
    MediaDelta,
    ProviderEvent,
)
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.http_errors import is_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.media.refusals import own_words
from ollm_tui.providers.single_error import task_group
from ollm_tui.providers.unsupported import check_input

LARGEST_REPLY: Final = 64 * 1024 * 1024
LARGEST_PICTURE: Final = 32 * 1024 * 1024
LARGEST_UPLOAD: Final = 50_000_000
"""Bytes of all pictures of one request together."""
MOST_PICTURES: Final = 16
_SLICE: Final = 3 * 2**16
"""Bytes that are converted at once: other threads run in between."""
_TEXT_SLICE: Final = 2**18
_SIZE: Final = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A request for pictures that was checked."""

    model: str
    prompt: str
    pictures: tuple[bytes, ...]
    """Those to edit; none to draw from nothing."""
    mask: bytes | None
    seed: int | None
    size: tuple[int, int] | None
    count: int
    extra_body: JsonMapping
    """With `size` and `n` as they were given."""

    @property
    def more(self) -> JsonObject:
        """The keys of the body that have no name of their own here."""
        return {key: self.extra_body[key] for key in self.extra_body if key not in ("size", "n")}


async def drawing_of(request: Request) -> Drawing:
    """Read a request for pictures.

    Raises:
        AIError: UNSUPPORTED_FEATURE for fields that have no place in one; BAD_REQUEST for no text,
            for pictures that cannot be read, and for a mask without a picture.
    """
    check_input(request, "pictures", "image", {"seed"}, more={"mask"})
    blocks = normalize_content(request.input or "")
    prompt = content_to_text([block for block in blocks if block.type == "text"])
    if not prompt.strip():
        raise AIError(ErrorCode.BAD_REQUEST, "A picture takes an input of some text.")
    given = [block for block in blocks if isinstance(block, ImageContent)]
    if request.mask is not None and not given:
        raise AIError(ErrorCode.BAD_REQUEST, "A mask takes a picture to edit.")
    pictures = [await _uploaded(picture) for picture in given]
    mask = None if request.mask is None else await _uploaded(request.mask)
    if sum(map(len, [*pictures, mask or b""])) > LARGEST_UPLOAD:
        most = LARGEST_UPLOAD // 1_000_000
        raise AIError(ErrorCode.BAD_REQUEST, f"The pictures have more than {most} MB together.")
    extra = request.options.extra_body or {}
    return Drawing(
        model=request.model,
        prompt=prompt,
        pictures=tuple(pictures),
        mask=mask,
        seed=request.options.seed,
        size=_size(extra.get("size")),
        count=_count(extra.get("n")),
        extra_body=extra,
    )


def _size(value: object) -> tuple[int, int] | None:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    return (int(match[1]), int(match[2])) if match else None


def _count(value: object) -> int:
    if value is None:
        return 1
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_PICTURES:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"`n` of pictures takes a whole number from 1 to {MOST_PICTURES}.",
        )
    return value


async def _uploaded(picture: ImageContent) -> bytes:
    data: MediaData | None = picture.data
    if data is None and picture.url and picture.url.startswith("data:"):
        data = picture.url
    if data is None:
        raise AIError(
            ErrorCode.UNSUPPORTED_MODALITY,
            "A picture to edit is sent as data, not as a link.",
            hint="Save the picture and name the file.",
        )
    raw = data if isinstance(data, bytes) else await decoded(data)
    if read_image_header(raw) is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{picture.name or 'The picture to edit'} is no picture that can be read.",
            hint="Use a PNG or JPEG file.",
        )
    return raw


async def decoded(text: str) -> bytes:
    """Return the bytes of base64 text, decoded beside the event loop; none if it is not valid."""
    return await to_thread.run_sync(_decoded, text)


def _decoded(text: str) -> bytes:
    if text.startswith("data:"):
        text = text[text.find(",") + 1 :]
    raw, left = bytearray(), ""
    try:
        for start in range(0, len(text), _TEXT_SLICE):
            group = left + "".join(text[start : start + _TEXT_SLICE].split())
            whole = len(group) - len(group) % 4
            raw += base64.b64decode(group[:whole], validate=True)
            left = group[whole:]
    except ValueError:
        return b""
    return b"" if left else bytes(raw)


async def encoded(data: bytes) -> str:
    """Return bytes as base64 text, encoded beside the event loop."""
    return await to_thread.run_sync(_encoded, data)


def _encoded(data: bytes) -> str:
    slices = (data[start : start + _SLICE] for start in range(0, len(data), _SLICE))
    return "".join(base64.b64encode(part).decode("ascii") for part in slices)


async def drawn(endpoint: Endpoint, data: Sequence[bytes]) -> tuple[ImageContent, ...]:
    """Return pictures as content.

    Raises:
        AIError: ENGINE_ERROR if there is none, or one cannot be read.
    """
    pictures = []
    for one in data[:MOST_PICTURES]:
        header = read_image_header(one)
        if header is None or len(one) > LARGEST_PICTURE:
            raise no_picture(endpoint, {})
        kind, width, height = header.kind, header.width, header.height
        pictures.append(
            ImageContent(data=one, mime_type=f"image/{kind}", width=width, height=height)
        )
    if not pictures:
        raise no_picture(endpoint, {})
    return tuple(pictures)


def no_picture(endpoint: Endpoint, reply: JsonObject) -> AIError:
    """Return the error of a reply without a picture, in the server's words if it gave any."""
    if is_error(reply):
        return own_words(reply, endpoint, "pictures")
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} sent no picture that can be read.",
        "Check that the model makes pictures, and the server's log.",
    )


async def unless_stopped(signal: AbortSignal | None, work: Callable[[], Awaitable[T]]) -> T:
    """Await some work.

    Raises:
        AIError: ABORTED by the signal.
    """
    with anyio.CancelScope() as scope, ExitStack() as listening:
        if signal is not None:
            listening.callback(signal.subscribe(scope.cancel))
        return await work()
    raise AIError(ErrorCode.ABORTED, "The request was stopped.")


@asynccontextmanager
async def drawing_stream(
    adapter: SupportsPictures, request: Request
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Stream the steps of a drawing, then each picture under its index."""
    send, receive = anyio.create_memory_object_stream[ProviderEvent](32)
    async with task_group() as group, receive:
        group.start_soon(_draw_into, send, adapter, request)
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()


async def _draw_into(
    send: ObjectSendStream[ProviderEvent], adapter: SupportsPictures, request: Request
) -> None:
    async def report(progress: DrawingProgress) -> None:
        step, total = progress.step, progress.total_steps
        if step is not None or progress.preview:
            await send.send(
                MediaDelta(
                    modality="image", data=progress.preview, step=step or 0, total_steps=total
                )
            )

    async with send:
        try:
            response = await adapter.draw(request, report)
        except AIError as error:
            is_stop = error.code == ErrorCode.ABORTED
            await send.send(Finish("abort") if is_stop else ErrorEvent(error))
            return
        for index, block in enumerate(response.content):
            if isinstance(block, ImageContent) and isinstance(block.data, bytes):
                await send.send(MediaDelta(modality="image", data=block.data, index=index))
        await send.send(Finish(response.finish_reason or "stop", response.usage))
