"""The shell of every answer over server-sent events; what an object means is the format's job.

States and transitions:

* ``unknown``: only white space and byte order marks came, which are kept. The first other byte
  decides: `{`, `[` and `<` lead to ``whole``, anything else to ``events``.
* ``events``: server-sent events. `[DONE]` ends the answer; so does the end of the body after a
  finish reason. Calls are given only then, because reasons come early, twice or wrong.
* ``whole``: a server that ignored `stream`. The body is read as JSON at its end.
"""

from abc import ABC, abstractmethod
from enum import Enum, auto

from ollm_tui.decode.json_fields import string
from ollm_tui.decode.json_guard import BadJson, parse_json, parse_json_objects
from ollm_tui.decode.limits import LimitPassed
from ollm_tui.decode.sse import ServerSentEvent, SSEDecoder
from ollm_tui.decode.think_tags import ThinkTags
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import ProviderEvent
from ollm_tui.providers.answer_builder import AnswerBuilder, known_reason
from ollm_tui.providers.error_body import is_markup
from ollm_tui.providers.http_errors import gave_up, text_error, unfinished
from ollm_tui.providers.http_faults import Endpoint, too_long, web_page

MAX_WHOLE_BYTES = 16 * 1024 * 1024
MAX_START_BYTES = 64 * 1024
_BLANKS = b"\xef\xbb\xbf \t\r\n"


class _State(Enum):
    UNKNOWN = auto()
    EVENTS = auto()
    WHOLE = auto()


class SSEAnswer(ABC):
    """Turn the bytes of one answer into events, with exactly one end."""

    def __init__(self, place: Endpoint, tags: ThinkTags | None = None) -> None:
        self._place = place
        self._answer = AnswerBuilder(tags)
        self._state = _State.UNKNOWN
        self._sse = SSEDecoder()
        self._start = b""
        self._whole = bytearray()
        self._bad: str | None = None
        self._events = 0
        self._saw_answer = False
        self._reason: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the closing event was given."""
        return self._answer.ended

    @property
    def life(self) -> int:
        """Grows with every event and comment: a sign that the server is at work."""
        return self._events + self._sse.comments + len(self._whole)

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        """Give the events that this chunk completes."""
        if self._answer.ended:
            return []
        if self._state is _State.UNKNOWN:
            chunk = self._decide(chunk)
        if self._state is _State.WHOLE:
            self._collect(chunk)
        elif chunk:
            self._guarded_feed(chunk)
        return self._answer.take()

    def finish(self) -> list[ProviderEvent]:
        """End of the body: give what is left, and an error if the answer had not ended."""
        if not self._answer.ended:
            try:
                self._finish()
            except LimitPassed as error:
                self._answer.fail(too_long(self._place, str(error)))
        return self._answer.take()

    def break_off(self, error: AIError) -> list[ProviderEvent]:
        """End the answer with a failure from outside the stream."""
        self._answer.fail(error)
        return self._answer.take()

    def _decide(self, chunk: bytes) -> bytes:
        """Give what there is from the start on, once it is known how to read it."""
        begun = self._start + chunk
        first = begun.lstrip(_BLANKS)[:1]
        if first or len(begun) > MAX_START_BYTES:
            self._state = _State.WHOLE if first in (b"{", b"[", b"<") else _State.EVENTS
            self._start = b""
            return begun
        self._start = begun
        return b""

    def _collect(self, chunk: bytes) -> None:
        self._whole += chunk
        if len(self._whole) > MAX_WHOLE_BYTES:
            self._whole.clear()
            self._answer.fail(too_long(self._place, f"an answer over {MAX_WHOLE_BYTES} bytes"))

    def _guarded_feed(self, chunk: bytes) -> None:
        try:
            for event in self._sse.feed(chunk):
                self._take(event)
        except LimitPassed as error:
            self._answer.fail(too_long(self._place, str(error)))

    def _finish(self) -> None:
        if self._state is _State.WHOLE:
            text = self._whole.decode("utf-8-sig", errors="replace")
            self._whole.clear()
            self._read_whole(text)
        else:
            self._finish_events()

    def _finish_events(self) -> None:
        for event in self._sse.finish():
            self._take(event)
        if self._answer.ended:
            return
        stray = self._sse.stray.strip()
        if not self._events and self._bad is None and stray:
            self._read_whole(stray)
        elif self._reason is not None:
            self._complete()
        else:
            self._answer.fail(unfinished(self._place, self._bad, is_empty=not self._saw_answer))

    def _take(self, event: ServerSentEvent) -> None:
        data = event.data.strip()
        if not data or self._answer.ended:
            return
        if data == "[DONE]":
            self._complete()
            return
        try:
            value = parse_json(data)
        except LimitPassed:
            raise
        except BadJson:
            self._take_words(event, data)
            return
        if isinstance(value, dict):
            self._events += 1
            self._take_object(value, event.event)
        else:
            self._answer.lose_piece()

    def _take_words(self, event: ServerSentEvent, data: str) -> None:
        if event.event == "error":
            self._answer.report(text_error(data, self._place))
            return
        self._answer.lose_piece()
        if event.complete and self._bad is None:
            self._bad = data

    @abstractmethod
    def _take_object(self, value: JsonObject, event: str) -> None:
        """Read one object of the stream, or a whole answer; `event` is the name it came under."""

    def _complete(self) -> None:
        if known_reason(self._reason) == "error":
            self._answer.report(gave_up(self._place, self._reason))
        elif self._saw_answer:
            self._answer.complete(self._reason)
        else:
            self._answer.fail(unfinished(self._place, self._bad, is_empty=True))

    def _read_whole(self, text: str) -> None:
        text = text.strip("\ufeff \t\r\n")
        if is_markup(text):
            self._answer.fail(web_page(self._place))
            return
        try:
            values = parse_json_objects(text)
        except LimitPassed:
            raise
        except BadJson:
            self._answer.fail(unfinished(self._place, text, is_empty=True))
            return
        for value in values:
            self._take_object(value, string(value, "event") or "message")
        self._complete()
