"""Cut a byte stream into lines of text, and read the JSON objects of NDJSON from them."""

import codecs
from enum import Enum
from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_guard import BadJson, parse_json_objects
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject

MAX_LINE_BYTES = 8 * 1024 * 1024
_EVENT_STREAM_END = lazy_re(rb"\r\n|\r|\n")


class LineTooLong(LimitPassed):
    """A server sent more than the limit without ending the line."""

    def __init__(self, limit: int, what: str = "a line") -> None:
        super().__init__(f"the server sent {what} longer than {limit} bytes")
        self.limit = limit


class LineMode(Enum):
    """Which bytes end a line."""

    EVENT_STREAM = "LF, CRLF or CR"
    NDJSON = "LF"


class LineDecoder:
    """Turn chunks of bytes into lines without their terminators."""

    def __init__(self, mode: LineMode, *, limit: int = MAX_LINE_BYTES) -> None:
        self._mode = mode
        self._limit = limit
        self._open = bytearray()
        self._at_start = True
        self._after_cr = False
        self._failed = False

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that this chunk completes.

        Raises:
            LineTooLong: if a line is over the limit and no earlier line is left to return.
        """
        self._raise_if_failed()
        *ended, rest = self._split(chunk)
        lines: list[str] = []
        for piece in ended:
            if not (self._open or self._at_start) and len(piece) <= self._limit:
                lines.append(piece.decode("utf-8", errors="replace"))  # nearly every line
                continue
            self._open += piece
            if self._over_limit():
                return self._fail(lines)
            lines.append(self._take())
        self._open += rest
        return self._fail(lines) if self._over_limit() else lines

    def finish(self) -> list[str]:
        """Return the unfinished last line, if there is one."""
        self._raise_if_failed()
        last = self._take()
        return [last] if last else []

    def _split(self, chunk: bytes) -> list[bytes]:
        if self._mode is LineMode.NDJSON:
            return chunk.split(b"\n")
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if chunk.endswith(b"\r"):
            self._after_cr = True
        if b"\r" not in chunk:
            return chunk.split(b"\n")  # several times faster
        return _EVENT_STREAM_END.split(chunk)

    def _take(self) -> str:
        line = bytes(self._open)
        self._open.clear()
        if self._at_start:
            line = line.removeprefix(codecs.BOM_UTF8)
            self._at_start = False
        return line.decode("utf-8", errors="replace")

    def _over_limit(self) -> bool:
        return len(self._open) > self._limit

    def _fail(self, lines: list[str]) -> list[str]:
        self._failed = True
        self._open.clear()
        if not lines:
            self._raise_if_failed()
        return lines

    def _raise_if_failed(self) -> None:
        if self._failed:
            raise LineTooLong(self._limit)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a JSON object: not ``complete`` if cut, not parsed if ``over_limit``."""

    text: str
    reason: str
    complete: bool = True
    over_limit: bool = False


NDJSONItem: TypeAlias = JsonObject | BadLine


class NDJSONDecoder:
    """Turn chunks of bytes into JSON objects, one a line, and bad lines.

    Each line is judged alone: blank lines are skipped, and anything that is not an object is a
    `BadLine` for the caller to count or report. Two objects on one line, as a proxy that lost the
    line end leaves them, are both returned.
    """

    def __init__(self, *, limit: int = MAX_LINE_BYTES) -> None:
        self._lines = LineDecoder(LineMode.NDJSON, limit=limit)

    def feed(self, chunk: bytes) -> list[NDJSONItem]:
        """Return what the lines that this chunk completes hold.

        Raises:
            LineTooLong: if a line is over the limit and no earlier line is left to return.
        """
        return [item for line in self._lines.feed(chunk) for item in _read(line, complete=True)]

    def finish(self) -> list[NDJSONItem]:
        """Return what a last line without its line end holds."""
        return [item for line in self._lines.finish() for item in _read(line, complete=False)]


def _read(line: str, *, complete: bool) -> list[NDJSONItem]:
    if not line.strip():
        return []
    try:
        return [*parse_json_objects(line)]
    except BadJson as error:
        return [BadLine(line, str(error), complete, isinstance(error, LimitPassed))]
