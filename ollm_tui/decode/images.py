"""The kind, size and bytes of an image, without decoding its pixels."""

import base64
import binascii
from collections.abc import Callable, Mapping
from struct import unpack_from
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.blocks import MediaData

_HEAD: Final = 256 * 1024
"""Characters of base64 that are decoded to read a header."""


@dataclass(frozen=True, slots=True)
class ImageData:
    """The bytes of an image, decoded on demand: all of it can be many megabytes."""

    data: MediaData

    @property
    def size(self) -> int:
        """Size in bytes; approximate for base64 text with white space."""
        if isinstance(self.data, bytes):
            return len(self.data)
        return max(0, len(self.data) * 3 // 4 - self.data[-2:].count("="))

    def head(self) -> bytes:
        """Return the beginning, enough for the header."""
        return self.data if isinstance(self.data, bytes) else _decoded(self.data[:_HEAD])

    def whole(self) -> bytes:
        """Return all bytes; empty if the base64 is invalid."""
        return self.data if isinstance(self.data, bytes) else _decoded(self.data)


def image_data(data: MediaData | None, url: str | None) -> ImageData | None:
    """Return the bytes of an image, or None if there is only a link to it."""
    source = data if data is not None else url
    if isinstance(source, bytes):
        return ImageData(source)
    if source is not None and source[:5].lower() == "data:":
        before, comma, body = source.partition(",")
        return ImageData(body if comma and before.lower().endswith(";base64") else b"")
    return None if data is None else ImageData(data)


def _decoded(text: str) -> bytes:
    try:
        # The last few characters may be half of a group, and padding may be left out.
        usable = "".join(text.split()).rstrip("=")
        return base64.b64decode(usable[: len(usable) - (len(usable) % 4 == 1)] + "===")
    except (binascii.Error, ValueError):
        return b""


TURNED: Final = frozenset({5, 6, 7, 8})
"""Orientations that swap width and height."""

_SIGN: Final = b"Exif\0\0"
_ORIENTATION: Final = 0x0112
_MAX_ENTRIES: Final = 200


def exif_orientation(data: bytes, start: int) -> int | None:
    """Return the orientation, 1 to 8, of the Exif segment at `start`, or None if it is not one."""
    if data[start : start + len(_SIGN)] != _SIGN:
        return None
    tiff = start + len(_SIGN)
    order: Literal["big", "little"] = "big" if data[tiff : tiff + 2] == b"MM" else "little"

    def number(place: int, length: int) -> int:
        return int.from_bytes(data[place : place + length], order)

    directory = tiff + number(tiff + 4, 4)
    for entry in range(min(number(directory, 2), _MAX_ENTRIES)):
        place = directory + 2 + 12 * entry
        if number(place, 2) == _ORIENTATION:
            value = number(place + 8, 2)
            return value if value in range(1, 9) else 1
    return 1


ImageKind: TypeAlias = Literal["png", "jpeg", "gif", "webp", "bmp"]

_MAX_SEGMENTS: Final = 500
"""Marker segments of a JPEG that are skipped in search of its size."""
_MAX_FILL: Final = 32
"""Fill bytes between two of them."""
_BARE: Final = frozenset({0x01, *range(0xD0, 0xD8)})
"""JPEG markers without a length."""
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers whose segment holds the size."""
_SCAN: Final = 0xDA
_APP1: Final = 0xE1
_CORE_HEADER: Final = 12
"""Length of the oldest BMP header, whose sizes have two bytes."""


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """Kind and displayed size in pixels; both sides are at least 1."""

    kind: ImageKind
    width: int
    height: int
    orientation: int = 1
    """How to turn a JPEG for that size, as Exif counts: 1 to 8."""


def read_image_header(data: bytes) -> ImageHeader | None:
    """Read the header of a PNG, JPEG, GIF, WebP or BMP; return None for anything else.

    `data` may be the whole file or its beginning. Segments of a JPEG without its size are skipped,
    up to a limit.
    """
    for sign, read in _READERS.items():
        if data.startswith(sign):
            header = read(data)
            return header if header is not None and header.width and header.height else None
    return None


def _little(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")


def _png(data: bytes) -> ImageHeader | None:
    if len(data) < 24 or data[12:16] != b"IHDR":
        return None
    return ImageHeader("png", *unpack_from(">II", data, 16))


def _gif(data: bytes) -> ImageHeader | None:
    if len(data) < 10 or data[4:6] not in {b"7a", b"9a"}:
        return None
    return ImageHeader("gif", *unpack_from("<HH", data, 6))


def _bmp(data: bytes) -> ImageHeader | None:
    if len(data) < 26:
        return None
    if _little(data, 14, 4) == _CORE_HEADER:
        return ImageHeader("bmp", *unpack_from("<HH", data, 18))
    width, height = unpack_from("<ii", data, 18)
    # A negative height means that the first row is the top one.
    return ImageHeader("bmp", width, abs(height)) if width > 0 else None


def _webp(data: bytes) -> ImageHeader | None:
    if len(data) < 30 or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8X":
            return ImageHeader("webp", _little(data, 24, 3) + 1, _little(data, 27, 3) + 1)
        case b"VP8L" if data[20] == 0x2F:
            sizes = _little(data, 21, 4)
            return ImageHeader("webp", (sizes & 0x3FFF) + 1, (sizes >> 14 & 0x3FFF) + 1)
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            # The upper two bits of each are a scale that is not used.
            width, height = unpack_from("<HH", data, 26)
            return ImageHeader("webp", width & 0x3FFF, height & 0x3FFF)
        case _:
            return None


def _jpeg(data: bytes) -> ImageHeader | None:
    position, exif = 2, None
    for _ in range(_MAX_SEGMENTS):
        position = _marker(data, position)
        if len(data) < position + 8 or data[position] == _SCAN:
            return None
        marker, length = unpack_from(">BH", data, position)
        if marker in _FRAMES:
            height, width = unpack_from(">HH", data, position + 4)
            orientation = exif or 1
            if orientation in TURNED:
                width, height = height, width
            return ImageHeader("jpeg", width, height, orientation)
        if marker == _APP1 and exif is None:
            exif = exif_orientation(data, position + 3)
        position += 1 if marker in _BARE else 1 + length
    return None


def _marker(data: bytes, position: int) -> int:
    """Return the position of the next marker's second byte; beyond the end if there is none."""
    if data[position : position + 1] != b"\xff":
        return len(data)
    fill = data[position : position + _MAX_FILL]
    return position + len(fill) - len(fill.lstrip(b"\xff"))


_READERS: Final[Mapping[bytes, Callable[[bytes], ImageHeader | None]]] = {
    b"\x89PNG\r\n\x1a\n": _png,
    b"\xff\xd8": _jpeg,
    b"GIF8": _gif,
    b"RIFF": _webp,
    b"BM": _bmp,
}
