"""Requests with a single `input`: which operation of a provider answers them."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from ollm_tui.protocol.blocks import AudioContent, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.media_ports import SupportsInfill, SupportsMusic, SupportsVideo
from ollm_tui.protocol.model import MUSIC, ModelInfo
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    ProviderStream,
    SupportsEmbed,
    SupportsPictures,
    SupportsSpeech,
    SupportsTranscription,
)
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, MediaDelta
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.base import gather
from ollm_tui.providers.media.inputs import MUSIC_OUTPUT
from ollm_tui.providers.media.refusals import not_offered, not_streamed
from ollm_tui.providers.media.several import answer_request
from ollm_tui.providers.media.wave_file import with_length

InputTask: TypeAlias = Literal[
    "embeddings", "speech", "transcription", "pictures", "videos", "music", "infill"
]
_TASKS: Final[Mapping[tuple[str, str], InputTask]] = {
    ("text", "embedding"): "embeddings",
    ("text", "audio"): "speech",
    ("audio", "text"): "transcription",
    ("text", "image"): "pictures",
    ("image", "image"): "pictures",
    ("text", "video"): "videos",
    ("image", "video"): "videos",
    ("text", MUSIC_OUTPUT): "music",
}
"""The operations by the modalities of input and output."""
_PORTS: Final[Mapping[InputTask, tuple[type, str]]] = {
    "embeddings": (SupportsEmbed, "embed"),
    "speech": (SupportsSpeech, "speak"),
    "transcription": (SupportsTranscription, "transcribe"),
    "pictures": (SupportsPictures, "draw"),
    "videos": (SupportsVideo, "make_video"),
    "music": (SupportsMusic, "make_music"),
    "infill": (SupportsInfill, "infill"),
}
"""The interface of each operation, and its method."""


async def answer(adapter: ProviderAdapter, request: Request) -> Response | ProviderStream:
    """Answer a request: a chat by its stream, an input by the operation that makes its output.

    Raises:
        AIError: any failure.
    """
    if request.input is not None:
        return await answer_input(adapter, request)
    return await answer_request(adapter.chat_stream, request, gather)


async def answer_input(adapter: ProviderAdapter, request: Request) -> Response | ProviderStream:
    """Answer a request with an input by the operation that makes its output.

    Raises:
        AIError: any failure; UNSUPPORTED_FEATURE if the provider has no such operation, or cannot
            stream what it makes; BAD_REQUEST if the request does not say what to make.
    """
    task = task_of(request)
    if not offers(adapter, task):
        raise not_offered(adapter.label, task)
    operation = getattr(adapter, _PORTS[task][1])
    match task:
        case "infill":
            return await answer_request(operation, request, gather)
        case "music":
            return await answer_request(operation, request, gather_sound)
        case "speech":
            stream: ProviderStream = operation(request)
            return stream if request.stream else await gather_sound(stream)
        case "pictures" | "videos" if request.stream:
            # Loaded only for these.
            from ollm_tui.providers.media.drawing import drawing_of
            from ollm_tui.providers.media.made_stream import made_stream
            from ollm_tui.providers.media.video import video_order

            # Checked here, so that a mistake in it is no event.
            await (drawing_of(request) if task == "pictures" else video_order(request))
            return made_stream(operation, request, "image" if task == "pictures" else "video")
        case _ if request.stream:
            raise not_streamed("A transcription" if task == "transcription" else task.capitalize())
        case _:
            response: Response = await operation(request)
            return response


def offers(adapter: ProviderAdapter, task: InputTask) -> bool:
    """Whether a provider has the operation for a task."""
    return isinstance(adapter, _PORTS[task][0])


def task_of(request: Request) -> InputTask:
    """Return which operation a request with an input needs.

    Raises:
        AIError: BAD_REQUEST if the request does not say what to make; UNSUPPORTED_MODALITY for
            what is not implemented.
    """
    blocks = normalize_content(request.input or "")
    given = next((block.type for block in blocks if block.type != "text"), "text")
    if request.suffix is not None and request.output in (None, "text"):
        return "infill"
    output = request.output or ("text" if given == "audio" else None)
    if output is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The request does not say what to make of its input.",
            hint="Set `output`, for instance to embedding; a question goes into `messages`.",
        )
    task = _TASKS.get((given, output))
    if task is None:
        raise AIError(
            ErrorCode.UNSUPPORTED_MODALITY,
            f"Making {output[:40]} of {given[:40]} is not implemented.",
            hint=f"Implemented: {', '.join(dict.fromkeys(_TASKS.values()))}, and infill.",
        )
    return task


def output_of(info: ModelInfo | None) -> str | None:
    """Return what a model makes, if that is known and it is one thing and not text."""
    made = info.capability.output if info is not None and info.capability is not None else ()
    only = next(iter(made)) if len(made) == 1 else None
    if only == "audio" and info is not None and info.capability is not None:
        return MUSIC_OUTPUT if MUSIC in info.capability.features else only
    return None if only == "text" else only


async def gather_sound(stream: ProviderStream) -> Response:
    """Read a stream of sound to its end and return it as one `Response`.

    Raises:
        AIError: The error that the stream ended with, or ABORTED.
    """
    pieces: list[bytes] = []
    async with stream as events:
        async for event in events:
            match event:
                case MediaDelta(data=data):
                    pieces.append(data)
                case ErrorEvent(error=error):
                    raise error
                case Finish(reason="abort"):
                    raise AIError(ErrorCode.ABORTED, "The request was stopped.")
                case Finish(reason=reason, usage=usage):
                    data = with_length(b"".join(pieces))
                    sound = AudioContent(data=data, mime_type=sound_type(data))
                    return Response(content=(sound,), finish_reason=reason, usage=usage)
    raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer has no end.")


def sound_type(data: bytes) -> str | None:
    """Return the media type of sound by its first bytes, or None for another one."""
    if data[:4] == b"RIFF":
        return "audio/wav"
    if data[:3] == b"ID3" or (data[:1] == b"\xff" and data[1:2] >= b"\xe0"):
        return "audio/aac" if data[1:2] in (b"\xf1", b"\xf9") else "audio/mpeg"
    return {b"OggS": "audio/ogg", b"fLaC": "audio/flac"}.get(data[:4])
