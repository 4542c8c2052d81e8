"""Frames: messages between the app and a process with an engine, over pipes.

A frame is a line of JSON and as many bytes as that line says. To the child go `job` and `cancel`;
back come `progress` and `piece`, any number of them, and `done`, `error` or `cancelled`, which ends
the job of the same id.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_HEADER_BYTES: Final = 64 * 1024
MAX_DATA_BYTES: Final = 512 * 1024 * 1024
JOB, CANCEL = "job", "cancel"
PROGRESS, PIECE = "progress", "piece"
DONE, ERROR, CANCELLED = "done", "error", "cancelled"
ENDS: Final = frozenset({DONE, ERROR, CANCELLED})


class BadFrameError(Exception):
    """What arrived is no frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of a job."""

    job: int
    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    data: bytes = b""

    @property
    def is_end(self) -> bool:
        """Whether nothing more comes of its job."""
        return self.type in ENDS


def write_frame(frame: Frame) -> bytes:
    """Return a frame as it is sent.

    Raises:
        BadFrameError: it is larger than a reader takes.
    """
    header = {"job": frame.job, "type": frame.type, "size": len(frame.data)}
    line = json.dumps({**header, "fields": dict(frame.fields)}).encode() + b"\n"
    if len(line) > MAX_HEADER_BYTES or len(frame.data) > MAX_DATA_BYTES:
        raise BadFrameError(f"a frame of {len(line) + len(frame.data):,} bytes is too large")
    return line + frame.data


class FrameReader:
    """Takes bytes as they arrive and gives whole frames."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._header: Frame | None = None
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete with this piece.

        Raises:
            BadFrameError: it is not the next part of a frame.
        """
        self._pending += piece
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        if self._header is None and not self._read_header():
            return None
        header = self._header
        if header is None or len(self._pending) < self._size:
            return None
        data = bytes(self._pending[: self._size])
        del self._pending[: self._size]
        self._header = None
        return Frame(header.job, header.type, header.fields, data)

    def _read_header(self) -> bool:
        end = self._pending.find(b"\n", 0, MAX_HEADER_BYTES)
        if end < 0:
            if len(self._pending) >= MAX_HEADER_BYTES:
                raise BadFrameError("a header does not end")
            return False
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        self._header, self._size = _header(line)
        return True


def _header(line: bytes) -> tuple[Frame, int]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise BadFrameError("a header is no JSON object")
    match header:
        case {"job": int() as job, "type": str() as kind, "fields": dict() as fields}:
            size = header.get("size")
            if isinstance(size, int) and 0 <= size <= MAX_DATA_BYTES:
                return Frame(job, kind, fields), size
    raise BadFrameError("a header lacks a value")
