"""Ten thousand damaged streams: no crash, the same result however cut, no call made of damage."""

import json
import random
from collections.abc import Callable

import pytest

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.lines import BadLine, LineTooLong, NDJSONDecoder
from ollm_tui.decode.sse import SSEDecoder
from ollm_tui.decode.thinking import ThinkTags, ThinkTagSplitter
from ollm_tui.decode.tool_calls import ToolCallAssembler, read_tool_call_deltas
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolCall
from tests.support.cuts import cut_at

STREAMS = 10_000
LIMIT = 2_000
SWAPS = [b"null", b"[]", b"{}", b'""', b"0", b"-1", b"1e999", b"NaN", b'"\\ud800"', b"\xff", b"\n"]


def call_delta(index: int | None, arguments: JsonValue, **keys: JsonValue) -> JsonObject:
    function: JsonObject = {"arguments": arguments}
    entry: JsonObject = {"function": function}
    if "name" in keys:
        function["name"] = keys["name"]
    if "id" in keys:
        entry["id"] = keys["id"]
    if index is not None:
        entry["index"] = index
    return {"tool_calls": [entry]}


DELTAS: list[JsonObject] = [
    {"content": "<think>a é"},
    {"content": " b</thi"},
    {"content": "nk>\n🧠 text"},
    call_delta(0, "", id="c1", name="read"),
    call_delta(0, '{"path": '),
    call_delta(1, '{"n":', id="c2", name="count"),
    call_delta(0, '"a\\u00e9b"}'),
    call_delta(1, "3}"),
    call_delta(None, {"k": [1, None]}, name="whole"),
]
RUNNABLE = {"read": {"path": "aéb"}, "count": {"n": 3}, "whole": {"k": [1, None]}}
EVENT_LINES = [b"data: " + json.dumps(delta).encode() + b"\n\n" for delta in DELTAS]
JSON_LINES = [json.dumps(delta, ensure_ascii=False).encode() + b"\n" for delta in DELTAS]


def damage(lines: list[bytes], chance: random.Random) -> bytes:
    """Delete, repeat and swap lines, then flip, cut out and put in bytes."""
    lines = list(lines)
    for _ in range(chance.randrange(3)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(3):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case _:
                lines[at], lines[other] = lines[other], lines[at]
    body = bytearray(b"".join(lines))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(body))
        match chance.randrange(4):
            case 0:
                body[at] ^= 1 << chance.randrange(8)
            case 1:
                del body[at : at + chance.randrange(1, 9)]
            case 2:
                body[at:at] = chance.choice(SWAPS)
            case _:
                body[at : at + 4] = chance.choice(SWAPS)
        body = body or bytearray(b"\n")
    return bytes(body)


def read_events(chunks: list[bytes]) -> list[JsonObject]:
    decoder = SSEDecoder(limit=LIMIT)
    events = []
    try:
        for chunk in chunks:
            events += decoder.feed(chunk)
        events += decoder.finish()
    except LineTooLong:
        pass
    found = []
    for event in events:
        try:
            value = parse_json(event.data)
        except BadJson:
            continue
        found += [value] if isinstance(value, dict) else []
    return found


def read_lines(chunks: list[bytes]) -> list[JsonObject]:
    decoder = NDJSONDecoder(limit=LIMIT)
    items = [item for chunk in chunks for item in decoder.feed(chunk)] + decoder.finish()
    return [item for item in items if not isinstance(item, BadLine)]


def read_answer(deltas: list[JsonObject]) -> tuple[list[tuple[str, str]], list[ToolCall]]:
    splitter = ThinkTagSplitter(ThinkTags(where="anywhere"))
    assembler = ToolCallAssembler(lambda number: f"made_{number}")
    pieces = []
    for delta in deltas:
        content = delta.get("content")
        if isinstance(content, str):
            pieces += splitter.feed(content)
        assembler.feed(read_tool_call_deltas(delta.get("tool_calls")))
    pieces += splitter.finish()
    assert assembler.finish(complete=False) == []
    assert all(call.args is None for call in assembler.incomplete())
    return [
        (type(piece).__name__, getattr(piece, "text", "")) for piece in pieces
    ], assembler.finish()


def check_calls(calls: list[ToolCall]) -> None:
    assert len({call.id for call in calls}) == len(calls)
    for call in calls:
        json.dumps([call.args, call.raw_args], ensure_ascii=False).encode("utf-8")
        if call.args is not None:
            assert json.loads(call.raw_args or "{}") == call.args


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "read"), [(EVENT_LINES, read_events), (JSON_LINES, read_lines)], ids=["sse", "ndjson"]
)
def test_damaged_streams_neither_crash_nor_depend_on_the_cuts(
    lines: list[bytes], read: Callable[[list[bytes]], list[JsonObject]]
) -> None:
    chance = random.Random(20_231)
    for _ in range(STREAMS // 2):
        body = damage(lines, chance)
        whole = read([body])
        cuts = [chance.randrange(len(body) + 1) for _ in range(chance.randrange(8))]
        assert read(cut_at(body, cuts)) == whole
        check_calls(read_answer(whole)[1])


@pytest.mark.parametrize(
    ("lines", "read"), [(EVENT_LINES, read_events), (JSON_LINES, read_lines)], ids=["sse", "ndjson"]
)
def test_a_stream_cut_at_any_byte_gives_no_call_that_was_not_sent(
    lines: list[bytes], read: Callable[[list[bytes]], list[JsonObject]]
) -> None:
    body = b"".join(lines)
    for end in range(len(body) + 1):
        _, calls = read_answer(read([body[:end]]))
        for call in calls:
            assert call.args in (None, {}, RUNNABLE[call.name])
    assert {call.name: call.args for call in calls} == RUNNABLE
