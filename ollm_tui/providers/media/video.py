"""Videos made of a text: what the protocols for them share.

`size` and `seconds` of `extra_body` are OpenAI's names, `num_frames` and `fps` those of vLLM and
LocalAI; protocols with other names translate them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.videos import read_video_header
from ollm_tui.protocol.blocks import ImageContent, VideoContent, content_to_text, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.body.unsupported import check_input
from ollm_tui.providers.http_errors import is_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.media.drawing import size_of, uploaded, whole_number
from ollm_tui.providers.media.refusals import own_words

MAX_VIDEO_BYTES: Final = 64 * 1024 * 1024
MAX_REPLY_BYTES: Final = 96 * 1024 * 1024
"""Room for the largest video as base64."""
MAX_VIDEOS: Final = 8
MAX_FRAMES: Final = 10_000
MAX_SECONDS: Final = 3600
_MAX_FPS: Final = 240
USUAL_FPS: Final = 16
"""The frames for each second of models that make videos on one machine, such as Wan."""
_OWN_KEYS: Final = frozenset({"size", "seconds", "fps", "num_frames", "n"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOrder:
    """A request for videos that was checked."""

    model: str
    prompt: str
    picture: bytes | None
    """The first frame."""
    seed: int | None
    size: tuple[int, int] | None
    seconds: int | None
    fps: int | None
    frames: int | None
    count: int
    extra_body: JsonMapping

    @property
    def more(self) -> JsonObject:
        """The keys of the body that have no name of their own here."""
        return {key: self.extra_body[key] for key in self.extra_body if key not in _OWN_KEYS}

    @property
    def length(self) -> tuple[int | None, int | None]:
        """The number of frames and that for each second, for protocols that count no seconds."""
        if self.frames is not None or self.seconds is None:
            return self.frames, self.fps
        fps = self.fps or USUAL_FPS
        return self.seconds * fps + 1, fps  # models make one frame more than whole steps


async def video_order(request: Request) -> VideoOrder:
    """Read a request for videos.

    Raises:
        AIError: UNSUPPORTED_FEATURE for fields that have no place in one; BAD_REQUEST for no text,
            several pictures, and numbers beyond their limits.
    """
    check_input(request, "videos", "video", {"seed"})
    blocks = normalize_content(request.input or "")
    prompt = content_to_text([block for block in blocks if block.type == "text"])
    if not prompt.strip():
        raise AIError(ErrorCode.BAD_REQUEST, "A video takes an input of some text.")
    pictures = [block for block in blocks if isinstance(block, ImageContent)]
    if len(pictures) > 1:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "A video takes one picture, its first frame.",
            hint="Leave the others out.",
        )
    extra = request.options.extra_body or {}
    return VideoOrder(
        model=request.model,
        prompt=prompt,
        picture=await uploaded(pictures[0]) if pictures else None,
        seed=request.options.seed,
        size=size_of(extra.get("size")),
        seconds=whole_number("seconds", extra.get("seconds"), 1, MAX_SECONDS),
        fps=whole_number("fps", extra.get("fps"), 1, _MAX_FPS),
        frames=whole_number("num_frames", extra.get("num_frames"), 1, MAX_FRAMES),
        count=whole_number("n", extra.get("n"), 1, MAX_VIDEOS) or 1,
        extra_body=extra,
    )


async def each_video(
    order: VideoOrder, make: Callable[[VideoOrder], Awaitable[Response]]
) -> Response:
    """Return the videos of an order, each made by itself; further ones have the next seeds."""
    videos: list[VideoContent] = []
    for number in range(order.count):
        seed = None if order.seed is None else order.seed + number
        response = await make(replace(order, seed=seed))
        videos += [block for block in response.content if isinstance(block, VideoContent)]
    return Response(content=tuple(videos), finish_reason="stop")


def video_content(endpoint: Endpoint, data: bytes) -> VideoContent:
    """Return the bytes of a video as content.

    Raises:
        AIError: ENGINE_ERROR if they are no video.
    """
    header = read_video_header(data)
    if header is None or len(data) > MAX_VIDEO_BYTES:
        raise no_video(endpoint, {})
    return VideoContent(data=data, mime_type=header.mime_type, duration_s=header.duration_s)


def no_video(endpoint: Endpoint, reply: JsonObject) -> AIError:
    """Return the error of a reply without a video, in the server's words if it gave any."""
    if is_error(reply):
        return own_words(reply, endpoint, "videos")
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} sent no video that can be read.",
        "Check that the model makes videos, and the server's log.",
    )
