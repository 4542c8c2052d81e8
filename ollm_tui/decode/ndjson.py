"""Read streams of JSON objects, one a line.

The states are those of the line decoder. Each line is judged alone: blank lines are skipped,
objects are returned, anything else comes back as a `BadLine` for the caller to count or report.
Two objects on one line (a proxy that swallowed the line end) are both returned.
"""

from dataclasses import dataclass
from typing import TypeAlias

from ollm_tui.decode.json_guard import BadJson, parse_json_objects
from ollm_tui.decode.limits import LimitPassed
from ollm_tui.decode.lines import MAX_LINE_BYTES, LineDecoder, LineMode
from ollm_tui.protocol.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no JSON object; ``complete`` is false if the stream ended inside it.

    ``over_limit``: it was not looked at, as it holds more than is taken.
    """

    text: str
    reason: str
    complete: bool = True
    over_limit: bool = False


NDJSONItem: TypeAlias = JsonObject | BadLine


class NDJSONDecoder:
    """Turn chunks of bytes into objects and bad lines."""

    def __init__(self, *, limit: int = MAX_LINE_BYTES) -> None:
        self._lines = LineDecoder(LineMode.NDJSON, limit=limit)

    def feed(self, chunk: bytes) -> list[NDJSONItem]:
        """Return what the lines that this chunk completes hold.

        Raises:
            LineTooLong: when a line is over the limit and no earlier line is left to return.
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
