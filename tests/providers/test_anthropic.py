"""Anthropic's answers: thoughts and their signatures, calls, counts, reasons and errors."""

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.anthropic.to_wire import wire_messages
from ollm_tui.providers.http_faults import Endpoint
from tests.support.corpus import load_streams, needs_corpus
from tests.support.cuts import cuts

ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")
SIGNER = "p://m"


def sse(*events: Mapping[str, object]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def started(index: int, **block: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **piece: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **piece}}


def stopped(index: int) -> dict[str, object]:
    return {"type": "content_block_stop", "index": index}


START: dict[str, object] = {
    "type": "message_start",
    "message": {"usage": {"input_tokens": 3, "output_tokens": 1}},
}
STOP: dict[str, object] = {"type": "message_stop"}


def ended(reason: str = "end_turn", **usage: int) -> tuple[dict[str, object], ...]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, STOP


def read(body: bytes) -> list[ProviderEvent]:
    decoder = AnthropicDecoder(ENDPOINT, SIGNER)
    return [*decoder.feed(body), *decoder.finish()]


def message_of(events: Sequence[ProviderEvent]) -> Message:
    assembler = MessageAssembler()
    for event in events:
        assembler.add(event)
    message = assembler.message()
    assert message is not None
    return message


def finish_of(events: Sequence[ProviderEvent]) -> Finish:
    assert isinstance(events[-1], Finish)
    return events[-1]


THOUGHTS = sse(
    START,
    started(0, type="thinking", thinking="", signature=""),
    delta(0, "thinking_delta", thinking="Hm."),
    delta(0, "signature_delta", signature="s1"),
    stopped(0),
    started(1, type="redacted_thinking", data="x1"),
    stopped(1),
    started(2, type="redacted_thinking", data="x2"),
    stopped(2),
    started(3, type="thinking", thinking="", signature=""),
    delta(3, "signature_delta", signature="s2"),
    stopped(3),
    started(4, type="text", text=""),
    delta(4, "text_delta", text="Yes."),
    stopped(4),
    *ended(output_tokens=9),
)
MESSAGE = Message(
    "assistant",
    [
        ThinkingContent("Hm.", "s1", SIGNER),
        ThinkingContent("", "x1", SIGNER, sealed=True),
        ThinkingContent("", "x2", SIGNER, sealed=True),
        ThinkingContent("", "s2", SIGNER),
        TextContent("Yes."),
    ],
)


@given(st.data())
def test_thoughts_keep_their_signatures_however_the_bytes_are_cut(data: st.DataObject) -> None:
    decoder = AnthropicDecoder(ENDPOINT, SIGNER)
    events = [event for chunk in data.draw(cuts(THOUGHTS)) for event in decoder.feed(chunk)]
    assert message_of([*events, *decoder.finish()]) == MESSAGE
    assert finish_of(events).usage == Usage(prompt_tokens=3, completion_tokens=9)


TEXTS = st.text(min_size=1).filter(str.strip)
BLOCKS = st.one_of(
    st.builds(ThinkingContent, TEXTS, TEXTS, st.just(SIGNER)),
    st.builds(ThinkingContent, st.just(""), TEXTS, st.just(SIGNER), sealed=st.just(True)),
    st.builds(TextContent, TEXTS.filter(lambda text: "<" not in text)),
)


@given(blocks=st.lists(BLOCKS, min_size=1, max_size=6), data=st.data())
def test_what_a_model_wrote_goes_back_to_it_unchanged(
    blocks: list[ThinkingContent | TextContent], data: st.DataObject
) -> None:
    (wire_message,) = wire_messages([Message("assistant", blocks)], SIGNER)
    assert isinstance(wire_message, dict)
    content = wire_message["content"]
    wire = content if isinstance(content, list) else [{"type": "text", "text": content}]
    events: list[dict[str, object]] = [START]
    for index, block in enumerate(wire):
        assert isinstance(block, dict)
        events += [started(index, **block), stopped(index)]
    body = sse(*events, *ended())
    decoder = AnthropicDecoder(ENDPOINT, SIGNER)
    got = [event for chunk in data.draw(cuts(body)) for event in decoder.feed(chunk)]
    again = wire_messages([message_of(got)], SIGNER)
    assert joined(again) == joined([wire_message])


def joined(messages: Sequence[object]) -> list[object]:
    """Join texts that follow each other: how an answer is divided into blocks means nothing."""
    found: list[object] = []
    for message in messages:
        assert isinstance(message, dict)
        content = message["content"]
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if block["type"] == "text" and found and isinstance(found[-1], str):
                found[-1] += block["text"]
            else:
                found.append(block["text"] if block["type"] == "text" else block)
    return found


@needs_corpus
def test_recorded_thoughts_come_with_their_signatures() -> None:
    # Other servers give thoughts of other makers' models, which have no signature.
    streams = [s for s in load_streams("anthropic") if "/" not in s.id]
    recorded = [s for s in streams if s.expected["thinking"]]
    whole = [s for s in recorded if s.expected["outcome"] == "complete"]
    assert whole
    for stream in whole:
        thoughts = [b for b in message_of(read(stream.body)).content if b.type == "thinking"]
        assert all(isinstance(b, ThinkingContent) and b.signature for b in thoughts), stream.id


