"""Small streams of our own, one for each way a server may say a thing, cut in every way."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol import chat_events
from ollm_tui.protocol.codec import event_to_json
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder
from tests.support.cuts import cuts, ways_to_cut

ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")


def event(delta: object = None, reason: object = None, **more: object) -> str:
    return "data: " + json.dumps({"choices": [{"delta": delta, "finish_reason": reason}], **more})


def stream(*lines: str) -> bytes:
    return "".join(f"{line}\n\n" for line in lines).encode()


def call(arguments: object, **more: object) -> dict[str, object]:
    return {"tool_calls": [{"function": {"name": "f", "arguments": arguments}, **more}]}


HI = event({"content": "Hi"})
END = event({}, "stop")
DONE = "data: [DONE]"


@dataclass(frozen=True)
class Case:
    """A body and what it says; `end` is the reason, or the code of the error."""

    id: str
    body: bytes
    end: str | int
    text: str = ""
    thinking: str = ""
    calls: tuple[object, ...] = ()
    message: str = ""


OPENAI = [
    Case("plain", stream(HI, END, DONE), "stop", "Hi"),
    Case("no end marker but a reason", stream(HI, END), "stop", "Hi"),
    Case("an end marker but no reason", stream(HI, DONE), "stop", "Hi"),
    Case("cut", stream(HI), ErrorCode.STREAM_INCOMPLETE, "Hi"),
    Case("nothing", b"", ErrorCode.ENGINE_ERROR, message="without sending anything"),
    Case("comments only", b": ping\n\n: ping\n\n", ErrorCode.ENGINE_ERROR),
    Case("only the end marker", stream(DONE), ErrorCode.ENGINE_ERROR),
    Case("text after the end", stream(HI, END, DONE, HI), "stop", "Hi"),
    Case("two reasons", stream(HI, event({}, "length"), END, DONE), "length", "Hi"),
    Case("empty reasons", stream(event({"content": "Hi"}, ""), END, DONE), "stop", "Hi"),
    Case("a null delta", stream(event(None), HI, END, DONE), "stop", "Hi"),
    Case("an unknown reason", stream(HI, event({}, "pause"), DONE), "pause", "Hi"),
    Case("another name for length", stream(HI, event({}, "model_length")), "length", "Hi"),
    Case("a reason that is an error", stream(HI, event({}, "error")), ErrorCode.ENGINE_ERROR, "Hi"),
    Case(
        "reasoning twice",
        stream(event({"reasoning": "So", "reasoning_content": "So"}), HI, END),
        "stop",
        "Hi",
        "So",
    ),
    Case("tags", stream(event({"content": "<think>So</think>Hi"}), END), "stop", "Hi", "So"),
    Case("a refusal", stream(event({"refusal": "No."}), END), "stop", "No."),
    Case(
        "content in parts",
        stream(
            event(
                {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "So"}]},
                        {"type": "text", "text": "Hi"},
                    ]
                }
            ),
            END,
        ),
        "stop",
        "Hi",
        "So",
    ),
    Case("a call and stop", stream(event(call("{}", id="a")), END), "tool_calls", calls=({},)),
    Case("a reason for calls that never came", stream(HI, event({}, "tool_calls")), "stop", "Hi"),
    Case(
        "a call cut by the limit",
        stream(event(call('{"a', id="a")), event({}, "length"), DONE),
        "length",
    ),
    Case(
        "a call cut by the limit before its arguments",
        stream(event(call(None, id="a")), event({}, "length"), DONE),
        "length",
    ),
    Case(
        "a call without arguments",
        stream(event(call(None, id="a")), END, DONE),
        "tool_calls",
        calls=({},),
    ),
    Case(
        "a call that lost a piece between two that fit",
        stream(
            event(call('{"a": 1', id="a")),
            'data: {"choices": [{"delta": {"tool_calls": [{"id": "a", "function": {"argum',
            event({"tool_calls": [{"id": "a", "function": {"arguments": "}"}}]}),
            END,
            DONE,
        ),
        "tool_calls",
        calls=(None,),
    ),
    Case(
        "a whole call and then a bad line",
        stream(event(call('{"a": 1}', id="a")), "data: {oops", END, DONE),
        "tool_calls",
        calls=({"a": 1},),
    ),
    Case(
        "a call with broken arguments",
        stream(event(call('{"a', id="a")), END, DONE),
        "tool_calls",
        calls=(None,),
    ),
    Case("a call of a cut answer", stream(event(call("{}", id="a"))), ErrorCode.STREAM_INCOMPLETE),
    Case(
        "an error after text",
        stream(HI, 'data: {"error": {"message": "engine died"}}', DONE),
        ErrorCode.INTERNAL_ERROR,
        "Hi",
        message="engine died",
    ),
    Case(
        "an error as a field",
        b'error: {"message": "no room", "code": 400}\n\n',
        ErrorCode.BAD_REQUEST,
        message="no room",
    ),
    Case("an error of null", stream(event({"content": "Hi"}, error=None), END), "stop", "Hi"),
    Case(
        "last words",
        stream(HI, "data: error: worker died"),
        ErrorCode.STREAM_INCOMPLETE,
        "Hi",
        message="worker died",
    ),
    Case("a bad line among good ones", stream(HI, "data: {oops", END, DONE), "stop", "Hi"),
    Case("only bad lines", stream("data: {oops"), ErrorCode.INTERNAL_ERROR, message="{oops"),
    Case("lists and nulls", stream("data: null", "data: []", HI, END), "stop", "Hi"),
    Case(
        "another answer beside ours",
        stream(
            'data: {"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "x"}]}',
            HI,
            END,
        ),
        "stop",
        "Hi",
    ),
    Case(
        "a whole answer in place of a stream",
        b'\n{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}',
        "stop",
        "Hi",
    ),
    Case(
        "a whole answer after signs of life",
        b': wait\n\n{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}',
        "stop",
        "Hi",
    ),
    Case("a whole error", b'{"error": "not loaded"}', ErrorCode.INTERNAL_ERROR, message="not lo"),
    Case("a web page", b"<!DOCTYPE html><p>Hi", ErrorCode.SERVICE_UNAVAILABLE, message="web page"),
]


def line(message: object = None, **more: object) -> bytes:
    return json.dumps({"message": message, "done": False, **more}).encode() + b"\n"


HELLO = line({"content": "Hi"})
OVER = line({"content": ""}, done=True, done_reason="stop")

OLLAMA = [
    Case("plain", HELLO + OVER, "stop", "Hi"),
    Case("no last line end", HELLO + OVER.rstrip(), "stop", "Hi"),
    Case("no reason", HELLO + line(done=True), "stop", "Hi"),
    Case("text on the last line", line({"content": "Hi"}, done=True), "stop", "Hi"),
    Case("cut", HELLO, ErrorCode.STREAM_INCOMPLETE, "Hi"),
    Case("cut in a line", HELLO + b'{"mess', ErrorCode.STREAM_INCOMPLETE, "Hi"),
    Case("nothing", b"", ErrorCode.ENGINE_ERROR),
    Case("twice over", HELLO + OVER + HELLO + OVER, "stop", "Hi"),
    Case("thinking", line({"thinking": "So"}) + HELLO + OVER, "stop", "Hi", "So"),
    Case("limit", HELLO + line(done=True, done_reason="length"), "length", "Hi"),
    Case("load", line({"content": ""}, done=True, done_reason="load"), "load"),
    Case("a call", line(call({"a": 1})) + OVER, "tool_calls", calls=({"a": 1},)),
    Case("a call as text", line(call('{"a": 1}')) + OVER, "tool_calls", calls=({"a": 1},)),
    Case("a call without arguments", line(call(None)) + OVER, "tool_calls", calls=({},)),
    Case(
        "a call cut by the limit before its arguments",
        line(call(None)) + line(done=True, done_reason="length"),
        "length",
    ),
    Case(
        "a whole call before the limit",
        line(call({})) + line(done=True, done_reason="length"),
        "length",
        calls=({},),
    ),
    Case(
        "a call that lost a piece between two that fit",
        line(call('{"a": 1'))
        + b'{"mess\n'
        + line({"tool_calls": [{"function": {"arguments": "}"}}]})
        + OVER,
        "tool_calls",
        calls=(None,),
    ),
    Case(
        "calls over lines and on the last one",
        line(call({"a": 1}))
        + line(call({"b": 2}))
        + line(call({"c": 3}), done=True, done_reason="stop"),
        "tool_calls",
        calls=({"a": 1}, {"b": 2}, {"c": 3}),
    ),
    Case(
        "everything on one line",
        line({"thinking": "So", "content": "Hi", **call({"a": 1})}, done=True),
        "tool_calls",
        "Hi",
        "So",
        ({"a": 1},),
    ),
    Case(
        "thinking, and then what a schema binds",
        line({"thinking": "So"}) + line({"content": ""}) + line({"content": '{"a": 1}'}) + OVER,
        "stop",
        '{"a": 1}',
        "So",
    ),
    Case(
        "probabilities beside the message",
        line({"content": "Hi"}, logprobs=[{"token": "Hi", "logprob": -0.1, "bytes": [72]}]) + OVER,
        "stop",
        "Hi",
    ),
    Case("nothing in a message", line() + line({}) + HELLO + OVER, "stop", "Hi"),
    Case("two on a line", HELLO.rstrip() + OVER, "stop", "Hi"),
    Case(
        "an error", HELLO + b'{"error": "died"}\n', ErrorCode.INTERNAL_ERROR, "Hi", message="died"
    ),
    Case(
        "out of memory",
        b'{"error": "CUDA error: out of memory"}\n',
        ErrorCode.OUT_OF_MEMORY,
        message="memory",
    ),
    Case("a web page", b"<html>\n<body>\n", ErrorCode.SERVICE_UNAVAILABLE, message="web page"),
    Case("plain words", b"internal error\n", ErrorCode.INTERNAL_ERROR, message="internal error"),
    Case("a bad line among good ones", HELLO + b"oops\n" + OVER, "stop", "Hi"),
]
ALL = [(OpenAIDecoder, case) for case in OPENAI] + [(OllamaDecoder, case) for case in OLLAMA]


def decode(decoder: AnswerDecoder, chunks: list[bytes]) -> list[ProviderEvent]:
    events = [found for chunk in chunks for found in decoder.feed(chunk)]
    return events + decoder.finish() + decoder.finish()


def check(events: list[ProviderEvent], case: Case) -> None:
    ends = [found for found in events if isinstance(found, Finish | ErrorEvent)]
    assert ends == events[-1:]
    assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == case.text
    assert "".join(e.delta for e in events if isinstance(e, ThinkingDelta)) == case.thinking
    assert tuple(e.call.args for e in events if isinstance(e, ToolCallEvent)) == case.calls
    end = ends[0]
    if isinstance(end, ErrorEvent):
        assert end.error.code == case.end, end.error
        assert case.message in end.error.message
    else:
        assert end.reason == case.end


@pytest.mark.parametrize(("make", "case"), ALL, ids=lambda value: getattr(value, "id", ""))
def test_what_a_server_says_is_understood_however_it_is_cut(
    make: type[OpenAIDecoder] | type[OllamaDecoder], case: Case
) -> None:
    for chunks in ways_to_cut(case.body):
        check(decode(make(ENDPOINT), chunks), case)


@given(st.data())
def test_no_cutting_changes_what_a_server_sent(data: st.DataObject) -> None:
    make, case = data.draw(st.sampled_from(ALL))
    check(decode(make(ENDPOINT), data.draw(cuts(case.body))), case)


@given(st.binary(max_size=400))
def test_any_bytes_give_one_end_and_no_exception(body: bytes) -> None:
    for make in (OpenAIDecoder, OllamaDecoder):
        events = decode(make(ENDPOINT), [body])
        assert isinstance(events[-1], Finish | ErrorEvent)
        assert not any(isinstance(found, Finish | ErrorEvent) for found in events[:-1])


def test_pieces_that_come_together_are_joined() -> None:
    events = OpenAIDecoder(ENDPOINT).feed(stream(HI, HI, event({"reasoning": "a"}), HI, HI))
    assert events == [TextDelta("HiHi"), ThinkingDelta("a"), TextDelta("HiHi")]


def test_counts_and_times_are_the_servers_and_zeros_are_unknown() -> None:
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    counts = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 9, "extra": 1}
    timings = {"predicted_per_second": 50.0, "prompt_ms": 200}
    body = stream(event({"content": "Hi"}, "stop", usage=counts, timings=timings))
    end = decode(OpenAIDecoder(ENDPOINT), [body + stream(event({}, usage=zeros), DONE)])[-1]
    assert isinstance(end, Finish)
    assert end.usage is not None
    assert (end.usage.total_tokens, end.usage.extra) == (9, {"extra": 1})
    assert end.timings is not None
    assert (end.timings.tokens_per_s, end.timings.prompt_s) == (50.0, 0.2)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("MAX_TOKENS", "length"),
        ("Length", "length"),
        ("max_output_tokens", "length"),
        ("token_limit", "length"),
        ("contextLengthReached", "length"),
        ("SAFETY", "content_filter"),
        ("STOP", "tool_calls"),
        ("Load", "Load"),
    ],
)
def test_reasons_are_known_in_every_spelling(raw: str, reason: str) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "look", "arguments": "{}"}}
    end = decode(OpenAIDecoder(ENDPOINT), [stream(event({"tool_calls": [call]}, raw), DONE)])[-1]
    assert isinstance(end, Finish)
    assert (end.reason, end.raw_reason) == (reason, raw)


def test_the_speed_of_a_single_token_is_none() -> None:
    timings = {"predicted_n": 1, "predicted_ms": 0.001, "predicted_per_second": 1_000_000.0}
    end = decode(
        OpenAIDecoder(ENDPOINT), [stream(event({"content": "Hi"}, "stop", timings=timings))]
    )
    last = end[-1]
    assert isinstance(last, Finish)
    assert last.timings is not None
    assert last.timings.tokens_per_s is None
    closing = line(done=True, eval_count=1, eval_duration=1_000_000_000)
    last = decode(OllamaDecoder(ENDPOINT), [closing])[-1]
    assert isinstance(last, Finish)
    assert last.timings is not None
    assert last.timings.tokens_per_s is None


def test_ollamas_durations_are_nanoseconds_and_a_missing_count_is_unknown() -> None:
    last = line(done=True, eval_count=20, eval_duration=2_000_000_000, load_duration=500_000_000)
    end = decode(OllamaDecoder(ENDPOINT), [last])[-1]
    assert isinstance(end, Finish)
    assert end.usage is not None
    assert (end.usage.prompt_tokens, end.usage.total_tokens) == (None, None)
    assert end.timings is not None
    assert (end.timings.tokens_per_s, end.timings.load_s) == (10.0, 0.5)


@pytest.mark.parametrize("figure", ["1" + "0" * 400, "1e-320", "-5", "true", '"9"', "null", "[1]"])
def test_figures_beyond_all_measure_are_unknown(figure: str) -> None:
    closing = '{"message":{"content":"Hi"},"done":true,"eval_count":%s,"eval_duration":%s}'
    body = (closing % (figure, figure)).encode() + b"\n"
    body_5 = (closing % (5, figure)).encode() + b"\n"
    timings = (
        f'{{"prompt_ms": {figure}, "predicted_ms": {figure}, "predicted_per_second": {figure}}}'
    )
    usage = f'{{"prompt_tokens": {figure}, "completion_tokens": 2, "total_tokens": {figure}}}'
    chunk = f'data: {{"choices": [], "usage": {usage}, "timings": {timings}}}'
    for decoder, whole in (
        (OllamaDecoder(ENDPOINT), body),
        (OllamaDecoder(ENDPOINT), body_5),
        (OpenAIDecoder(ENDPOINT), stream(HI, chunk, END, DONE)),
    ):
        end = decode(decoder, [whole])[-1]
        assert isinstance(end, Finish)
        event = chat_events.Finish(reason="stop", usage=end.usage, timings=end.timings)
        assert json.dumps(event_to_json(event), allow_nan=False)


@pytest.mark.parametrize(
    "whole",
    [
        b'\xef\xbb\xbf{"error": "no room"}',
        b'\r\n\xef\xbb\xbf {"error": "no room"}',
        b' \n{"error": "no room"}',
        b'\xef\xbb\xbfdata: {"error": "no room"}\n\n',
        b' \ndata: {"error": "no room"}\n\n',
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_answer_wherever_it_is_cut(whole: bytes) -> None:
    for at in range(len(whole)):
        stream = OpenAIDecoder(ENDPOINT)
        events = [*stream.feed(whole[:at]), *stream.feed(whole[at:]), *stream.finish()]
        (end,) = events
        assert isinstance(end, ErrorEvent)
        assert end.error.message == "no room"
