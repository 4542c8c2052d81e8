"""Messages API streams to events; pure (Anthropic docs, "Streaming messages").

The kind of an event is the `type` in its data, because relays drop the `event:` line.
"""

from collections.abc import Mapping

from ollm_tui.decode.json_fields import as_object, integer, objects, present, string
from ollm_tui.decode.json_guard import dump_or_reason
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.decode.tool_calls import ToolCallDelta
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Usage
from ollm_tui.providers.answer_decoder import SSEAnswerDecoder
from ollm_tui.providers.body.error_body import find_failure
from ollm_tui.providers.http_errors import stream_error
from ollm_tui.providers.http_faults import Endpoint

_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OUTPUT = "output_tokens"
MAX_COUNTS_CHARS = 16 * 1024
_CALL_KEYS = frozenset({"type", "id", "name", "input"})
_DIRECT_CALLER = {"type": "direct"}
_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that a response with this error would have had."""


class AnthropicDecoder(SSEAnswerDecoder):
    """Turns the bytes of one `/messages` answer into events; `signer` signs its thinking."""

    def __init__(self, endpoint: Endpoint, signer: str, tags: ThinkTags | None = None) -> None:
        super().__init__(endpoint, tags)
        self._signer = signer
        self._usage: JsonObject = {}
        self._last_index = 0
        self._tool_inputs: dict[int, JsonObject] = {}
        """The input that each tool call began with, by block; following pieces replace it."""
        self._signature: str | None = None

    def _read_object(self, value: JsonObject, event: str) -> None:
        is_piece = value.get("type") == "content_block_delta" and "error" not in value
        if not is_piece and (failure := find_failure(value, event)):
            self._builder.fail_without_retry(stream_error(_with_status(failure), self._endpoint))
            return
        match string(value, "type") or event:
            case "message_start":
                self._read_end({}, as_object(as_object(value.get("message")).get("usage")))
            case "content_block_start":
                self._begin_block(self._index(value), as_object(value.get("content_block")))
            case "content_block_delta":
                self._continue_block(self._index(value), as_object(value.get("delta")))
            case "content_block_stop":
                self._close_block()
            case "message_delta":
                delta = as_object(value.get("delta"))
                self._read_end(delta, as_object(value.get("usage") or delta.get("usage")))
            case "message_stop":
                self._complete()
            case "message":
                self._read_whole_message(value)

    def _read_whole_message(self, message: JsonObject) -> None:
        self._saw_answer = True
        for index, block in enumerate(objects(message.get("content"))):
            self._begin_block(index, block)
            self._close_block()
        self._read_end(message, as_object(message.get("usage")))

    def _read_end(self, end: JsonObject, usage: JsonObject) -> None:
        self._saw_answer = True
        self._add_usage(usage)
        self._reason = string(end, "stop_reason") or self._reason

    def _index(self, value: JsonObject) -> int:
        index = integer(value, "index")
        return self._last_index if index is None else index

    def _begin_block(self, index: int, block: JsonObject) -> None:
        self._saw_answer = True
        self._close_block()
        self._last_index = index
        self._tool_inputs.pop(index, None)
        match string(block, "type"):
            case "text":
                self._builder.add_text(string(block, "text") or "")
            case "thinking":
                self._builder.add_thinking(string(block, "thinking") or "")
                self._signature = string(block, "signature")
            case "redacted_thinking":
                self._builder.add_signature(string(block, "data") or "", self._signer, sealed=True)
            case "tool_use":
                self._begin_call(index, block)

    def _begin_call(self, index: int, block: JsonObject) -> None:
        arguments = as_object(block.get("input"))
        self._tool_inputs[index] = arguments
        if arguments:
            self._builder.count_arguments(arguments)
        extra = {key: value for key, value in block.items() if key not in _CALL_KEYS}
        if extra.get("caller") == _DIRECT_CALLER:
            del extra["caller"]  # the default, which other servers would refuse
        delta = ToolCallDelta(
            index=index, id=string(block, "id"), name=string(block, "name"), extra=extra
        )
        self._builder.add_tool_calls([delta])

    def _continue_block(self, index: int, delta: JsonObject) -> None:
        match string(delta, "type"):
            case "text_delta":
                self._builder.add_text(string(delta, "text") or "")
            case "thinking_delta":
                self._builder.add_thinking(string(delta, "thinking") or "")
            case "signature_delta":
                signature = delta.get("signature")
                self._signature = signature if isinstance(signature, str) else self._signature
            case "input_json_delta" if index in self._tool_inputs:
                self._add_arguments(index, delta.get("partial_json"))

    def _add_arguments(self, index: int, piece: JsonValue) -> None:
        if not isinstance(piece, str):
            self._builder.mark_lost_piece()
        elif piece:
            self._tool_inputs[index] = {}
            self._builder.add_tool_calls([ToolCallDelta(index=index, arguments=piece)])

    def _close_block(self) -> None:
        if self._signature is not None:
            self._builder.add_signature(self._signature, self._signer)
            self._signature = None

    def _complete(self) -> None:
        self._close_block()
        for index, arguments in self._tool_inputs.items():
            if arguments:
                self._builder.add_tool_calls([ToolCallDelta(index=index, arguments=arguments)])
        super()._complete()

    def _add_usage(self, usage: JsonObject) -> None:
        """Add token counts, unless they are so large that they would fill the memory."""
        if not usage:
            return
        counts = self._usage | present(usage)
        if len(dump_or_reason(counts)) > MAX_COUNTS_CHARS:
            return
        self._usage = counts
        self._builder.measure(read_usage(self._usage), None)


def read_usage(counts: JsonObject) -> Usage | None:
    """Read token counts; cached tokens, read or written, are part of the prompt."""
    parts = [count for key in _INPUT if (count := integer(counts, key)) is not None]
    prompt = sum(parts) if parts else None
    completion = integer(counts, _OUTPUT)
    if not (prompt or completion):
        return None
    rest = {k: v for k, v in counts.items() if k not in ("input_tokens", _OUTPUT)}
    return Usage(prompt_tokens=prompt, completion_tokens=completion, extra=rest)


def _with_status(value: JsonObject) -> JsonObject:
    error = as_object(value.get("error"))
    status = _STATUSES.get(string(error, "type") or "")
    return value if status is None else {**value, "error": {"status_code": status, **error}}
