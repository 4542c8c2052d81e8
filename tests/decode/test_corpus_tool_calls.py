"""Tool calls of recorded streams, read by the decoders alone."""

import json
from collections.abc import Iterable, Iterator

import pytest

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.lines import BadLine, NDJSONDecoder
from ollm_tui.decode.sse import SSEDecoder
from ollm_tui.decode.tool_calls import ToolCallAssembler, read_tool_call_deltas
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolCall
from tests.support.corpus import RecordedStream, load_streams, needs_corpus, stream_id
from tests.support.cuts import ways_to_cut

pytestmark = needs_corpus


def openai_deltas(chunks: list[bytes]) -> Iterator[JsonObject]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()
    for text in [event.data for event in events] or [decoder.stray]:
        try:
            found = parse_json(text)
        except BadJson:
            continue
        choices = found.get("choices") if isinstance(found, dict) else None
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                yield as_object(choice.get("delta") or choice.get("message"))


def ollama_messages(chunks: list[bytes]) -> Iterator[JsonObject]:
    decoder = NDJSONDecoder()
    items = [item for chunk in chunks for item in decoder.feed(chunk)] + decoder.finish()
    for item in items:
        if not isinstance(item, BadLine):
            yield as_object(item.get("message"))


def as_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def assemble(messages: Iterable[JsonObject], *, complete: bool) -> list[ToolCall]:
    assembler = ToolCallAssembler()
    for message in messages:
        assembler.feed(read_tool_call_deltas(message.get("tool_calls")))
    return assembler.finish() if complete else assembler.incomplete()


def check(calls: list[ToolCall], expected: list[dict[str, object]], *, complete: bool) -> None:
    assert len(calls) == len(expected)
    assert len({call.id for call in calls}) == len(calls)
    for call, wanted in zip(calls, expected, strict=True):
        assert call.name == wanted["name"]
        assert call.id == (wanted["id"] or call.id)
        assert call.args == (wanted["args"] if complete else None)
        if wanted["args"] is None:
            assert call.raw_args == wanted["args_raw"]
        else:
            assert json.loads(call.raw_args or "{}") == wanted["args"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("stream", load_streams("openai", "ollama"), ids=stream_id)
def test_recorded_calls_are_put_together(stream: RecordedStream) -> None:
    cut = stream.expected.get("incomplete_tool_calls")
    expected = cut or stream.expected.get("tool_calls") or []
    read = openai_deltas if stream.api == "openai" else ollama_messages
    for chunks in ways_to_cut(stream.decoded_body, stream.splits):
        check(assemble(read(chunks), complete=not cut), expected, complete=not cut)
