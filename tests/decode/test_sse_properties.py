"""Numbered properties of event streams, with streams made by the rules of the WHATWG standard."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.sse import SSEDecoder
from tests.support.cuts import cuts
from tests.support.strategies import JSON_OBJECTS

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


STREAMS = st.lists(events(), max_size=6)


# Feature: stage-11-vllm-openai, Property 2: SSE Stream Parsing Correctness
@given(stream=STREAMS)
def test_every_object_of_a_stream_is_read_in_order(
    stream: Sequence[tuple[str, bytes]],
) -> None:
    decoder = SSEDecoder()
    read = decoder.feed(b"".join(body for _, body in stream)) + decoder.finish()
    assert [event.data for event in read] == [text for text, _ in stream]
    assert all(isinstance(json.loads(event.data), dict) for event in read)


# Feature: stage-11-vllm-openai, Property 5: SSE Partial Chunk Buffering
@given(stream=STREAMS, data=st.data())
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
