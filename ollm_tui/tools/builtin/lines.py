"""Lines out of an open file of any size, in bounded memory and time."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

CHUNK_BYTES = 64 * 1024
MOST_SCANNED_BYTES = 64 * 1024 * 1024
"""How far into a file a line is looked for."""
MORE_BYTES = 4096
"""How far behind the last byte that may be given keys are looked for."""


@dataclass(slots=True)
class Window:
    """Some lines of a file, and what is known of the rest."""

    first: int
    text: bytearray = field(default_factory=bytearray)
    total: int | None = None
    """All lines of the file; None when it was not read to its end."""
    is_cut: bool = False
    """Whether the last line is there in part only."""


def chunks_of(fd: int, most_bytes: int) -> Iterator[bytes]:
    """Give the file's first bytes, chunk by chunk."""
    offset = 0
    while offset < most_bytes:
        chunk = os.pread(fd, min(CHUNK_BYTES, most_bytes - offset), offset)
        if not chunk:
            return
        offset += len(chunk)
        yield chunk


def read_window(fd: int, size: int, first: int, count: int, most_bytes: int) -> Window:
    """Read `count` lines from line `first` on, but no more than so many bytes of them."""
    window = Window(first)
    number, scanned, last = 1, 0, b""
    for chunk in chunks_of(fd, MOST_SCANNED_BYTES):
        number = _take(window, chunk, number, first + count, most_bytes)
        scanned += len(chunk)
        last = chunk[-1:]
    if scanned < MOST_SCANNED_BYTES and scanned >= size:
        window.total = number - 1 if last in {b"", b"\n"} else number
    return window


def _take(window: Window, chunk: bytes, number: int, end: int, most_bytes: int) -> int:
    """Take what a chunk has of the window; give the number of the line after its last feed."""
    start = 0
    while number < window.first and (feed := chunk.find(b"\n", start)) >= 0:
        number, start = number + 1, feed + 1
    if number < window.first:
        return number
    taken_from = start
    while number < end and (feed := chunk.find(b"\n", start)) >= 0:
        number, start = number + 1, feed + 1
    taken = chunk[taken_from : start if number >= end else len(chunk)]
    room = most_bytes - len(window.text)
    window.text += taken[:room]
    window.is_cut = window.is_cut or len(taken) > room
    return number + chunk.count(b"\n", start)
