"""Read server-sent events by the rules of the WHATWG HTML standard, with three tolerances.

An `error` field becomes an event, the last event may be flushed, and unknown lines are kept.
"""

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.lines import MAX_LINE_BYTES, LineDecoder, LineMode, LineTooLong

MAX_STRAY_CHARS = 64 * 1024


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event; ``id`` is the last event id of the stream, ``complete`` false if flushed."""

    event: str = "message"
    data: str = ""
    id: str = ""
    retry: int | None = None
    complete: bool = True


class SSEDecoder:
    """Turn chunks of an event stream into events.

    ``comments`` counts comment lines: signs of life, but not of progress. ``retry`` is the last
    valid reconnection time in milliseconds.
    """

    def __init__(self, *, limit: int = MAX_LINE_BYTES) -> None:
        self.comments = 0
        self.retry: int | None = None
        self._lines = LineDecoder(LineMode.EVENT_STREAM, limit=limit)
        self._limit = limit
        self._failed = False
        self._last_id = ""
        self._stray: list[str] = []
        self._stray_room = MAX_STRAY_CHARS
        self._event = ""
        self._data: list[str] = []
        self._errors: list[str] = []
        self._size = 0

    @property
    def stray(self) -> str:
        """The lines without a known field, at most the first 64 Ki characters of them."""
        return "\n".join(self._stray)

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that this chunk completes.

        Raises:
            LineTooLong: if a line or event is over the limit and no earlier event is left.
        """
        if self._failed:
            raise LineTooLong(self._limit, "an event")
        events: list[ServerSentEvent] = []
        for line in self._lines.feed(chunk):
            if line:
                self._read_line(line)
            elif self._data or self._errors or self._event:
                events += self._dispatch(complete=True)
            if self._size > self._limit:
                return self._fail(events)
        return events

    def finish(self, *, flush: bool = True) -> list[ServerSentEvent]:
        """Return the last event if its closing blank line is missing; ``flush=False`` drops it."""
        if self._failed:
            raise LineTooLong(self._limit, "an event")
        for line in self._lines.finish():
            self._read_line(line)
        events = self._dispatch(complete=False)
        return events if flush else []

    def _fail(self, events: list[ServerSentEvent]) -> list[ServerSentEvent]:
        self._failed = True
        self._forget()
        if not events:
            raise LineTooLong(self._limit, "an event")
        return events

    def _read_line(self, line: str) -> None:
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                self.comments += 1
            case "data":
                self._data.append(value)
                self._size += len(value) + 1
            case "event":
                self._event = value
            case "id":
                self._last_id = self._last_id if "\0" in value else value
            case "retry":
                if value.isascii() and value.isdigit() and len(value) <= 9:
                    self.retry = int(value)
            case "error" if colon and value:
                self._errors.append(value)
                self._size += len(value) + 1
            case _:
                self._keep_stray(line)

    def _keep_stray(self, line: str) -> None:
        if self._stray_room > 0:
            kept = line[: self._stray_room]
            self._stray.append(kept)
            self._stray_room -= len(kept) + 1

    def _dispatch(self, *, complete: bool) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        if self._data:
            events.append(self._build(self._event or "message", self._data, complete=complete))
        if self._errors:
            events.append(self._build("error", self._errors, complete=complete))
        self._forget()
        return events

    def _build(self, name: str, lines: list[str], *, complete: bool) -> ServerSentEvent:
        return ServerSentEvent(name, "\n".join(lines), self._last_id, self.retry, complete)

    def _forget(self) -> None:
        self._event = ""
        self._data = []
        self._errors = []
        self._size = 0