def test_counts_are_the_last_reported_and_the_cache_is_part_of_the_prompt() -> None:
    first = {"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 1}
    start = {"type": "message_start", "message": {"usage": first}}
    events = read(sse(start, *ended(output_tokens=7, cache_creation_input_tokens=5)))
    usage = finish_of(events).usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (18, 7, None)
    assert usage.extra == {"cache_read_input_tokens": 10, "cache_creation_input_tokens": 5}


@pytest.mark.parametrize(
    ("complete", "meant"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("something_new", "something_new"),
    ],
)
def test_reasons_are_reported_in_our_words_and_kept_in_theirs(complete: str, meant: str) -> None:
    end = finish_of(read(sse(START, *ended(complete))))
    assert (end.reason, end.raw_reason) == (meant, complete)


@pytest.mark.parametrize(
    ("kind", "code", "status", "message"),
    [
        ("overloaded_error", ErrorCode.SERVICE_UNAVAILABLE, 529, "Said so"),
        ("rate_limit_error", ErrorCode.RATE_LIMITED, 429, "Said so"),
        ("api_error", ErrorCode.INTERNAL_ERROR, 500, "Said so"),
        (
            *("authentication_error", ErrorCode.AUTH_FAILED, 401),
            "Server requires an API key: Said so",
        ),
        ("invalid_request_error", ErrorCode.BAD_REQUEST, 400, "Said so"),
    ],
)
def test_an_error_inside_the_stream_is_what_its_status_would_have_been(
    kind: str, code: ErrorCode, status: int, message: str
) -> None:
    body = sse({"type": "error", "error": {"type": kind, "message": "Said so"}})
    (end,) = read(body)
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, end.error.status) == (code, status)
    assert not end.error.retryable  # the server has answered
    assert end.error.message == message
    after_text = read(sse(started(0, type="text", text="It was ")) + body)
    assert after_text[0] == TextDelta("It was ")
    assert isinstance(after_text[-1], ErrorEvent)
    assert not after_text[-1].error.retryable


@pytest.mark.slow
def test_a_cut_at_every_byte_has_one_end_and_no_call() -> None:
    call = (
        started(5, type="tool_use", id="t1", name="f", input={}),
        delta(5, "input_json_delta", partial_json='{"a": 1}'),
        stopped(5),
    )
    last = sse(*ended("tool_use", output_tokens=9))
    body = THOUGHTS.partition(b"event: message_delta")[0] + sse(*call) + last
    complete = len(body) - len(last) + last.index(b"\n\n")
    for at in range(len(body)):
        events = read(body[:at])
        assert [e for e in events if isinstance(e, Finish | ErrorEvent)] == [events[-1]]
        calls = [event for event in events if isinstance(event, ToolCallEvent)]
        # the reason is what ends an answer: all that follows it is the mark of its end
        assert isinstance(events[-1], ErrorEvent) == (at < complete), at
        assert bool(calls) == (at >= complete), at


def test_a_cut_is_no_stop_and_its_calls_are_not_run() -> None:
    call = started(0, type="tool_use", id="t1", name="f", input={})
    body = sse(START, call, delta(0, "input_json_delta", partial_json='{"a": 1}'), stopped(0))
    (end,) = read(body)
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.STREAM_INCOMPLETE


def test_calls_side_by_side_are_distinguished_by_index_and_servers_own_calls_are_not_ours() -> None:
    body = sse(
        START,
        started(0, type="server_tool_use", id="s1", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"query": "x"}'),
        started(1, type="tool_use", id="t1", name="f", input={}),
        started(2, type="tool_use", id="t2", name="g", input={"whole": True}),
        delta(1, "input_json_delta", partial_json='{"a":'),
        delta(1, "input_json_delta", partial_json=" 1}"),
        stopped(1),
        started(3, type="tool_use", id="t3", name="h", input={}, caller={"type": "direct"}),
        *ended("tool_use"),
    )
    events = read(body)
    assert [e.call for e in events if isinstance(e, ToolCallEvent)] == [
        ToolCall(id="t1", name="f", args={"a": 1}, raw_args='{"a": 1}'),
        ToolCall(id="t2", name="g", args={"whole": True}, raw_args='{"whole": true}'),
        ToolCall(id="t3", name="h", args={}),
    ]
    assert finish_of(events).reason == "tool_calls"


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    whole = {
        "type": "message",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s1"},
            {"type": "text", "text": "Yes."},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }
    events = read(json.dumps(whole).encode())
    assert message_of(events) == Message(
        "assistant",
        [ThinkingContent("Hm.", "s1", SIGNER), TextContent("Yes.")],
        tool_calls=[ToolCall(id="t1", name="f", args={"a": 1}, raw_args='{"a": 1}')],
    )
    assert finish_of(events).usage == Usage(prompt_tokens=3, completion_tokens=4)
