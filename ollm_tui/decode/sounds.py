"""The kind and length of a sound file, by its first bytes; no sample is decoded but for its height.

`waveform` reads WAV files with 16-bit samples, which are what recordings and engines write.
"""

import struct
import sys
from array import array
from collections.abc import Iterator
from typing import Final

from ollm_tui.dataclass import dataclass

SOUND_TYPES: Final = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "aac": "audio/aac",
    "m4a": "audio/mp4",
}
"""By kind, the media type."""
_SIGNS: Final = {b"OggS": "ogg", b"fLaC": "flac"}
_M4A: Final = (b"M4A ", b"M4B ")
_PCM, _EXTENSIBLE = 1, 0xFFFE
_MAX_PARTS: Final = 100
_LOOKED_AT: Final = 200_000
"""Samples of a file that are looked at for its waveform."""
_FULL: Final = 32_768


@dataclass(frozen=True, slots=True)
class SoundHeader:
    """What the header of a sound file says; None is not known."""

    kind: str
    duration_s: float | None = None

    @property
    def mime_type(self) -> str:
        """The media type."""
        return SOUND_TYPES[self.kind]


def read_sound_header(data: bytes) -> SoundHeader | None:
    """Return what the bytes of a sound file say of it, or None if they are no sound."""
    kind = _kind(data)
    try:
        match kind:
            case "wav":
                return SoundHeader(kind, _wave_length(data))
            case "flac":
                return SoundHeader(kind, _flac_length(data))
    except (struct.error, IndexError):
        pass  # it is damaged or cut, but a sound
    return SoundHeader(kind) if kind is not None else None


def waveform(data: bytes, columns: int) -> list[float]:
    """Return how loud each part of a WAV file is, from 0 to 1; empty for other files."""
    if _kind(data) != "wav":
        return []
    try:
        parts = dict(_chunks(data))
        form, channels, _rate, bits = _form(data, parts)
        start, end = parts[b"data"]
    except (KeyError, struct.error):
        return []
    if form not in (_PCM, _EXTENSIBLE) or bits != 16 or end - start < 2 * columns:
        return []
    samples = array("h")
    samples.frombytes(data[start : end - (end - start) % 2])
    if sys.byteorder == "big":
        samples.byteswap()
    width = len(samples) // columns
    step = max(channels, len(samples) // _LOOKED_AT)
    pieces = (samples[at * width : (at + 1) * width : step] for at in range(columns))
    return [max(max(piece), -min(piece)) / _FULL for piece in pieces]


def _kind(data: bytes) -> str | None:
    if data[:4] in (b"RIFF", b"RF64") and data[8:12] == b"WAVE":
        return "wav"
    if data[4:8] == b"ftyp" and data[8:12] in _M4A:
        return "m4a"
    if data[:3] == b"ID3":
        return "mp3"
    if data[:1] == b"\xff" and data[1:2] >= b"\xe0":
        layer = data[1] >> 1 & 3
        is_mpeg = layer != 0 and len(data) > 2 and data[2] >> 4 != 15 and data[2] >> 2 & 3 != 3
        return "aac" if data[1] & 0xF6 == 0xF0 else "mp3" if is_mpeg else None
    return _SIGNS.get(data[:4])


def _wave_length(data: bytes) -> float | None:
    parts = dict(_chunks(data))
    _form_number, channels, rate, bits = _form(data, parts)
    start, end = parts.get(b"data", (0, 0))
    per_s = rate * channels * bits // 8
    return (end - start) / per_s if per_s else None


def _form(data: bytes, parts: dict[bytes, tuple[int, int]]) -> tuple[int, int, int, int]:
    """Return the number of the format, the channels, the rate and the bits of a sample."""
    at = parts.get(b"fmt ", (len(data), 0))[0]
    form, channels, rate, _per_s, _block, bits = struct.unpack_from("<HHIIHH", data, at)
    return form, channels, rate, bits


def _chunks(data: bytes) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """Yield the chunks of a WAV file: name, and where its content begins and ends."""
    at = 12
    for _ in range(_MAX_PARTS):
        if at + 8 > len(data):
            return
        name, size = struct.unpack_from("<4sI", data, at)
        # Files that were written while they were recorded state no length, or the largest.
        end = min(len(data), at + 8 + size) if size else len(data)
        yield name, (at + 8, end)
        at = end + size % 2


def _flac_length(data: bytes) -> float | None:
    packed = int.from_bytes(data[18:26])
    rate, count = packed >> 44, packed & (1 << 36) - 1
    return count / rate if rate and count else None
