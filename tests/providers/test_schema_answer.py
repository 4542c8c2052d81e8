"""An answer that comes as the arguments of a tool is text to everybody else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.json_fields import objects
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers.anthropic.llamacpp import SchemaAnswerDecoder, as_llamacpp
from ollm_tui.providers.anthropic.to_wire import chat_body
from ollm_tui.providers.http_faults import Endpoint
from tests.support.cuts import cuts

ENDPOINT = Endpoint("box", "llama.cpp", "localhost:8080", "Start it.")
SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
JSON_TEXT = '{"n": 1, "ü": "é"}'


def asked(**options: object) -> Request:
    chosen = GenerationOptions(**options)  # type: ignore[arg-type]
    return Request(model="m", messages=[Message("user", "hi")], options=chosen)


Event = dict[str, Any]


def block(index: int, start: Event, *deltas: Event) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": d} for d in deltas),
        {"type": "content_block_stop", "index": index},
    ]


TEXT = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Here it is:"})
THOUGHT = block(
    0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm."}
)
CALL = block(
    1,
    {"type": "tool_use", "id": "t", "name": "answer", "input": {}},
    *({"type": "input_json_delta", "partial_json": part} for part in JSON_TEXT.partition(", ")),
)


def wire(*blocks: list[Event], reason: str = "tool_use") -> bytes:
    start: Event = {"type": "message_start", "message": {"role": "assistant"}}
    end: Event = {"type": "message_delta", "delta": {"stop_reason": reason}}
    events = [start, *(event for some in blocks for event in some), end, {"type": "message_stop"}]
    lines = (f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
    return "".join(lines).encode()


def read(*pieces: bytes) -> list[ProviderEvent]:
    stream = SchemaAnswerDecoder(ENDPOINT, "box://m")
    return [event for piece in pieces for event in stream.feed(piece)] + stream.finish()


def text_of(events: list[ProviderEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


@given(pieces=cuts(wire(TEXT, CALL)))
def test_the_arguments_are_the_text_wherever_the_stream_is_cut(pieces: list[bytes]) -> None:
    events = read(*pieces)
    assert text_of(events) == JSON_TEXT
    assert isinstance(end := events[-1], Finish)
    assert (end.reason, end.raw_reason) == ("stop", "end_turn")


def test_reasoning_stays_apart_from_the_answer() -> None:
    thought, text, end = read(wire(THOUGHT, CALL))
    assert (thought, text) == (ThinkingDelta("Hm."), TextDelta(JSON_TEXT))
    assert isinstance(end, Finish)


def test_an_answer_that_was_not_streamed_is_read_whole() -> None:
    content = [{"type": "tool_use", "id": "t", "name": "answer", "input": {"n": 1}}]
    whole = {"type": "message", "content": content, "stop_reason": "tool_use"}
    events = read(json.dumps(whole).encode())
    assert json.loads(text_of(events)) == {"n": 1}


def test_text_without_a_call_is_not_lost_and_a_limit_stays_one() -> None:
    events = read(wire(TEXT, reason="max_tokens"))
    assert text_of(events) == "Here it is:"
    assert isinstance(end := events[-1], Finish)
    assert end.reason == "length"


@given(st.sampled_from([{}, {"temperature": 0.5}, {"max_tokens": 5}]))
def test_a_schema_is_asked_for_by_a_tool(options: dict[str, object]) -> None:
    body = as_llamacpp(chat_body(asked(response_format=SCHEMA, **options), "box://m", None))
    (tool,) = objects(body["tools"])
    assert (tool["name"], tool["input_schema"]) == ("answer", SCHEMA)
    assert body["tool_choice"] == {"type": "any"}
    assert "output_config" not in body


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        (
            Request(
                model="m",
                messages=[Message("user", "hi")],
                tools=[ToolSchema(name="t")],
                options=GenerationOptions(response_format=SCHEMA),
            ),
            "beside tools",
        ),
        (asked(response_format={"type": "array"}), "no object"),
    ],
)
def test_a_schema_that_no_tool_can_take_is_refused(request_: Request, what: str) -> None:
    with pytest.raises(AIError, match=what) as caught:
        as_llamacpp(chat_body(request_, "box://m", None))
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE


def test_text_without_end_beside_the_answer_is_not_kept_without_end() -> None:
    stream = SchemaAnswerDecoder(ENDPOINT, "p://m")
    piece = {"type": "text_delta", "text": "x" * 1_000_000}
    events: list[ProviderEvent] = []
    for event in block(0, {"type": "text", "text": ""}, *[piece] * 6):
        events += stream.feed(f"data: {json.dumps(event)}\n\n".encode())
    assert stream.ended
    (end,) = events
    assert isinstance(end, ErrorEvent)
    assert "broke a limit" in end.error.message
