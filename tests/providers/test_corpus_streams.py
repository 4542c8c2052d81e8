"""Every recorded answer of these servers gives what was really said in it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder
from tests.support.corpus import RecordedStream, load_streams, needs_corpus, stream_id
from tests.support.cuts import cut_at, cuts, one_by_one

pytestmark = needs_corpus

ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")
STREAMS = load_streams("openai", "ollama", "anthropic")
SMALL = [stream for stream in STREAMS if len(stream.decoded_body) < 20_000]
EITHER_IS_RIGHT = {
    "error_or_complete": {"error", "stop"},
    "error_or_incomplete": {"error", "incomplete"},
    "error_or_empty": {"error"},
    "unknown": {"stop"},
    "error": {"error", "incomplete"},
}


def decoder_for(stream: RecordedStream) -> AnswerDecoder:
    match stream.api:
        case "ollama":
            return OllamaDecoder(ENDPOINT)
        case "anthropic":
            return AnthropicDecoder(ENDPOINT, "p://m")
        case _:
            return OpenAIDecoder(ENDPOINT)


def decode(stream: RecordedStream, chunks: list[bytes]) -> list[ProviderEvent]:
    decoder = decoder_for(stream)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    events += decoder.finish()
    assert decoder.ended
    assert decoder.feed(b"data: {}\n\n{}\n") == decoder.finish() == []
    return events


def joined(events: list[ProviderEvent]) -> tuple[object, ...]:
    """What may not depend on where the bytes were cut; the ids that we make up do."""
    calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
    return (
        "".join(event.delta for event in events if isinstance(event, TextDelta)),
        "".join(event.delta for event in events if isinstance(event, ThinkingDelta)),
        [(call.name, call.args, call.raw_args, call.extra) for call in calls],
        events[-1],
    )


@pytest.mark.parametrize("stream", STREAMS, ids=stream_id)
def test_a_recorded_answer_gives_its_text(stream: RecordedStream) -> None:
    events = decode(stream, [stream.decoded_body])
    text, thinking, _, _ = joined(events)
    expected = stream.expected
    if stream.id == "unicode-lone-surrogates":
        assert str(text).encode().decode().endswith(" ok")
    elif stream.id == "unicode-invalid-bytes":
        assert str(text).startswith("caf")
        assert str(text).endswith(" end")
    else:
        assert text == (expected.get("refusal") or expected["text"])
    assert thinking == expected["thinking"]
    check_end(events, stream)
    check_calls(events, stream)


def check_end(events: list[ProviderEvent], stream: RecordedStream) -> None:
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert [events[-1]] == ends
    end, expected = ends[0], stream.expected
    if isinstance(end, Finish):
        got = end.reason
        assert (end.raw_reason or None) == (expected["finish_reason"] or None)
    else:
        got = "incomplete" if end.error.code == ErrorCode.STREAM_INCOMPLETE else "error"
    assert got in EITHER_IS_RIGHT.get(expected["finish"], {expected["finish"]})
    error = expected.get("error")
    if error:
        assert isinstance(end, ErrorEvent) or "or_complete" in expected["outcome"]
    if error and "message" in error and "message is better" not in stream.meta.get("policy", ""):
        assert isinstance(end, ErrorEvent)
        if stream.id != "error-ollama-html-line":  # any error will do for a web page
            assert error["message"] in end.error.message
    if expected.get("context_overflow"):
        assert isinstance(end, ErrorEvent)
        assert end.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
    check_usage(end, stream)


def check_usage(end: Finish | ErrorEvent, stream: RecordedStream) -> None:
    expected = stream.expected.get("usage")
    if not expected or not any(expected.values()) or end.usage is None:
        assert not (isinstance(end, Finish) and expected and any(expected.values()))
        return
    counts = (end.usage.prompt_tokens, end.usage.completion_tokens, end.usage.total_tokens)
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    assert counts == tuple(expected.get(name) for name in names)


def check_calls(events: list[ProviderEvent], stream: RecordedStream) -> None:
    calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
    expected = stream.expected["tool_calls"]
    if stream.expected["finish"] == "incomplete":
        assert calls == [], "no call of a cut answer is run"
        return
    if stream.expected["finish"] == "length":  # a call that the limit cut is not given at all
        expected = [call for call in expected if call["args"] is not None]
    assert [(call.name, call.args) for call in calls] == [(c["name"], c["args"]) for c in expected]
    assert [call.id for call in calls if call.id] == [
        c["id"] or call.id for c, call in zip(expected, calls, strict=True)
    ]
    assert len({call.id for call in calls}) == len(calls)
    for call, wanted in zip(calls, expected, strict=True):
        if "args_raw" in wanted:
            assert call.raw_args == wanted["args_raw"]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("stream", STREAMS, ids=stream_id)
def test_cuts_inside_characters_and_line_ends_change_nothing(stream: RecordedStream) -> None:
    body = stream.decoded_body
    whole = joined(decode(stream, [body]))
    offsets = stream.splits if body == stream.body else []
    assert joined(decode(stream, cut_at(body, offsets))) == whole
    if len(body) < 20_000:
        assert joined(decode(stream, one_by_one(body))) == whole


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_cutting_of_the_bytes_changes_the_joined_events(data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from(SMALL))
    body = stream.decoded_body
    assert joined(decode(stream, data.draw(cuts(body)))) == joined(decode(stream, [body]))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_cut_anywhere_is_reported_and_keeps_what_came(data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from([s for s in SMALL if s.expected["outcome"] == "complete"]))
    body = stream.decoded_body
    part = body[: data.draw(st.integers(0, len(body)))]
    events = decode(stream, [part])
    whole = joined(decode(stream, [body]))
    text, thinking, calls, end = joined(events)
    assert str(whole[1]).startswith(str(thinking).rstrip()) or not thinking
    if isinstance(end, ErrorEvent):
        assert calls == []
    else:
        assert isinstance(end, Finish)
        assert isinstance(whole[3], Finish)
        assert end.reason in {whole[3].reason, "stop"}
    assert str(whole[0]).startswith(str(text).rstrip("\ufffd")) or "<" in str(text)


@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_bytes_give_one_end_and_no_exception(data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from(SMALL))
    body = bytearray(stream.decoded_body)
    for _ in range(data.draw(st.integers(1, 8))):
        if body:
            at = data.draw(st.integers(0, len(body) - 1))
            body[at] = data.draw(st.integers(0, 255))
    events = decode(stream, [bytes(body)])
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert [events[-1]] == ends
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            event.delta.encode()
