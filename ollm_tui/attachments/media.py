"""Attached sound, videos and PDF files: recognized by their first bytes, sent unchanged."""

from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.images import image_data
from ollm_tui.decode.sounds import read_sound_header
from ollm_tui.decode.videos import read_video_header
from ollm_tui.protocol.base64_text import to_base64
from ollm_tui.protocol.blocks import AudioContent, DocumentContent, MediaContent, VideoContent
from ollm_tui.protocol.errors import AIError, ErrorCode

MAX_MEDIA_BYTES: Final = 50_000_000
MAX_DOCUMENT_BYTES: Final = 32_000_000
_SENT_VIDEOS: Final = frozenset({"mp4", "mov", "webm", "avi"})
_STILL: Final = (b"hei", b"hev", b"mif", b"msf", b"avi")
"""How the brands of pictures begin that are kept in the boxes of a video."""
FileContent: TypeAlias = AudioContent | VideoContent | DocumentContent


@dataclass(frozen=True, slots=True)
class AttachedMedia:
    """A sound, video or PDF file as it will be sent: the file's bytes, unchanged."""

    name: str
    """The file's own name, clean."""
    kind: str
    size: int
    """Bytes."""
    content: FileContent
    path: Path | None = field(default=None, compare=False)
    """Where it was read; None if it was in no file."""


def media_of(name: str, data: bytes) -> AttachedMedia | None:
    """Return a file that is a sound, a video or a PDF; None for another one.

    Raises:
        AIError: BAD_REQUEST if it is too large.
    """
    kind, content = _content(name, data) or ("", None)
    if content is None:
        return None
    most = MAX_DOCUMENT_BYTES if kind == "pdf" else MAX_MEDIA_BYTES
    if len(data) > most:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{name} has {len(data) / 1e6:,.1f} MB; {most // 1_000_000} MB is the limit.",
        )
    return AttachedMedia(name, kind, len(data), content)


def media_again(content: MediaContent) -> AttachedMedia | None:
    """Attach a file of a chat again; return None if the chat has only a link to it."""
    data = image_data(content.data, content.url)
    whole = data.whole() if data is not None else b""
    file = media_of(content.name or "", whole) if whole else None
    return file and replace(file, content=replace(file.content, name=content.name))


def _content(name: str, data: bytes) -> tuple[str, FileContent] | None:
    if data[:5] == b"%PDF-":
        return "pdf", DocumentContent(data=to_base64(data), mime_type="application/pdf", name=name)
    if (sound := read_sound_header(data)) is not None:
        return sound.kind, AudioContent(
            data=to_base64(data),
            mime_type=sound.mime_type,
            duration_s=sound.duration_s,
            name=name,
        )
    if data[4:8] == b"ftyp" and data[8:11] in _STILL:
        return None
    video = read_video_header(data)
    if video is None or video.kind not in _SENT_VIDEOS:
        return None
    return video.kind, VideoContent(
        data=to_base64(data), mime_type=video.mime_type, duration_s=video.duration_s, name=name
    )
