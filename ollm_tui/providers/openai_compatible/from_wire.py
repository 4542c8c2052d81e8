"""Chat completion streams to events; pure."""

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.answer_builder import known_reason
from ollm_tui.providers.error_body import failure_in
from ollm_tui.providers.http_errors import stream_error
from ollm_tui.providers.openai_compatible.chunks import (
    is_piece,
    read_choice,
    read_timed_usage,
    read_timings,
    read_usage,
)
from ollm_tui.providers.sse_answer import SSEAnswer


class OpenAIStream(SSEAnswer):
    """Turn the bytes of one `/chat/completions` answer into events, with exactly one end."""

    _is_counted = False
    """Whether the server gave counts of its own, beside those of its times."""

    def _take_object(self, value: JsonObject, event: str) -> None:
        if event == "message" and is_piece(value):
            self._take_choice(value)
            return
        self._measure(value)
        self._take_choice(value)
        if failure := failure_in(value, event):
            self._answer.report(stream_error(failure, self._place))

    def _measure(self, value: JsonObject) -> None:
        usage = read_usage(value)
        self._is_counted = self._is_counted or usage is not None
        if not self._is_counted and "timings" in value:
            usage = read_timed_usage(value)
        self._answer.measured.update(usage, read_timings(value))

    def _take_choice(self, value: JsonObject) -> None:
        choice = read_choice(value)
        if choice is not None:
            self._saw_answer = True
            choice.pass_on(self._answer)
            if choice.reason and (known_reason(choice.reason) != "stop" or self._reason is None):
                self._reason = choice.reason
