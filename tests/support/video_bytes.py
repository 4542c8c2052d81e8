"""The headers of videos, without a frame: enough for those who do not play them."""

import struct


def _box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + 8, name) + content


def mp4(
    seconds: float = 2.0, width: int = 64, height: int = 48, *, brand: bytes = b"isom"
) -> bytes:
    ticks = round(seconds * 1000)
    movie = _box(b"mvhd", struct.pack(">IIIII", 0, 0, 0, 1000, ticks) + bytes(80))
    track = _box(b"tkhd", bytes(76) + struct.pack(">II", width << 16, height << 16))
    head = _box(b"ftyp", brand + bytes(4) + brand)
    return head + _box(b"moov", movie + _box(b"trak", track)) + _box(b"mdat", b"frames")


def _element(name: int, content: bytes) -> bytes:
    mark = name.to_bytes((name.bit_length() + 7) // 8)
    return mark + (len(content) | 1 << 56).to_bytes(8) + content


def webm(seconds: float = 2.0, width: int = 64, height: int = 48) -> bytes:
    length = _element(0x4489, struct.pack(">d", seconds * 1000))
    info = _element(0x1549A966, _element(0x2AD7B1, (1_000_000).to_bytes(3)) + length)
    sizes = _element(0xB0, width.to_bytes(2)) + _element(0xBA, height.to_bytes(2))
    tracks = _element(0x1654AE6B, _element(0xAE, _element(0xE0, sizes)))
    return _element(0x1A45DFA3, b"\x42\x82\x84webm") + _element(0x18538067, info + tracks)


def avi(seconds: float = 2.0, width: int = 64, height: int = 48) -> bytes:
    head = struct.pack(
        "<14I", 62_500, 0, 0, 0, round(seconds * 16), 0, 1, 0, width, height, 0, 0, 0, 0
    )
    return b"RIFF\x64\0\0\0AVI LIST\x44\0\0\0hdrlavih" + struct.pack("<I", len(head)) + head
