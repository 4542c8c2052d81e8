"""Pictures, sound, videos and PDF files of a message as servers take them: base64, or a URL."""

import base64
from typing import Final

from ollm_tui.protocol.base64_text import from_base64, to_base64
from ollm_tui.protocol.blocks import (
    MEDIA,
    AudioContent,
    Block,
    DocumentContent,
    ImageContent,
    MediaData,
    VideoContent,
    normalize_content,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import Request

MAX_SOUND_BYTES: Final = 100 * 1024 * 1024
"""Bytes of a sound that is transcribed."""

_WORDS: Final = {"image": "picture", "audio": "sound", "video": "video", "document": "PDF file"}
_SIGNATURES = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def base64_text(data: MediaData) -> str:
    """Return base64 without a `data:` prefix."""
    if isinstance(data, bytes):
        return to_base64(data)
    return data.partition(",")[2] if data.startswith("data:") else data


def base64_bytes(data: MediaData) -> bytes:
    """Return the bytes of some data.

    Raises:
        AIError: BAD_REQUEST for text that is not base64.
    """
    if isinstance(data, bytes):
        return data
    try:
        return from_base64(base64_text(data))
    except ValueError as error:
        raise AIError(ErrorCode.BAD_REQUEST, "The data are not valid base64.") from error


def picture_base64(picture: ImageContent) -> str:
    """Return a picture's data as base64.

    Raises:
        AIError: UNSUPPORTED_MODALITY if the picture is only a link.
    """
    if picture.data is not None:
        return base64_text(picture.data)
    if picture.url and picture.url.startswith("data:"):
        return base64_text(picture.url)
    raise AIError(
        ErrorCode.UNSUPPORTED_MODALITY,
        "This server takes pictures as data, not as links.",
        hint="Save the picture and attach the file.",
    )


def picture_url(picture: ImageContent) -> str:
    """Return a picture as a URL: its own, or a `data:` URL."""
    if picture.data is None and picture.url:
        return picture.url
    if isinstance(picture.data, str) and picture.data.startswith("data:"):
        return picture.data
    return f"data:{picture_type(picture)};base64,{picture_base64(picture)}"


def file_base64(file: VideoContent | DocumentContent) -> str:
    """Return the data of a video or document as base64.

    Raises:
        AIError: UNSUPPORTED_MODALITY if it is only a link.
    """
    if file.data is None:
        raise unsendable(file)
    return base64_text(file.data)


def file_url(file: VideoContent | DocumentContent, usual: str) -> str:
    """Return a video or document as a URL: its own, or a `data:` URL; `usual` is its type."""
    if file.data is None and file.url:
        return file.url
    return f"data:{file.mime_type or usual};base64,{file_base64(file)}"


def sound_part(sound: AudioContent) -> tuple[str, str]:
    """Return a sound as base64, and its format.

    Raises:
        AIError: UNSUPPORTED_MODALITY if the sound is only a link.
    """
    if sound.data is None:
        raise unsendable(sound)
    kind = (sound.mime_type or "audio/wav").partition("/")[2]
    return base64_text(sound.data), {"mpeg": "mp3", "x-wav": "wav"}.get(kind, kind)


def sound_of(request: Request) -> bytes:
    """Return the sound of a request for a transcription.

    Raises:
        AIError: BAD_REQUEST for another input and for a sound of no or too many bytes;
            UNSUPPORTED_MODALITY if the sound is only a link.
    """
    blocks = normalize_content(request.input or "")
    if len(blocks) != 1 or not isinstance(blocks[0], AudioContent):
        raise AIError(ErrorCode.BAD_REQUEST, "A transcription takes an input of one sound.")
    if blocks[0].data is None:
        raise unsendable(blocks[0])
    data = base64_bytes(blocks[0].data)
    if not 0 < len(data) <= MAX_SOUND_BYTES:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The sound is empty." if not data else f"The sound has {len(data):,} bytes, too many.",
            hint=f"It may have {MAX_SOUND_BYTES:,} bytes.",
        )
    return data


def unsendable(block: Block) -> AIError:
    """Return the error of content that a server cannot take."""
    what = f"Content of the type {block.type}"
    if isinstance(block, MEDIA):
        is_link = block.data is None
        what = f"{'A link to' if is_link else 'The'} {_WORDS[block.type]}"
    return AIError(
        ErrorCode.UNSUPPORTED_MODALITY,
        f"{what} cannot be sent to this server.",
        hint="Remove it from the message, or choose another provider.",
    )


def picture_type(picture: ImageContent) -> str:
    """Return the media type of a picture: the declared one, else by its first bytes."""
    declared = picture.mime_type or _declared_type(picture.data) or _declared_type(picture.url)
    if declared:
        return "image/jpeg" if declared == "image/jpg" else declared
    data = picture.data if isinstance(picture.data, bytes) else _first_bytes(picture.data or "")
    return next(
        (name for signature, name in _SIGNATURES if data.startswith(signature)), "image/png"
    )


def _declared_type(data: MediaData | None) -> str | None:
    if not isinstance(data, str) or not data.startswith("data:"):
        return None
    return data.removeprefix("data:").partition(",")[0].partition(";")[0] or None


def _first_bytes(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded[:16])
    except ValueError:
        return b""
