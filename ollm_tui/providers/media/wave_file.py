"""The head of WAV files: for sound whose length is not known yet, and mended once it is."""

import struct
from typing import Final

_HEAD: Final = struct.Struct("<4sI4s4sIHHIIHH4sI")
_UNKNOWN: Final = 0xFFFFFFFF
_SIZE, _CHUNK_HEAD = 4, 8
HEAD: Final = 512
"""Bytes in which the samples begin."""


def wave_head(rate: int, size: int | None = None) -> bytes:
    """Return the head of a file with one channel of 16 bits, for `size` bytes of samples.

    Without a size, it says that the file goes on to its end.
    """
    samples = _UNKNOWN if size is None else size
    whole = _UNKNOWN if size is None else size + _HEAD.size - _CHUNK_HEAD
    form = (b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    return _HEAD.pack(b"RIFF", whole, b"WAVE", *form, b"data", samples)


def mended(start: bytes, size: int) -> dict[int, bytes]:
    """Return what to write where, so that a WAV file of `size` bytes states its length.

    Files that are made while they are sent begin with a length that is unknown, zero, or the
    largest; of files with another one, and of other files, nothing changes. `start` is the first
    part of the file.
    """
    if start[:4] != b"RIFF" or start[8:12] != b"WAVE":
        return {}
    at = 12
    while at + _CHUNK_HEAD <= len(start[:HEAD]):
        name, stated = struct.unpack_from("<4sI", start, at)
        if name == b"data":
            real = size - at - _CHUNK_HEAD
            if stated == real or 0 < stated < real or real <= 0 or size > _UNKNOWN:
                return {}
            whole = struct.pack("<I", size - _CHUNK_HEAD)
            return {_SIZE: whole, at + _SIZE: struct.pack("<I", real)}
        at += _CHUNK_HEAD + stated + stated % 2
    return {}


def with_length(data: bytes) -> bytes:
    """Return a whole file; a WAV file says how long it is."""
    for at, part in mended(data[:HEAD], len(data)).items():
        data = data[:at] + part + data[at + len(part) :]
    return data
