import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.decode.lines import LineTooLong
from ollm_tui.decode.sse import MAX_STRAY_CHARS, ServerSentEvent, SSEDecoder
from tests.support.cuts import cut_wholes, cuts, one_by_one, ways_to_cut
from tests.support.strategies import JSON_OBJECTS

STREAMS = st.lists(
    st.sampled_from(
        [
            *(b"data:", b"data: ", b"event: x", b"id: 1", b"id:\0", b"retry: 10", b"error: e"),
            *(b"\n", b"\r", b"\r\n", b"\n\n", b"{}", b": ", "é\u2028".encode(), b"\xff", b":c"),
        ]
    ),
    max_size=25,
).map(b"".join)


def run(chunks: list[bytes], *, flush: bool = True) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish(flush=flush)


def data_of(body: bytes, *, flush: bool = True) -> list[tuple[str, str]]:
    return [(event.event, event.data) for event in run([body], flush=flush)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b"data:a\n\ndata: b\n\ndata:  c\n\n",
            [("message", "a"), ("message", "b"), ("message", " c")],
        ),
        (b"data: {\ndata: }\n\n", [("message", "{\n}")]),
        (b"event: ping\ndata: 1\n\ndata: 2\n\n", [("ping", "1"), ("message", "2")]),
        (b"event: ping\n\ndata: 2\n\n", [("message", "2")]),
        (b"data\n\n", [("message", "")]),
        (b"data:\n\n", [("message", "")]),
        (b"error: {}\n\n", [("error", "{}")]),
        (b"data: a\nerror: b\nerror: c\n\n", [("message", "a"), ("error", "b\nc")]),
        (b": ping\n\n:\n\n", []),
        ("data: a\u2028b\u0085c\n\n".encode(), [("message", "a\u2028b\u0085c")]),
    ],
)
def test_blocks_become_events(body: bytes, expected: list[tuple[str, str]]) -> None:
    for chunks in ways_to_cut(body):
        assert [(event.event, event.data) for event in run(chunks)] == expected


def test_the_last_event_is_flushed_and_marked_when_its_blank_line_is_missing() -> None:
    assert run([b"data: a\n\nevent: b\ndata: c"]) == [
        ServerSentEvent(data="a"),
        ServerSentEvent(event="b", data="c", complete=False),
    ]
    assert data_of(b"data: a\n\ndata: c\n", flush=False) == [("message", "a")]


def test_ids_last_until_the_next_id_and_null_ids_are_ignored() -> None:
    events = run([b"id: 7\ndata: a\n\nid: \x00\ndata: b\n\nid\ndata: c\n\n"])
    assert [event.id for event in events] == ["7", "7", ""]


@pytest.mark.parametrize("value", ["", "1x", "-1", "\u0661", "1.5", "9" * 5000])
def test_a_retry_that_is_no_plain_number_is_ignored(value: str) -> None:
    decoder = SSEDecoder()
    decoder.feed(f"retry: 1000\nretry: {value}\n".encode())
    assert decoder.retry == 1000


def test_comments_are_counted_and_are_no_events() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b": ping\n\n:\n\n: OPENROUTER PROCESSING\n\n") == []
    assert decoder.comments == 3


def test_an_event_is_given_out_by_the_first_byte_that_completes_it() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: a\r\n") == []
    assert decoder.feed(b"\r") == [ServerSentEvent(data="a")]
    assert decoder.feed(b"\n") == []


@pytest.mark.parametrize(
    "body", ['{"error": {"message": "overflow"}}', '{\n  "error": "x"\n}', "<html>\n<p>Sign in</p>"]
)
def test_text_without_known_fields_is_kept_for_the_caller(body: str) -> None:
    for chunks in ways_to_cut(body.encode()):
        decoder = SSEDecoder()
        for chunk in chunks:
            assert decoder.feed(chunk) == []
        assert decoder.finish() == []
        assert decoder.stray == body


def test_stray_text_is_bounded() -> None:
    decoder = SSEDecoder()
    for _ in range(100):
        decoder.feed(b"x" * 5000 + b"\n")
    assert len(decoder.stray) == MAX_STRAY_CHARS


def test_an_event_of_many_lines_over_the_limit_is_an_error_after_the_events_before_it() -> None:
    decoder = SSEDecoder(limit=20)
    body = b"data: first\n\n" + b"data: 12345678\n" * 3
    assert decoder.feed(body) == [ServerSentEvent(data="first")]
    with pytest.raises(LineTooLong, match="event longer than 20"):
        decoder.feed(b"\n")
    with pytest.raises(LineTooLong):
        decoder.finish()


@given(case=cut_wholes(STREAMS))
def test_chunk_borders_never_change_the_events(case: tuple[bytes, list[bytes]]) -> None:
    whole, chunks = case
    assert run(chunks) == run([whole]) == run(one_by_one(whole))


@given(data=st.text(alphabet=st.characters(exclude_characters="\r\n", codec="utf-8")))
def test_any_text_travels_unchanged_in_data(data: str) -> None:
    assert data_of(f"data: {data}\n\n".encode()) == [("message", data)]


LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
NOISE = st.lists(
    st.sampled_from([": ping", ":", "retry: 100", "id: 7", "event: delta", "unknown: x"]),
    max_size=3,
)


@st.composite
def events(draw: st.DrawFn) -> tuple[str, bytes]:
    """The JSON text of an object, and one of the ways to send it as an event."""
    written = json.dumps(
        draw(JSON_OBJECTS),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 2])),
    )
    space = draw(st.sampled_from(["", " "]))
    # One blank after the colon is no part of the value, so a value that begins with one needs it.
    lines = [f"data:{space or ' ' * line.startswith(' ')}{line}" for line in written.split("\n")]
    fields = [*draw(NOISE), *lines, *draw(NOISE), "", ""]
    return written, draw(LINE_ENDS).join(fields).encode("utf-8")


CHUNKED_STREAMS = st.lists(events(), max_size=6)


# Feature: stage-11-vllm-openai, Property 2: SSE Stream Parsing Correctness
@settings(max_examples=100)
@given(stream=CHUNKED_STREAMS)
def test_every_object_of_a_stream_is_read_in_order(
    stream: Sequence[tuple[str, bytes]],
) -> None:
    decoder = SSEDecoder()
    read = decoder.feed(b"".join(body for _, body in stream)) + decoder.finish()
    assert [event.data for event in read] == [text for text, _ in stream]
    assert all(isinstance(json.loads(event.data), dict) for event in read)


# Feature: stage-11-vllm-openai, Property 5: SSE Partial Chunk Buffering
@settings(max_examples=100)
@given(stream=CHUNKED_STREAMS, data=st.data())
def test_an_event_comes_with_its_last_byte_and_never_before(
    stream: Sequence[tuple[str, bytes]], data: st.DataObject
) -> None:
    decoder, arrived, read = SSEDecoder(), 0, 0
    ends = [sum(len(body) for _, body in stream[: n + 1]) for n in range(len(stream))]
    # A stream that ends its lines with CR and LF is understood at the CR of the blank line.
    early = [end - body.endswith(b"\r\n") for end, (_, body) in zip(ends, stream, strict=True)]
    for chunk in data.draw(cuts(b"".join(body for _, body in stream))):
        arrived += len(chunk)
        got = decoder.feed(chunk)
        whole = [text for text, _ in stream[read : read + len(got)]]
        assert [event.data for event in got] == whole
        read += len(got)
        assert read == sum(end <= arrived for end in early)
    assert decoder.finish() == []
