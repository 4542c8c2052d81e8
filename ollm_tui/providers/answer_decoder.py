"""The shells of decoders: of every answer, and of those over server-sent events."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import string
from ollm_tui.decode.json_guard import BadJson, parse_json, parse_json_objects
from ollm_tui.decode.sse import ServerSentEvent, SSEDecoder
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import ProviderEvent
from ollm_tui.providers.answer_builder import AnswerBuilder, known_reason
from ollm_tui.providers.body.error_body import is_markup
from ollm_tui.providers.http_errors import generation_failed, text_error, unfinished
from ollm_tui.providers.http_faults import LIMIT, WEB_PAGE, Endpoint

MAX_WHOLE_BYTES = 16 * 1024 * 1024
MAX_START_BYTES = 64 * 1024
_BLANKS = b"\xef\xbb\xbf \t\r\n"


class AnswerDecoder(ABC):
    """Turns the bytes of one answer into events, with exactly one end.

    A subclass reads the bytes of its format into `_builder`. What it raises as `LimitPassed` ends
    the answer.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        tags: ThinkTags | None = None,
        on_thinking: Callable[[], object] | None = None,
    ) -> None:
        """Divide text by `tags`; `on_thinking` is called if the server sends thinking apart."""
        self._endpoint = endpoint
        self._builder = AnswerBuilder(tags, on_thinking)
        self._unreadable: str | None = None
        """The first piece that could not be parsed, if any."""

    @property
    def ended(self) -> bool:
        """Whether the closing event was returned."""
        return self._builder.ended

    @property
    @abstractmethod
    def activity(self) -> int:
        """A counter that grows with every sign that the server is at work."""

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        """Return the events that this chunk completes."""
        return self._limited(lambda: self._feed(chunk))

    def finish(self) -> list[ProviderEvent]:
        """Handle the end of the body: it is an error if the answer has not ended."""
        return self._limited(self._finish)

    def fail(self, error: AIError) -> list[ProviderEvent]:
        """End the answer with a failure from outside the stream."""
        self._builder.fail(error)
        return self._builder.take_events()

    @abstractmethod
    def _feed(self, chunk: bytes) -> None:
        """Read a chunk."""

    @abstractmethod
    def _finish(self) -> None:
        """Read what is left at the end of the body, and end the answer."""

    def _end(self, reason: str | None) -> None:
        """End the answer by the server's finish reason, which may be that of a failure."""
        if known_reason(reason) == "error":
            self._builder.fail_without_retry(generation_failed(self._endpoint, reason))
        else:
            self._builder.finish(reason)

    def _limited(self, read: Callable[[], None]) -> list[ProviderEvent]:
        if not self._builder.ended:
            try:
                read()
            except LimitPassed as error:
                self._builder.fail(self._endpoint.fault(LIMIT, limit=str(error)))
        return self._builder.take_events()


class SSEAnswerDecoder(AnswerDecoder):
    """Turns the bytes of one answer into events, with exactly one end."""

    def __init__(
        self,
        endpoint: Endpoint,
        tags: ThinkTags | None = None,
        on_thinking: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(endpoint, tags, on_thinking)
        self._is_whole: bool | None = None
        """Whether the server ignored `stream`; None until the first visible byte decides."""
        self._sse = SSEDecoder()
        self._start = b""
        self._whole = bytearray()
        self._events = 0
        self._saw_answer = False
        self._reason: str | None = None

    @property
    def activity(self) -> int:
        """A counter that grows with every event and comment: the server is at work."""
        return self._events + self._sse.comments + len(self._whole)

    def _feed(self, chunk: bytes) -> None:
        if self._is_whole is None:
            chunk = self._decide(chunk)
        if self._is_whole:
            self._whole += chunk
            if len(self._whole) > MAX_WHOLE_BYTES:
                self._whole.clear()
                raise LimitPassed(f"an answer over {MAX_WHOLE_BYTES} bytes")
        elif chunk:
            for event in self._sse.feed(chunk):
                self._read_event(event)

    def _decide(self, chunk: bytes) -> bytes:
        """Return all bytes so far once the format is known, and none before."""
        begun = self._start + chunk
        first = begun.lstrip(_BLANKS)[:1]
        if first or len(begun) > MAX_START_BYTES:
            self._is_whole = first in (b"{", b"[", b"<")
            self._start = b""
            return begun
        self._start = begun
        return b""

    def _finish(self) -> None:
        if self._is_whole:
            text = self._whole.decode("utf-8-sig", errors="replace")
            self._whole.clear()
            self._read_whole(text)
        else:
            self._finish_events()

    def _finish_events(self) -> None:
        for event in self._sse.finish():
            self._read_event(event)
        if self._builder.ended:
            return
        stray = self._sse.stray.strip()
        if not self._events and self._unreadable is None and stray:
            self._read_whole(stray)
        elif self._reason is not None:
            self._complete()
        else:
            self._builder.fail(
                unfinished(self._endpoint, self._unreadable, is_empty=not self._saw_answer)
            )

    def _read_event(self, event: ServerSentEvent) -> None:
        data = event.data.strip()
        if not data or self._builder.ended:
            return
        if data == "[DONE]":
            self._complete()
            return
        try:
            value = parse_json(data)
        except LimitPassed:
            raise
        except BadJson:
            self._read_words(event, data)
            return
        if isinstance(value, dict):
            self._events += 1
            self._read_object(value, event.event)
        else:
            self._builder.mark_lost_piece()

    def _read_words(self, event: ServerSentEvent, data: str) -> None:
        if event.event == "error":
            self._builder.fail_without_retry(text_error(data, self._endpoint))
            return
        self._builder.mark_lost_piece()
        if event.complete and self._unreadable is None:
            self._unreadable = data

    @abstractmethod
    def _read_object(self, value: JsonObject, event: str) -> None:
        """Read one object of the stream, or a whole answer; `event` is the name of its event."""

    def _complete(self) -> None:
        if self._saw_answer or known_reason(self._reason) == "error":
            self._end(self._reason)
        else:
            self._builder.fail(unfinished(self._endpoint, self._unreadable, is_empty=True))

    def _read_whole(self, text: str) -> None:
        text = text.strip("\ufeff \t\r\n")
        if is_markup(text):
            self._builder.fail(self._endpoint.fault(WEB_PAGE))
            return
        try:
            values = parse_json_objects(text)
        except LimitPassed:
            raise
        except BadJson:
            self._builder.fail(unfinished(self._endpoint, text, is_empty=True))
            return
        for value in values:
            self._read_object(value, string(value, "event") or "message")
        self._complete()
