"""One `chat.completion.chunk`, or one whole answer, of any server that speaks the format."""

from dataclasses import dataclass

from ollm_tui.decode.json_fields import as_object, integer, number, objects, string
from ollm_tui.decode.tool_deltas import ToolCallDelta, read_tool_call_deltas
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.providers.answer import Answer

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the first choice of a chunk brings."""

    delta: JsonObject
    reason: str | None

    def pass_on(self, answer: Answer) -> None:
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


def read_choice(chunk: JsonObject) -> Choice | None:
    """Give the first of parallel answers, None if the chunk holds nothing of it."""
    for choice in objects(chunk.get("choices")):
        if choice.get("index") in (None, 0):
            delta = choice.get("delta")
            if not isinstance(delta, dict):
                delta = as_object(choice.get("message"))
            return Choice(delta, string(choice, "finish_reason"))
    return None


def read_usage(chunk: JsonObject) -> Usage | None:
    """Read token counts, wherever they stand; all zeros are unknown."""
    found = chunk.get("usage")
    if found is None and "x_groq" in chunk:
        found = as_object(chunk.get("x_groq")).get("usage")
    if not isinstance(found, dict):
        return None
    prompt, completion, total = (integer(found, key) for key in _COUNTS)
    if not (prompt or completion or total):
        return None
    rest = {key: value for key, value in found.items() if key not in _COUNTS}
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, extra=rest)


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


def _reasoning(delta: JsonObject) -> str:
    named = string(delta, "reasoning_content") or string(delta, "reasoning")
    if named or not delta.get("reasoning_details"):
        return named or ""
    details = objects(delta.get("reasoning_details"))
    return "".join(string(d, "text") or string(d, "summary") or "" for d in details)


def _pass_on_parts(parts: list[JsonValue], answer: Answer) -> None:
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
