"""Numbered properties of answers as they come over the wire."""

import json
from collections.abc import Callable, Sequence

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.protocol.errors import AIError, ErrorCode
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
from tests.support.cuts import cuts
from tests.support.strategies import JSON_OBJECTS

ENDPOINT = Endpoint("p", "Server", "localhost:1", "Start it.")
# Tags begin with these characters, which are held back until it is clear that none does.
WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="<["), min_size=1)
SPOKEN = WORDS.filter(str.strip)  # leading blanks may belong to reasoning tags that follow
PIECES = st.lists(st.tuples(st.sampled_from(["text", "thinking"]), SPOKEN), max_size=8)
CALLS = st.lists(JSON_OBJECTS.filter(lambda v: "Infinity" not in json.dumps(v)), max_size=3)
KINDS = st.sampled_from([OllamaDecoder, OpenAIDecoder, AnthropicDecoder])
Kind = type[OllamaDecoder] | type[OpenAIDecoder] | type[AnthropicDecoder]
Pieces = Sequence[tuple[str, str]]


def ollama_line(piece: tuple[str, str]) -> bytes:
    key = "content" if piece[0] == "text" else "thinking"
    return json.dumps({"message": {"role": "assistant", key: piece[1]}}).encode() + b"\n"


def openai_event(piece: tuple[str, str]) -> bytes:
    key = "content" if piece[0] == "text" else "reasoning_content"
    return sse(json.dumps({"choices": [{"index": 0, "delta": {key: piece[1]}}]}))


def anthropic_events(piece: tuple[str, str]) -> bytes:
    kind, text = piece
    block = {"type": kind, kind: ""}
    delta = {"type": f"{kind}_delta", kind: text}
    return sse(json.dumps({"type": "content_block_start", "index": 0, "content_block": block})) + (
        sse(json.dumps({"type": "content_block_delta", "index": 0, "delta": delta}))
    )


def sse(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def written(kind: Kind, pieces: Pieces) -> list[bytes]:
    return [WRITERS[kind](piece) for piece in pieces]


WRITERS: dict[Kind, Callable[[tuple[str, str]], bytes]] = {
    OllamaDecoder: ollama_line,
    OpenAIDecoder: openai_event,
    AnthropicDecoder: anthropic_events,
}


def decoder_of(kind: Kind) -> AnswerDecoder:
    return AnthropicDecoder(ENDPOINT, "p://m") if kind is AnthropicDecoder else kind(ENDPOINT)  # type: ignore[call-arg]


OLLAMA_END = b'{"message": {"content": ""}, "done": true, "done_reason": "stop"}\n'
STOP = sse('{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}')
DONE = sse("[DONE]")


def fed(decoder: AnswerDecoder, chunks: Sequence[bytes]) -> list[ProviderEvent]:
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def joined(events: Sequence[ProviderEvent]) -> list[tuple[str, str]]:
    """Join neighbours of one kind: how an answer is cut into deltas means nothing."""
    found: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            add(found, "text" if isinstance(event, TextDelta) else "thinking", event.delta)
    return found


def add(found: list[tuple[str, str]], kind: str, delta: str) -> None:
    if found and found[-1][0] == kind:
        found[-1] = (kind, found[-1][1] + delta)
    else:
        found.append((kind, delta))


def meant(pieces: Pieces) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for kind, delta in pieces:
        add(found, kind, delta)
    return found


# Feature: stage-02-core-provider, Property 15: Local Provider Event Streaming
@settings(max_examples=100)
@given(pieces=PIECES, calls=CALLS, data=st.data())
def test_each_chunk_of_ollama_with_content_is_an_event(
    pieces: Pieces, calls: Sequence[dict[str, object]], data: st.DataObject
) -> None:
    decoder = OllamaDecoder(ENDPOINT)
    one_by_one = [decoder.feed(line) for line in map(ollama_line, pieces)]
    assert [len(events) for events in one_by_one] == [1] * len(pieces)
    functions = [{"function": {"name": "f", "arguments": args}} for args in calls]
    called = json.dumps({"message": {"content": "", "tool_calls": functions}}).encode() + b"\n"
    body = b"".join(map(ollama_line, pieces)) + called + OLLAMA_END
    events = fed(OllamaDecoder(ENDPOINT), data.draw(cuts(body)))
    assert joined(events) == joined([e for es in one_by_one for e in es]) == meant(pieces)
    assert [e.call.args for e in events if isinstance(e, ToolCallEvent)] == list(calls)
    assert isinstance(events[-1], Finish)


# Feature: stage-11-vllm-openai, Property 3: SSE Stream Termination
@settings(max_examples=100)
@given(before=PIECES, after=PIECES, data=st.data(), at_end=st.booleans())
def test_nothing_is_read_after_done(
    before: Pieces, after: Pieces, data: st.DataObject, at_end: bool
) -> None:
    body = b"".join(written(OpenAIDecoder, before)) + STOP + DONE
    rest = b"".join(written(OpenAIDecoder, after)) + b"data: {oops\n\n" + STOP
    decoder = OpenAIDecoder(ENDPOINT)
    if at_end:  # the end and what follows in one piece, or cut anywhere
        events = decoder.feed(body + rest)
    else:
        events = fed(decoder, data.draw(cuts(body)))
        assert decoder.ended
        events += fed(decoder, data.draw(cuts(rest)))
    assert joined(events) == meant(before)
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert ends == [events[-1]]
    assert isinstance(events[-1], Finish)
    assert decoder.feed(rest) == decoder.finish() == []


def is_json(text: str) -> bool:
    try:
        parse_json(text)
    except BadJson:
        return False
    return True


MALFORMED = st.one_of(
    st.sampled_from(["{", '{"choices": [', "{'a': 1}", "<html>", "[DONE", "undefined", "{}}"]),
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1),
).filter(lambda text: text.strip() not in ("", "[DONE]") and not is_json(text.strip()))


