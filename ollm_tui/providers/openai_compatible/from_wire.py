"""Chat completion streams to events; pure."""

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.openai_compatible.chunks import read_choice, read_timings, read_usage
from ollm_tui.providers.sse_answer import SSEAnswer


class OpenAIStream(SSEAnswer):
    """Turn the bytes of one `/chat/completions` answer into events, with exactly one end."""

    def _take_object(self, value: JsonObject, event: str) -> None:
        if is_error(value, event):
            self._answer.fail(stream_error(value, self._place))
            return
        self._answer.measured.update(read_usage(value), read_timings(value))
        choice = read_choice(value)
        if choice is None:
            return
        self._saw_answer = True
        choice.pass_on(self._answer)
        if choice.reason and (choice.reason != "stop" or self._reason is None):
            self._reason = choice.reason
