"""Answers with tool calls in five dialects, and ways to damage them.

Two calls are asked for; the arguments are cut so that no piece can be missed: whatever piece is
lost, repeated or moved, what is left is no JSON any more. So a call that ran all the same can be
told from one that was really there.
"""

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder

ENDPOINT = Endpoint("scripted", "Server", "localhost:1", "Start it.")
WEATHER: JsonObject = {"city": "Oslo", "days": [1, 2]}
CLOCK: JsonObject = {"zone": "UTC+1", "exact": True}
INTACT: dict[str, JsonObject] = {"weather": WEATHER, "clock": CLOCK}
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
OTHER_TYPES: tuple[JsonValue, ...] = (None, True, 7, 1.5, "x", [], {})
JUNK: tuple[bytes, ...] = (
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"0",
    b"-1",
    b"1e999",
    b"NaN",
    b'"\\ud800"',
    b"\xff",
    b"\n",
)
JUNK += (b"}", b'"', b"\0", b"</tool_call>", b"\nAction Input: {}", b"data: [DONE]\n\n")


@dataclass(frozen=True)
class Dialect:
    """One way in which the calls may come."""

    name: str
    steps: tuple[JsonObject, ...]
    frame: Callable[[bytes], bytes]
    decoder: Callable[[], AnswerDecoder]
    tail: bytes = b""
    mode: str = "native"
    expected: tuple[str, ...] = ("weather", "clock")

    def bytes_of(self, steps: Sequence[JsonObject]) -> bytes:
        written = (json.dumps(step, ensure_ascii=False).encode() for step in steps)
        return b"".join(map(self.frame, written)) + self.tail


def _sse(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _line(data: bytes) -> bytes:
    return data + b"\n"


def _chunk(delta: JsonObject, reason: str | None = None) -> JsonObject:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _piece(index: int, arguments: str, **more: JsonValue) -> JsonObject:
    named: JsonObject = {"name": more["name"]} if "name" in more else {}
    known: JsonObject = {"id": more["id"]} if "id" in more else {}
    return _chunk(
        {"tool_calls": [{"index": index, "function": {**named, "arguments": arguments}, **known}]}
    )


def _in_turn(pieces: Pieces) -> Iterator[JsonObject]:
    for pair in zip(pieces["weather"], pieces["clock"], strict=True):
        for index, text in enumerate(pair):
            yield _piece(index, text)


def _message(done: bool = False, **message: JsonValue) -> JsonObject:
    end: JsonObject = {"done": True, "done_reason": "stop"} if done else {"done": False}
    return {"model": "m", "message": {"role": "assistant", "content": "", **message}, **end}


def _whole(name: str, id_: str) -> JsonValue:
    return [{"id": id_, "function": {"name": name, "arguments": INTACT[name]}}]


def _openai(pieces: Pieces) -> Dialect:
    begin = _chunk({"role": "assistant", "content": "Looking."})
    heads = (_piece(0, "", id="call_a", name="weather"), _piece(1, "", id="call_b", name="clock"))
    steps = (begin, *heads, *_in_turn(pieces), _chunk({}, "tool_calls"))
    return Dialect("openai", steps, _sse, lambda: OpenAIDecoder(ENDPOINT), DONE)


def _ollama() -> Dialect:
    steps = (
        _message(content="Looking."),
        _message(tool_calls=_whole("weather", "call_a")),
        _message(tool_calls=_whole("clock", "call_b")),
        _message(done=True),
    )
    return Dialect("ollama", steps, _line, lambda: OllamaDecoder(ENDPOINT))


def _block(index: int, kind: str, **more: JsonValue) -> JsonObject:
    return {"type": f"content_block_{kind}", "index": index, **more}


def _anthropic(pieces: Pieces) -> Dialect:
    def call(index: int, name: str) -> Iterator[JsonObject]:
        use: JsonObject = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        yield _block(index, "start", content_block=use)
        for text in pieces[name]:
            delta: JsonObject = {"type": "input_json_delta", "partial_json": text}
            yield _block(index, "delta", delta=delta)
        yield _block(index, "stop")

    usage: JsonObject = {"input_tokens": 3, "output_tokens": 1}
    steps: tuple[JsonObject, ...] = (
        {"type": "message_start", "message": {"role": "assistant", "usage": usage}},
        _block(0, "start", content_block={"type": "text", "text": ""}),
        _block(0, "delta", delta={"type": "text_delta", "text": "Looking."}),
        _block(0, "stop"),
        *call(1, "weather"),
        *call(2, "clock"),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage},
        {"type": "message_stop"},
    )
    return Dialect("anthropic", steps, _sse, lambda: AnthropicDecoder(ENDPOINT, "scripted://m"))


