"""Ollama's NDJSON answers to events; pure (Ollama API docs, "Generate a chat message").

An `error` line may follow any other although the status is 200.
"""

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import as_object, integer, number, string
from ollm_tui.decode.lines import BadLine, NDJSONDecoder, NDJSONItem
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.decode.tool_calls import read_tool_call_deltas
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.body.error_body import find_failure
from ollm_tui.providers.http_errors import stream_error, unfinished
from ollm_tui.providers.http_faults import Endpoint

_NANOSECONDS = 1e9
_REPEATS = 30
"""After so many equal pieces in a row Ollama ends an answer without its closing line."""


class OllamaDecoder(AnswerDecoder):
    """Turns the bytes of one `/api/chat` answer into events, with exactly one end."""

    def __init__(self, endpoint: Endpoint, tags: ThinkTags | None = None) -> None:
        super().__init__(endpoint, tags)
        self._lines = NDJSONDecoder()
        self._line_count = 0
        self._piece = ""
        self._repeats = 0
        """How often the last piece was repeated without another between."""

    @property
    def activity(self) -> int:
        """A counter that grows with every whole line: the server is at work."""
        return self._line_count

    def _feed(self, chunk: bytes) -> None:
        self._read_lines(self._lines.feed(chunk))

    def _finish(self) -> None:
        self._read_lines(self._lines.finish())
        self._builder.fail(self._unfinished())

    def _unfinished(self) -> AIError:
        if self._unreadable is None and self._repeats >= _REPEATS:
            return self._endpoint.error(
                ErrorCode.STREAM_INCOMPLETE,
                f"{self._endpoint.label} stopped the answer because the model repeated itself.",
                "Ask in other words, or raise repeat_penalty.",
                fault="repeats",
            )
        return unfinished(self._endpoint, self._unreadable, is_empty=not self._line_count)

    def _read_lines(self, items: list[NDJSONItem]) -> None:
        for item in items:
            if self._builder.ended:
                return
            if isinstance(item, BadLine):
                if item.over_limit:
                    raise LimitPassed(item.reason)
                if self._unreadable is None and (item.complete or not self._line_count):
                    self._unreadable = item.text
                self._builder.mark_lost_piece()
                continue
            self._line_count += 1
            self._read_object(item)

    def _read_object(self, line: JsonObject) -> None:
        is_piece = "done" in line and "error" not in line and isinstance(line.get("message"), dict)
        if not is_piece and (failure := find_failure(line)):
            self._builder.fail_without_retry(stream_error(failure, self._endpoint))
            return
        message = as_object(line.get("message"))
        self._builder.add_thinking(string(message, "thinking") or "")
        content = string(message, "content") or ""
        self._repeats = self._repeats + 1 if content.strip() == self._piece else 0
        self._piece = content.strip()
        self._builder.add_text(content)
        if message.get("tool_calls"):
            self._builder.add_tool_calls(read_tool_call_deltas(message.get("tool_calls")))
        if line.get("done") is True:
            self._builder.measure(read_usage(line), read_timings(line))
            self._end(string(line, "done_reason"))


def read_usage(line: JsonObject) -> Usage | None:
    """Read the counts of a closing line; a missing one is unknown, not zero."""
    prompt, completion = integer(line, "prompt_eval_count"), integer(line, "eval_count")
    if prompt is None and completion is None:
        return None
    total = prompt + completion if prompt is not None and completion is not None else None
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total)


def read_timings(line: JsonObject) -> Timings:
    """Read the durations of a closing line, which are in nanoseconds."""
    tokens, generation = integer(line, "eval_count"), _seconds(line, "eval_duration")
    return Timings(
        load_s=_seconds(line, "load_duration"),
        prompt_s=_seconds(line, "prompt_eval_duration"),
        generation_s=generation,
        tokens_per_s=_speed(tokens, generation),
    )


def _speed(tokens: int | None, seconds: float | None) -> float | None:
    # a single token has no speed: there was no time between two
    if tokens is None or tokens < 2 or seconds is None or seconds * _NANOSECONDS < 1:
        return None
    return tokens / seconds


def _seconds(line: JsonObject, key: str) -> float | None:
    value = number(line, key)
    return value / _NANOSECONDS if value is not None else None
