import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.lines import (
    BadLine,
    LineDecoder,
    LineMode,
    LineTooLong,
    NDJSONDecoder,
    NDJSONItem,
)
from tests.support.cuts import cut_wholes, ways_to_cut

BYTES = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r", b"\r\n", "é€🧠".encode(), b"\xe2\x82", b"\xff", b"\xef\xbb\xbf"]
    )
    | st.binary(max_size=6),
    max_size=20,
).map(b"".join)


def run(chunks: list[bytes], mode: LineMode, limit: int = 1 << 20) -> list[str]:
    decoder = LineDecoder(mode, limit=limit)
    lines: list[str] = []
    try:
        for chunk in chunks:
            lines += decoder.feed(chunk)
        lines += decoder.finish()
    except LineTooLong:
        lines.append("too long")
    return lines


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"a\nb\r\nc\rd", ["a", "b", "c", "d"]),
        (b"a\r\r\n\n\r", ["a", "", "", ""]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
        ("a\u2028b\u0085c\x0bd\x0ce\u2029\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\u2029"]),
        ("é€🧠\n".encode(), ["é€🧠"]),
        (b"\xe2\x82\nx\xffy\n", ["\ufffd", "x\ufffdy"]),
        (b"", []),
        (b"\n", [""]),
    ],
)
def test_event_stream_lines_end_at_lf_crlf_and_cr_only(body: bytes, expected: list[str]) -> None:
    for chunks in ways_to_cut(body):
        assert run(chunks, LineMode.EVENT_STREAM) == expected


def test_ndjson_lines_end_at_lf_only() -> None:
    for chunks in ways_to_cut(b"a\rb\r\nc\n"):
        assert run(chunks, LineMode.NDJSON) == ["a\rb\r", "c"]


def test_a_line_ended_by_cr_is_given_out_before_the_lf_arrives() -> None:
    decoder = LineDecoder(LineMode.EVENT_STREAM)
    assert decoder.feed(b"a\r") == ["a"]
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\nb\n") == ["b"]


@pytest.mark.parametrize("mode", LineMode)
@given(case=cut_wholes(BYTES))
def test_chunk_borders_never_change_the_lines(
    mode: LineMode, case: tuple[bytes, list[bytes]]
) -> None:
    whole, chunks = case
    assert run(chunks, mode) == run([whole], mode)


@given(body=BYTES)
def test_lines_hold_the_text_that_decoding_the_whole_body_gives(body: bytes) -> None:
    text = body.decode("utf-8", errors="replace").removeprefix("\ufeff")
    expected = text.split("\n")
    assert run([body], LineMode.NDJSON) == (expected if expected[-1] else expected[:-1])


@given(case=cut_wholes(BYTES))
def test_the_limit_acts_at_the_same_line_however_the_body_is_cut(
    case: tuple[bytes, list[bytes]],
) -> None:
    whole, chunks = case
    assert run(chunks, LineMode.EVENT_STREAM, 5) == run([whole], LineMode.EVENT_STREAM, 5)


def test_a_line_over_the_limit_is_an_error_after_the_lines_before_it() -> None:
    decoder = LineDecoder(LineMode.NDJSON, limit=4)
    assert decoder.feed(b"four\nfives") == ["four"]
    with pytest.raises(LineTooLong, match="longer than 4 bytes"):
        decoder.feed(b"\n")
    with pytest.raises(LineTooLong):
        decoder.finish()


def test_an_over_long_line_without_end_is_dropped_from_memory() -> None:
    decoder = LineDecoder(LineMode.NDJSON, limit=1000)
    with pytest.raises(LineTooLong):
        for _ in range(2000):
            decoder.feed(b"x")
    with pytest.raises(LineTooLong):
        decoder.feed(b"x")


STREAMS = st.lists(
    st.sampled_from(
        [
            b'{"a":1}',
            b'{"a":"\xc3\xa9"}',
            b"{",
            b"}",
            b'"',
            b"\n",
            b"\r\n",
            b" ",
            b"NaN",
            b"[]",
            b"\xff",
        ]
    ),
    max_size=25,
).map(b"".join)


def decoded(chunks: list[bytes]) -> list[NDJSONItem]:
    decoder = NDJSONDecoder()
    items = [item for chunk in chunks for item in decoder.feed(chunk)]
    return items + decoder.finish()


def test_lines_become_objects_and_blank_lines_nothing() -> None:
    body = b'\xef\xbb\xbf{"a": 1}\r\n\n  \t\n{"b": "x\xe2\x80\xa8y"}\n{"c": null}'
    for chunks in ways_to_cut(body):
        assert decoded(chunks) == [{"a": 1}, {"b": "x\u2028y"}, {"c": None}]


def test_what_is_no_object_is_a_bad_line_with_its_text() -> None:
    found = decoded([b'{"a":1}\n<html>\n[1]\nnull\n{"b":NaN}\n{"c":2}\n'])
    bad = [item for item in found if isinstance(item, BadLine)]
    assert [item.text for item in bad] == ["<html>", "[1]", "null", '{"b":NaN}']
    assert all(item.reason and item.complete for item in bad)
    assert found[0] == {"a": 1}
    assert found[-1] == {"c": 2}


def test_a_last_line_that_was_cut_is_marked() -> None:
    last = decoded([b'{"a":1}\n{"b":'])[-1]
    assert isinstance(last, BadLine)
    assert not last.complete


def test_two_objects_on_one_line_are_both_given_out() -> None:
    assert decoded([b'{"a":1}{"b":2} {"c":3}\n']) == [{"a": 1}, {"b": 2}, {"c": 3}]


def test_an_object_with_rubbish_behind_it_is_a_bad_line() -> None:
    assert [type(item) for item in decoded([b'{"a":1}#\n{"a":1},{"b":2}\n'])] == [BadLine, BadLine]


def test_a_thousand_objects_in_one_chunk_are_all_given_out() -> None:
    body = b"".join(b'{"n":%d}\n' % number for number in range(1000))
    assert decoded([body]) == [{"n": number} for number in range(1000)]


@given(case=cut_wholes(STREAMS))
def test_chunk_borders_never_change_the_objects(case: tuple[bytes, list[bytes]]) -> None:
    whole, chunks = case
    assert decoded(chunks) == decoded([whole])