def _react(pieces: Pieces) -> Dialect:
    lead = ("Thought: I have to look.", "\nAction:", " weather", "\nAction Input: ")
    text = (_chunk({"content": part}) for part in (*lead, *pieces["weather"]))
    steps = (*text, _chunk({}, "stop"))
    return Dialect(
        "react",
        steps,
        _sse,
        lambda: OpenAIDecoder(ENDPOINT),
        DONE,
        mode="react",
        expected=WEATHER_ONLY,
    )


def _leaked(pieces: Pieces) -> Dialect:
    lead = ("<tool_call>", '{"name": "weather", "arguments":')
    text = (_message(content=part) for part in (*lead, *pieces["weather"], "}", "</tool_call>"))
    steps = (*text, _message(done=True))
    return Dialect("leaked", steps, _line, lambda: OllamaDecoder(ENDPOINT), expected=WEATHER_ONLY)


DONE = b"data: [DONE]\n\n"
WEATHER_ONLY = ("weather",)
DIALECTS = (_openai(SOLID), _ollama(), _anthropic(SOLID), _react(SOLID), _leaked(SOLID))
FRAGILE = (_openai(LOOSE), _ollama(), _anthropic(LOOSE), _react(LOOSE), _leaked(LOOSE))
"""The same, in pieces of which some can be missed."""


def moved(steps: Sequence[JsonObject], chance: random.Random) -> list[JsonObject]:
    """Lose, repeat and swap steps, and put values of other types in the place of others."""
    kept = [copy.deepcopy(step) for step in steps]
    for _ in range(chance.randrange(1, 4)):
        at, other = chance.randrange(len(kept)), chance.randrange(len(kept))
        match chance.randrange(4):
            case 0 if len(kept) > 1:
                del kept[at]
            case 1:
                kept.insert(other, copy.deepcopy(kept[at]))
            case 2:
                kept[at], kept[other] = kept[other], kept[at]
            case _:
                retype(kept[at], chance)
    return kept


def retype(step: JsonObject, chance: random.Random) -> None:
    """Put a value of another type in the place of one, anywhere in a step."""
    old, put = chance.choice([*_places(step)])
    others = [value for value in OTHER_TYPES if type(value) is not type(old)]
    put(copy.deepcopy(chance.choice(others)))


def _places(value: JsonValue) -> Iterator[tuple[JsonValue, Callable[[JsonValue], None]]]:
    """Give all values inside one, each with what puts another in its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield inner, partial(value.__setitem__, key)
            yield from _places(inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield inner, partial(value.__setitem__, number)
            yield from _places(inner)


def torn(dialect: Dialect, chance: random.Random) -> bytes:
    """Make one step unreadable, as a server does that writes half a line."""
    lines = [json.dumps(step, ensure_ascii=False).encode() for step in dialect.steps]
    at = chance.randrange(len(lines) - 1)
    lines[at] = lines[at][: chance.randrange(1, len(lines[at]))]
    return b"".join(map(dialect.frame, lines)) + dialect.tail


def cut_short(body: bytes, chance: random.Random) -> bytes:
    """Let the connection end anywhere."""
    return body[: chance.randrange(len(body))]


def scratched(body: bytes, chance: random.Random) -> bytes:
    """Flip bits, and take bytes out and put others in."""
    bytes_ = bytearray(body or b"\n")
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(bytes_))
        match chance.randrange(4):
            case 0 | 1:
                bytes_[at] ^= 1 << chance.randrange(8)
            case 2:
                del bytes_[at : at + chance.randrange(1, 9)]
            case _:
                bytes_[at : at + chance.choice((0, 4))] = chance.choice(JUNK)
        bytes_ = bytes_ or bytearray(b"\n")
    return bytes(bytes_)


def in_chunks(body: bytes, chance: random.Random) -> list[bytes]:
    """Cut a body as a network would."""
    sizes = (chance.choice((3, 20, 400)) for _ in range(len(body)))
    ends = [0, *(end for end in accumulate(sizes) if end < len(body)), len(body)]
    return [body[start:end] for start, end in pairwise(ends)]
