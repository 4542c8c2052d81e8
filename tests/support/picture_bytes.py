"""Beginnings of picture files, made without any library: enough to tell what they are."""

import struct
import zlib


def png(width: int = 3, height: int = 2) -> bytes:
    """A whole PNG, all black."""
    rows = b"".join(b"\0" + bytes(3 * width) for _ in range(height)) if width < 1000 else b""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    name, data = part
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def jpeg(width: int = 5, height: int = 4) -> bytes:
    frame = struct.pack(">BHH", 8, height, width) + b"\x03" + bytes(9)
    return b"\xff\xd8\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"


def gif(width: int = 7, height: int = 6) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int = 9, height: int = 8) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X\x0a\0\0\0\0\0\0\0" + sizes
    return b"RIFF" + struct.pack("<I", len(body)) + body


def bmp(width: int = 2, height: int = 2) -> bytes:
    return b"BM" + bytes(12) + struct.pack("<Iii", 40, width, height) + bytes(40)


def heic() -> bytes:
    return b"\0\0\0\x18ftypheic" + bytes(40)
