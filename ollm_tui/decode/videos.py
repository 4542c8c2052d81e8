"""The kind, size and length of a video, by its first bytes; no frame is decoded."""

import struct
from collections.abc import Iterator
from typing import Final

from ollm_tui.dataclass import dataclass

VIDEO_TYPES: Final = {
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "avi": "video/x-msvideo",
    "webp": "image/webp",
    "gif": "image/gif",
}
"""By kind, the media type; the last two are pictures that move."""
_MAX_PARTS: Final = 2000
_PARENTS: Final = frozenset({b"moov", b"trak"})
_SEGMENT, _INFO, _TRACKS, _TRACK, _FRAME = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0
_SCALE, _LENGTH, _WIDTH, _HEIGHT = 0x2AD7B1, 0x4489, 0xB0, 0xBA
_MASTERS: Final = frozenset({_SEGMENT, _INFO, _TRACKS, _TRACK, _FRAME})
_USUAL_SCALE: Final = 1_000_000
_MAX_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class VideoHeader:
    """What the header of a video says; None is not known."""

    kind: str
    duration_s: float | None = None
    width: int | None = None
    height: int | None = None

    @property
    def mime_type(self) -> str:
        """The media type."""
        return VIDEO_TYPES[self.kind]


def read_video_header(data: bytes) -> VideoHeader | None:
    """Return what the bytes of a video say of it, or None if they are no video that is known."""
    kind = _kind(data)
    try:
        match kind:
            case "mp4" | "mov":
                return _boxes_header(kind, data)
            case "webm":
                return _webm_header(data)
            case "avi":
                return _avi_header(data)
    except (struct.error, IndexError, OverflowError):
        pass  # it is damaged or cut, but a video
    return VideoHeader(kind) if kind is not None else None


def _kind(data: bytes) -> str | None:
    if data[4:8] == b"ftyp":
        return "mov" if data[8:12] == b"qt  " else "mp4"
    if data[:4] == b"\x1a\x45\xdf\xa3":
        return "webm"
    if data[:4] == b"RIFF":
        return {b"AVI ": "avi", b"WEBP": "webp"}.get(data[8:12])
    return "gif" if data[:4] == b"GIF8" else None


def _boxes_header(kind: str, data: bytes) -> VideoHeader:
    """Read the boxes of MP4 and QuickTime: `mvhd` has the length, a `tkhd` the size."""
    length, size = None, (0, 0)
    for name, start, end in _boxes(data, 0, len(data)):
        if name == b"mvhd" and end - start >= 32:
            form, place = (">IQ", 20) if data[start] == 1 else (">II", 12)
            scale, ticks = struct.unpack_from(form, data, start + place)
            length = ticks / scale if scale else None
        elif name == b"tkhd" and end - start >= 84:
            width, height = struct.unpack_from(">II", data, end - 8)
            size = max(size, (width >> 16, height >> 16))
    return _header(kind, length, *size)


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the boxes and those inside of them: name, start and end of the content."""
    at = start
    for _ in range(_MAX_PARTS):
        if at + 8 > end:
            return
        size, name = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            (size,), head = struct.unpack_from(">Q", data, at + 8), 16
        elif size == 0:
            size = end - at
        if size < head:
            return
        yield name, at + head, at + size
        at += head if name in _PARENTS else size


def _webm_header(data: bytes) -> VideoHeader:
    scale, ticks, width, height = _USUAL_SCALE, None, 0, 0
    for name, content in _elements(data):
        if name == _LENGTH:
            (ticks,) = struct.unpack(">f" if len(content) == 4 else ">d", content)
        elif name == _SCALE:
            scale = int.from_bytes(content)
        elif name == _WIDTH:
            width = width or int.from_bytes(content)
        else:
            height = height or int.from_bytes(content)
    length = None if ticks is None else ticks * scale / 1e9
    return _header("webm", length, width, height)


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the elements of WebM that hold a value, those inside others too."""
    at = 0
    for _ in range(_MAX_PARTS):
        if at + 2 > len(data):
            return
        name, at = _number(data, at, keeps_mark=True)
        size, at = _number(data, at, keeps_mark=False)
        if name in _MASTERS:
            continue
        if name in (_SCALE, _LENGTH, _WIDTH, _HEIGHT) and size <= 8:
            yield name, data[at : at + size]
        at += size


def _number(data: bytes, at: int, *, keeps_mark: bool) -> tuple[int, int]:
    """Read a number whose first set bit says how many bytes it has; return it and its end."""
    count = 9 - data[at].bit_length()
    raw = int.from_bytes(data[at : at + count])
    return raw if keeps_mark else raw & ((1 << (7 * count)) - 1), at + count


def _avi_header(data: bytes) -> VideoHeader:
    at = data.find(b"avih", 0, 4096)
    if at < 0:
        return VideoHeader("avi")
    per_frame, *_, frames = struct.unpack_from("<5I", data, at + 8)
    width, height = struct.unpack_from("<2I", data, at + 40)
    return _header("avi", per_frame * frames / 1e6, width, height)


def _header(kind: str, length: float | None, width: int, height: int) -> VideoHeader:
    is_known = length is not None and 0 < length < _MAX_SECONDS
    return VideoHeader(kind, length if is_known else None, width or None, height or None)
