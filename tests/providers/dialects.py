"""Answers with tool calls in five dialects, in pieces of which none can be missed.

Whatever piece is lost, repeated or moved, what is left is no JSON any more. So a call that ran all
the same can be told from one that was really there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.answer_decoder import AnswerDecoder
from tests.support.frames import DECODERS, arguments, block, call, chunk, frame, text

INTACT: dict[str, JsonObject] = {
    "weather": {"city": "Oslo", "days": [1, 2]},
    "clock": {"zone": "UTC+1", "exact": True},
}
Pieces = Mapping[str, tuple[str, ...]]
SOLID: Pieces = {
    "weather": ('{"city":', ' "Oslo"', ', "days": ', "[1", ", 2]}"),
    "clock": ('{"zone"', ': "UTC+1"', ', "exact":', " true", "}"),
}
LOOSE: Pieces = {
    "weather": ('{"city": "O', "s", 'lo", "days": [1', ", 2", "]}"),
    "clock": ('{"zone": "', "U", "TC", '+1", "exact": ', "true}"),
}
"""Pieces of which some can be missed: what is left is another call."""
LAST: JsonObject = {"message": {"role": "assistant", "content": ""}, "done": True}
STOPPED: JsonObject = {**LAST, "done_reason": "stop"}
USAGE: JsonObject = {"input_tokens": 3, "output_tokens": 1}


@dataclass(frozen=True)
class Dialect:
    name: str
    kind: str
    steps: tuple[JsonObject, ...]
    mode: str = "native"
    expected: tuple[str, ...] = ("weather", "clock")

    @property
    def decoder(self) -> Callable[[], AnswerDecoder]:
        return DECODERS[self.kind]

    @property
    def frames(self) -> list[bytes]:
        done = [b"data: [DONE]\n\n"] if self.kind == "openai-compatible" else []
        return [*(frame(self.kind, step) for step in self.steps), *done]


def _side_by_side(pieces: Pieces) -> Iterable[JsonObject]:
    kind = "openai-compatible"
    yield chunk({"role": "assistant", "content": "Looking."})
    yield from (call(kind, number, None, name) for number, name in enumerate(INTACT))
    for pair in zip(*pieces.values(), strict=True):
        yield from (arguments(kind, piece, number) for number, piece in enumerate(pair))
    yield chunk({}, "tool_calls")


def _one_by_one(pieces: Pieces) -> Iterable[JsonObject]:
    yield {"type": "message_start", "message": {"role": "assistant", "usage": USAGE}}
    yield block(0, "start", content_block={"type": "text", "text": ""})
    yield text("anthropic", "Looking.")
    yield block(0, "stop")
    for number, name in enumerate(INTACT, start=1):
        yield call("anthropic", number, None, name)
        yield from (arguments("anthropic", piece, number) for piece in pieces[name])
        yield block(number, "stop")
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": USAGE}
    yield {"type": "message_stop"}


def _dialects(pieces: Pieces) -> tuple[Dialect, ...]:
    whole = (
        call("ollama", number, given, name) for number, (name, given) in enumerate(INTACT.items())
    )
    thought = ("Thought: I have to look.", "\nAction:", " weather", "\nAction Input: ")
    react = (text("openai-compatible", part) for part in (*thought, *pieces["weather"]))
    opening = ("<tool_call>", '{"name": "weather", "arguments":')
    leaked = (text("ollama", part) for part in (*opening, *pieces["weather"], "}", "</tool_call>"))
    one = ("weather",)
    return (
        Dialect("openai", "openai-compatible", (*_side_by_side(pieces),)),
        Dialect("ollama", "ollama", (text("ollama", "Looking."), *whole, STOPPED)),
        Dialect("anthropic", "anthropic", (*_one_by_one(pieces),)),
        Dialect("react", "openai-compatible", (*react, chunk({}, "stop")), "react", one),
        Dialect("leaked", "ollama", (*leaked, STOPPED), expected=one),
    )


DIALECTS = _dialects(SOLID)
FRAGILE = _dialects(LOOSE)
"""The same, in pieces of which some can be missed."""
