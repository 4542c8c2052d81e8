"""What a model makes of a prompt that is not chatted about: which operation, and what it gives."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent, VideoContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.media_ports import (
    SupportsDrawingJobs,
    SupportsMusic,
    SupportsVideo,
    SupportsVideoJobs,
)
from ollm_tui.protocol.ports import ProviderAdapter, ReportDrawing, SupportsPictures
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.answer import gather_sound
from ollm_tui.providers.media.inputs import MUSIC_OUTPUT
from ollm_tui.providers.media.refusals import not_offered

Makes: TypeAlias = Literal["image", "video", "audio"]
"""The modality that is made; `audio` is music."""
Made: TypeAlias = ImageContent | VideoContent | AudioContent


@dataclass(frozen=True, slots=True)
class Kind:
    """How one modality is asked for."""

    output: str
    """What the request names."""
    offer: str
    """What a provider without it is said not to offer."""
    port: type
    word: str
    block: type[Made]


KINDS: Final[Mapping[Makes, Kind]] = {
    "image": Kind("image", "pictures", SupportsPictures, "picture", ImageContent),
    "video": Kind("video", "videos", SupportsVideo, "video", VideoContent),
    "audio": Kind(MUSIC_OUTPUT, "music", SupportsMusic, "music", AudioContent),
}


def check_maker(adapter: ProviderAdapter, makes: Makes) -> None:
    """Refuse a provider that has no operation for what is wanted.

    Raises:
        AIError: UNSUPPORTED_FEATURE.
    """
    if not isinstance(adapter, KINDS[makes].port):
        raise not_offered(adapter.label, KINDS[makes].offer)


async def made(
    adapter: ProviderAdapter, makes: Makes, request: Request, report: ReportDrawing, job: str | None
) -> Response:
    """Return what a provider makes, or the result of a job if its server still has that.

    Raises:
        AIError: any failure; ABORTED by the request's signal.
    """
    if job is not None and (resume := _resume(adapter, makes)) is not None:
        try:
            return await resume(job, request, report)
        except AIError as error:
            if error.code != ErrorCode.BAD_REQUEST:
                raise
    if makes == "image" and isinstance(adapter, SupportsPictures):
        return await adapter.draw(request, report)
    if makes == "video" and isinstance(adapter, SupportsVideo):
        return await adapter.make_video(request, report)
    assert isinstance(adapter, SupportsMusic)
    return await gather_sound(adapter.make_music(request))


def newest_made(blocks: list[Block], makes: Makes) -> Made | None:
    """Return the last of some blocks that is of a kind and has its data."""
    kept = KINDS[makes].block
    for block in reversed(blocks):
        if isinstance(block, kept) and isinstance(block.data, bytes):
            return block
    return None


_Resume: TypeAlias = Callable[[str, Request, ReportDrawing], Awaitable[Response]]


def _resume(adapter: ProviderAdapter, makes: Makes) -> _Resume | None:
    if makes == "image" and isinstance(adapter, SupportsDrawingJobs):
        return adapter.resume_drawing
    if makes == "video" and isinstance(adapter, SupportsVideoJobs):
        return adapter.resume_video
    return None
