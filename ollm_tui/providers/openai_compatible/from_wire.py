"""Chat completion streams to events: chunks, or a whole answer, of any server; pure."""

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, integer, number, objects, string
from ollm_tui.decode.tool_calls import read_tool_call_deltas
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.protocol.provider_events import PromptProgress, ProviderEvent
from ollm_tui.providers.answer_builder import AnswerBuilder, known_reason
from ollm_tui.providers.answer_decoder import SSEAnswerDecoder
from ollm_tui.providers.body.error_body import find_failure
from ollm_tui.providers.http_errors import stream_error

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
"""Names under which the counts are, beside the choices or inside one."""
_CHUNK_KEYS = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"}
)
_CHOICE_KEYS = frozenset({"index", "delta", "finish_reason", "logprobs"})
_DELTA_KEYS = frozenset(
    {"role", "content", "refusal", "reasoning", "reasoning_content", "tool_calls"}
)


class OpenAIDecoder(SSEAnswerDecoder):
    """Turns the bytes of one `/chat/completions` answer into events, with exactly one end."""

    _is_counted = False
    """Whether the server sent token counts, and not only timings."""
    _progress: tuple[PromptProgress, ...] = ()
    """How much of the prompt llama.cpp has read, since the last call of `feed`."""

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        """Return the events that this chunk completes."""
        events = super().feed(chunk)
        if not self._progress:
            return events
        progress, self._progress = self._progress, ()
        return [*progress, *events]

    def _read_object(self, value: JsonObject, event: str) -> None:
        if event == "message" and is_plain_chunk(value):
            self._add_choice(value)
            return
        self._measure(value)
        self._add_choice(value)
        if "prompt_progress" in value:
            progress = as_object(value["prompt_progress"])
            done, total = integer(progress, "processed"), integer(progress, "total")
            if done is not None and total:
                self._progress = (*self._progress, PromptProgress(min(done, total), total))
        if failure := find_failure(value, event):
            self._builder.fail_without_retry(stream_error(failure, self._endpoint))

    def _measure(self, value: JsonObject) -> None:
        usage = read_usage(value)
        self._is_counted = self._is_counted or usage is not None
        if not self._is_counted and "timings" in value:
            usage = read_timed_usage(value)
        self._builder.measure(usage, read_timings(value))

    def _add_choice(self, value: JsonObject) -> None:
        choice = read_choice(value)
        if choice is not None:
            self._saw_answer = True
            choice.add_to(self._builder)
            if choice.reason and (known_reason(choice.reason) != "stop" or self._reason is None):
                self._reason = choice.reason


@dataclass(frozen=True, slots=True)
class ChunkChoice:
    """The first choice of a chunk."""

    delta: JsonObject
    reason: str | None

    def add_to(self, builder: AnswerBuilder) -> None:
        """Add its content to the answer; thinking under two names is added once."""
        delta = self.delta
        content = delta.get("content")
        if len(delta) == 1 and isinstance(content, str):
            builder.add_text(content)  # nearly every chunk is one of these
            return
        builder.add_thinking(_reasoning(delta))
        if isinstance(content, str):
            builder.add_text(content)
        elif isinstance(content, list):
            _add_parts(content, builder)
        builder.add_text(string(delta, "refusal") or "")
        if delta.get("tool_calls"):
            builder.add_tool_calls(read_tool_call_deltas(delta.get("tool_calls")))
        if isinstance(delta.get("function_call"), dict):
            legacy: JsonObject = {"index": 0, "function": delta["function_call"]}
            builder.add_tool_calls(read_tool_call_deltas(legacy))


def is_plain_chunk(chunk: JsonObject) -> bool:
    """Whether a chunk is only a piece of the answer, as nearly all are."""
    choices = chunk.get("choices")
    if not (isinstance(choices, list) and choices and _CHUNK_KEYS.issuperset(chunk)):
        return False
    choice = choices[0]
    if not (isinstance(choice, dict) and _CHOICE_KEYS.issuperset(choice)):
        return False
    delta = choice.get("delta")
    is_plain = isinstance(delta, dict) and _DELTA_KEYS.issuperset(delta)
    return is_plain and chunk.get("usage") is None and chunk.get("object") != "error"


def read_choice(chunk: JsonObject) -> ChunkChoice | None:
    """Return the first of parallel choices, or None if the chunk has none of it."""
    for choice in objects(chunk.get("choices")):
        if choice.get("index") in (None, 0):
            delta = choice.get("delta")
            if not isinstance(delta, dict):
                delta = as_object(choice.get("message"))
            return ChunkChoice(delta, _reason(choice, delta) or _reason(chunk, {}))
    return None


def read_usage(chunk: JsonObject) -> Usage | None:
    """Read token counts, wherever they are; if all are zero they are unknown."""
    counts = chunk.get("usage")
    if isinstance(counts, dict) and (usage := _read_counts(counts)):
        return usage  # nearly all are here
    for holder in _usage_holders(chunk):
        for name in _HOLDERS:
            counts = holder.get(name)
            if isinstance(counts, dict) and (usage := _read_counts(counts)):
                return usage
    if _COUNTS.isdisjoint(chunk):
        return None
    return _read_counts({key: value for key, value in chunk.items() if key in _COUNTS})


def read_timed_usage(chunk: JsonObject) -> Usage | None:
    """Read the counts beside llama.cpp's timings, for servers that send no others."""
    timings = as_object(chunk.get("timings"))
    prompt, completion = integer(timings, "prompt_n"), integer(timings, "predicted_n")
    if not (prompt or completion):
        return None
    if prompt is not None:
        prompt += integer(timings, "cache_n") or 0
    return Usage(prompt_tokens=prompt, completion_tokens=completion)


def read_timings(chunk: JsonObject) -> Timings | None:
    """Read llama.cpp's timings; other servers send none."""
    timings = chunk.get("timings")
    if not isinstance(timings, dict):
        return None
    prompt, generation = number(timings, "prompt_ms"), number(timings, "predicted_ms")
    tokens = integer(timings, "predicted_n")
    return Timings(
        prompt_s=prompt / 1000 if prompt is not None else None,
        generation_s=generation / 1000 if generation is not None else None,
        # For a single token it reports a million: there was no time between two.
        tokens_per_s=None if tokens == 1 else number(timings, "predicted_per_second"),
    )


def _usage_holders(chunk: JsonObject) -> list[JsonObject]:
    holders = [chunk]
    for choice in objects(chunk.get("choices"))[:1]:
        holders += [choice, as_object(choice.get("delta")), as_object(choice.get("message"))]
    holders += [as_object(chunk[key]) for key in chunk if key.startswith("x_") or key == "message"]
    return holders


def _read_counts(counts: JsonObject) -> Usage | None:
    prompt, completion, total = (_count(counts, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    if not (prompt or completion or total):
        return None
    rest = {key: value for key, value in counts.items() if key not in _COUNTS}
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, extra=rest)


def _count(counts: JsonObject, names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := integer(counts, name)) is not None), None)


def _reason(choice: JsonObject, delta: JsonObject) -> str | None:
    """Return the finish reason as the server sent it, or None if it means that there is none."""
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


def _add_parts(parts: list[JsonValue], builder: AnswerBuilder) -> None:
    for part in parts:
        if isinstance(part, str):
            builder.add_text(part)
        elif isinstance(part, dict):
            thinking = part.get("thinking")
            if isinstance(thinking, list):
                builder.add_thinking("".join(string(p, "text") or "" for p in objects(thinking)))
            elif isinstance(thinking, str):
                builder.add_thinking(thinking)
            builder.add_text(string(part, "text") or "")
