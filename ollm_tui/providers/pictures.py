"""Pictures and sound of a message as servers want them: base64 text, never a stand-in."""

import base64

from ollm_tui.protocol.blocks import AudioContent, Block, ImageContent, MediaData
from ollm_tui.protocol.errors import AIError, ErrorCode

_SIGNS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def base64_text(data: MediaData) -> str:
    """Give base64 without a `data:` prefix."""
    if isinstance(data, bytes):
        return base64.b64encode(data).decode("ascii")
    return data.partition(",")[2] if data.startswith("data:") else data


def picture_base64(picture: ImageContent) -> str:
    """Give a picture's data.

    Raises:
        AIError: UNSUPPORTED_MODALITY when there is only a link to it.
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
    """Give a picture as a URL: its own, or one that holds the data."""
    if picture.data is None and picture.url:
        return picture.url
    if isinstance(picture.data, str) and picture.data.startswith("data:"):
        return picture.data
    return f"data:{picture_type(picture)};base64,{picture_base64(picture)}"


def sound_part(sound: AudioContent) -> tuple[str, str]:
    """Give base64 and format of a sound.

    Raises:
        AIError: UNSUPPORTED_MODALITY when there is only a link to it.
    """
    if sound.data is None:
        raise unsendable(sound)
    kind = (sound.mime_type or "audio/wav").partition("/")[2]
    return base64_text(sound.data), {"mpeg": "mp3", "x-wav": "wav"}.get(kind, kind)


def unsendable(block: Block) -> AIError:
    """Say that a server has no place for this kind of content."""
    return AIError(
        ErrorCode.UNSUPPORTED_MODALITY,
        f"Content of the type {block.type} cannot be sent to this server.",
        hint="Remove it from the message, or choose another provider.",
    )


def picture_type(picture: ImageContent) -> str:
    """Give the media type of a picture: as it is said, else by its first bytes."""
    said = picture.mime_type or _said_in(picture.data) or _said_in(picture.url)
    if said:
        return "image/jpeg" if said == "image/jpg" else said
    data = picture.data if isinstance(picture.data, bytes) else _first_bytes(picture.data or "")
    return next((name for sign, name in _SIGNS if data.startswith(sign)), "image/png")


def _said_in(data: MediaData | None) -> str | None:
    if not isinstance(data, str) or not data.startswith("data:"):
        return None
    return data.removeprefix("data:").partition(",")[0].partition(";")[0] or None


def _first_bytes(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded[:16])
    except ValueError:
        return b""
