"""Pictures made of a text: what the protocols for them share.

`size` and `n` of `extra_body` are OpenAI's names; protocols with other names translate them.
"""

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.images import read_image_header
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.base64_text import to_base64
from ollm_tui.protocol.blocks import ImageContent, MediaData, content_to_text, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.body.unsupported import check_input
from ollm_tui.providers.http_errors import is_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.media.refusals import own_words
from ollm_tui.tasks import cancelled_by

MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
MAX_PICTURE_BYTES: Final = 32 * 1024 * 1024
MAX_UPLOAD_BYTES: Final = 50_000_000
"""Bytes of all pictures of one request together."""
MAX_PICTURES: Final = 16
_SLICE: Final = 3 * 2**16
"""Bytes that are converted at once: other threads run in between."""
_TEXT_SLICE: Final = 2**18
_SIZE: Final = lazy_re(r"([1-9]\d{0,4})x([1-9]\d{0,4})")
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
    pictures = [await uploaded(picture) for picture in given]
    mask = None if request.mask is None else await uploaded(request.mask)
    if sum(map(len, [*pictures, mask or b""])) > MAX_UPLOAD_BYTES:
        most = MAX_UPLOAD_BYTES // 1_000_000
        raise AIError(ErrorCode.BAD_REQUEST, f"The pictures have more than {most} MB together.")
    extra = request.options.extra_body or {}
    return Drawing(
        model=request.model,
        prompt=prompt,
        pictures=tuple(pictures),
        mask=mask,
        seed=request.options.seed,
        size=size_of(extra.get("size")),
        count=_count(extra.get("n")),
        extra_body=extra,
    )


def size_of(value: object) -> tuple[int, int] | None:
    """Return width and height of a size such as 512x512; None for anything else."""
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    return (int(match[1]), int(match[2])) if match else None


def _count(value: object) -> int:
    return whole_number("n", value, 1, MAX_PICTURES) or 1


def whole_number(name: str, value: object, low: int, high: int) -> int | None:
    """Return a number of `extra_body`, or None if there is none.

    Raises:
        AIError: BAD_REQUEST for anything but a whole number within the limits.
    """
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise AIError(ErrorCode.BAD_REQUEST, f"`{name}` takes a whole number from {low} to {high}.")
    return value


async def uploaded(picture: ImageContent) -> bytes:
    """Return the bytes of a picture that is sent to be edited, or as the first frame.

    Raises:
        AIError: UNSUPPORTED_MODALITY for a link, BAD_REQUEST for what cannot be read.
    """
    data: MediaData | None = picture.data
    if data is None and picture.url and picture.url.startswith("data:"):
        data = picture.url
    if data is None:
        raise AIError(
            ErrorCode.UNSUPPORTED_MODALITY,
            "A picture to edit is sent as data, not as a link.",
            hint="Save the picture and name the file.",
        )
    raw = data if isinstance(data, bytes) else await decode_base64(data)
    if read_image_header(raw) is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{picture.name or 'The picture to edit'} is no picture that can be read.",
            hint="Use a PNG or JPEG file.",
        )
    return raw


async def decode_base64(text: str) -> bytes:
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


async def encode_base64(data: bytes) -> str:
    """Return bytes as base64 text, encoded beside the event loop."""
    return await to_thread.run_sync(to_base64, data)


async def drawn(endpoint: Endpoint, data: Sequence[bytes]) -> tuple[ImageContent, ...]:
    """Return pictures as content.

    Raises:
        AIError: ENGINE_ERROR if there is none, or one cannot be read.
    """
    pictures = []
    for one in data[:MAX_PICTURES]:
        header = read_image_header(one)
        if header is None or len(one) > MAX_PICTURE_BYTES:
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
    with cancelled_by(signal):
        return await work()
    raise AIError(ErrorCode.ABORTED, "The request was stopped.")
