"""Chat completion streams to events; pure."""

from dataclasses import dataclass

from ollm_tui.decode.json_fields import as_object, integer, number, objects, string
from ollm_tui.decode.tool_deltas import ToolCallDelta, read_tool_call_deltas
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.providers.answer_builder import AnswerBuilder, known_reason
from ollm_tui.providers.error_body import failure_in
from ollm_tui.providers.http_errors import stream_error
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


_PROMPT = (
    "prompt_tokens", "input_tokens", "promptTokens", "inputTokens", "promptTokenCount",
    "inputTokenCount", "prompt_token_count", "prompt_eval_count", "tokens_evaluated",
)  # fmt: skip
_COMPLETION = (
    "completion_tokens", "output_tokens", "completionTokens", "outputTokens",
    "candidatesTokenCount", "outputTokenCount", "candidates_token_count", "generated_tokens",
    "eval_count", "tokens_predicted",
)  # fmt: skip
_TOTAL = ("total_tokens", "totalTokens", "totalTokenCount", "total_token_count")
_COUNTS = frozenset({*_PROMPT, *_COMPLETION, *_TOTAL})
_HOLDERS = ("usage", "usageMetadata", "usage_metadata", "token_usage")
"""Under which names counts stand, beside the choices or in one."""


_PIECE = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"}
)
_PIECE_CHOICE = frozenset({"index", "delta", "finish_reason", "logprobs"})
_PIECE_DELTA = frozenset(
    {"role", "content", "refusal", "reasoning", "reasoning_content", "tool_calls"}
)


@dataclass(frozen=True, slots=True)
class ChunkChoice:
    """What the first choice of a chunk brings."""

    delta: JsonObject
    reason: str | None

    def pass_on(self, answer: AnswerBuilder) -> None:
        """Give everything to the answer; reasoning that comes twice counts once."""
        delta = self.delta
        content = delta.get("content")
        if len(delta) == 1 and isinstance(content, str):
            answer.text(content)  # nearly every chunk is one of these
            return
        answer.thinking(_reasoning(delta))
        if isinstance(content, str):
            answer.text(content)
        elif isinstance(content, list):
            _pass_on_parts(content, answer)
        answer.text(string(delta, "refusal") or "")
        if delta.get("tool_calls"):
            answer.calls(read_tool_call_deltas(delta.get("tool_calls")))
        if isinstance(delta.get("function_call"), dict):
            answer.calls(_old_call(as_object(delta.get("function_call"))))


def is_piece(chunk: JsonObject) -> bool:
    """Whether a chunk is a piece of the answer and nothing else, as nearly all are."""
    choices = chunk.get("choices")
    if not (isinstance(choices, list) and choices and _PIECE.issuperset(chunk)):
        return False
    choice = choices[0]
    if not (isinstance(choice, dict) and _PIECE_CHOICE.issuperset(choice)):
        return False
    delta = choice.get("delta")
    is_plain = isinstance(delta, dict) and _PIECE_DELTA.issuperset(delta)
    return is_plain and chunk.get("usage") is None and chunk.get("object") != "error"


def read_choice(chunk: JsonObject) -> ChunkChoice | None:
    """Give the first of parallel answers, None if the chunk holds nothing of it."""
    for choice in objects(chunk.get("choices")):
        if choice.get("index") in (None, 0):
            delta = choice.get("delta")
            if not isinstance(delta, dict):
                delta = as_object(choice.get("message"))
            return ChunkChoice(delta, _reason(choice, delta) or _reason(chunk, {}))
    return None


def read_usage(chunk: JsonObject) -> Usage | None:
    """Read token counts, wherever they stand; all zeros are unknown."""
    found = chunk.get("usage")
    if isinstance(found, dict) and (usage := _counted(found)):
        return usage  # nearly every one stands here
    for place in _places(chunk):
        for name in _HOLDERS:
            held = place.get(name)
            if isinstance(held, dict) and (usage := _counted(held)):
                return usage
    if _COUNTS.isdisjoint(chunk):
        return None
    return _counted({key: value for key, value in chunk.items() if key in _COUNTS})


def read_timed_usage(chunk: JsonObject) -> Usage | None:
    """Read the counts that llama.cpp measures its times by: for servers that give no others."""
    timings = as_object(chunk.get("timings"))
    prompt, completion = integer(timings, "prompt_n"), integer(timings, "predicted_n")
    if not (prompt or completion):
        return None
    if prompt is not None:
        prompt += integer(timings, "cache_n") or 0
    return Usage(prompt_tokens=prompt, completion_tokens=completion)


def read_timings(chunk: JsonObject) -> Timings | None:
    """Read what llama.cpp measures; other servers send nothing of the kind."""
    found = chunk.get("timings")
    if not isinstance(found, dict):
        return None
    prompt, generation = number(found, "prompt_ms"), number(found, "predicted_ms")
    written = integer(found, "predicted_n")
    return Timings(
        prompt_s=prompt / 1000 if prompt is not None else None,
        generation_s=generation / 1000 if generation is not None else None,
        # Of a single token it says a million: there was no time between two.
        tokens_per_s=None if written == 1 else number(found, "predicted_per_second"),
    )


def _places(chunk: JsonObject) -> list[JsonObject]:
    """Give the objects of a chunk that may hold counts."""
    found = [chunk]
    for choice in objects(chunk.get("choices"))[:1]:
        found += [choice, as_object(choice.get("delta")), as_object(choice.get("message"))]
    found += [as_object(chunk[key]) for key in chunk if key.startswith("x_") or key == "message"]
    return found


def _counted(found: JsonObject) -> Usage | None:
    prompt, completion, total = (_count(found, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    if not (prompt or completion or total):
        return None
    rest = {key: value for key, value in found.items() if key not in _COUNTS}
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, extra=rest)


def _count(found: JsonObject, names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := integer(found, name)) is not None), None)


def _reason(choice: JsonObject, delta: JsonObject) -> str | None:
    """Give the reason as it was sent; words that mean that there is none are left out."""
    if "finish_reason" in choice and choice["finish_reason"] is None:
        return None
    for holder in (choice, delta):
        for name in ("finish_reason", "finishReason"):
            raw = string(holder, name)
            if known_reason(raw):
                return raw
    return None


def _reasoning(delta: JsonObject) -> str:
    named = string(delta, "reasoning_content") or string(delta, "reasoning")
    if named or not delta.get("reasoning_details"):
        return named or ""
    details = objects(delta.get("reasoning_details"))
    return "".join(string(d, "text") or string(d, "summary") or "" for d in details)


def _pass_on_parts(parts: list[JsonValue], answer: AnswerBuilder) -> None:
    for part in parts:
        if isinstance(part, str):
            answer.text(part)
        elif isinstance(part, dict):
            thinking = part.get("thinking")
            if isinstance(thinking, list):
                answer.thinking("".join(string(p, "text") or "" for p in objects(thinking)))
            elif isinstance(thinking, str):
                answer.thinking(thinking)
            answer.text(string(part, "text") or "")


def _old_call(call: JsonObject) -> list[ToolCallDelta]:
    return read_tool_call_deltas([{"index": 0, "function": call}])