# Feature: stage-11-vllm-openai, Property 4: SSE Malformed JSON Resilience
@settings(max_examples=100)
@given(pieces=PIECES.filter(bool), bad=st.lists(MALFORMED, min_size=1, max_size=4), data=st.data())
def test_malformed_lines_are_passed_over(
    pieces: Pieces, bad: Sequence[str], data: st.DataObject
) -> None:
    lines = written(OpenAIDecoder, pieces)
    for text in bad:
        lines.insert(data.draw(st.integers(0, len(lines))), sse(text))
    events = fed(OpenAIDecoder(ENDPOINT), data.draw(cuts(b"".join([*lines, STOP, DONE]))))
    assert joined(events) == meant(pieces)
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "stop"


FAULTS = st.sampled_from(["reported", "unended", "broken off"])


# Feature: stage-11-vllm-openai, Property 21: Mid-Stream Error Handling
@settings(max_examples=100)
@given(kind=KINDS, pieces=PIECES.filter(bool), fault=FAULTS, sentence=SPOKEN, data=st.data())
def test_a_failure_in_mid_stream_comes_after_all_that_was_received(
    kind: Kind, pieces: Pieces, fault: str, sentence: str, data: st.DataObject
) -> None:
    assume(sentence.isprintable())
    decoder, body = decoder_of(kind), b"".join(written(kind, pieces))
    report = json.dumps({"error": {"message": sentence}})
    failure = report.encode() + b"\n" if kind is OllamaDecoder else sse(report)
    events = fed(decoder, data.draw(cuts(body + (failure if fault == "reported" else b""))))
    if fault == "broken off":
        events += decoder.fail(AIError(ErrorCode.STREAM_INCOMPLETE, "Cut."))
    events += decoder.finish()
    assert joined(events) == meant(pieces)
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert ends == [events[-1]]
    end = ends[0]
    assert isinstance(end, ErrorEvent)
    assert end.error.message
    assert not end.error.retryable
    if fault == "reported":
        assert sentence.strip()[:20] in end.error.message
    else:
        assert end.error.code == ErrorCode.STREAM_INCOMPLETE
