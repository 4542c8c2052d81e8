from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.lines import BadLine, NDJSONDecoder, NDJSONItem
from tests.support.cuts import cut_wholes, ways_to_cut

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


def run(chunks: list[bytes]) -> list[NDJSONItem]:
    decoder = NDJSONDecoder()
    items = [item for chunk in chunks for item in decoder.feed(chunk)]
    return items + decoder.finish()


def test_lines_become_objects_and_blank_lines_nothing() -> None:
    body = b'\xef\xbb\xbf{"a": 1}\r\n\n  \t\n{"b": "x\xe2\x80\xa8y"}\n{"c": null}'
    for chunks in ways_to_cut(body):
        assert run(chunks) == [{"a": 1}, {"b": "x\u2028y"}, {"c": None}]


def test_what_is_no_object_is_a_bad_line_with_its_text() -> None:
    found = run([b'{"a":1}\n<html>\n[1]\nnull\n{"b":NaN}\n{"c":2}\n'])
    bad = [item for item in found if isinstance(item, BadLine)]
    assert [item.text for item in bad] == ["<html>", "[1]", "null", '{"b":NaN}']
    assert all(item.reason and item.complete for item in bad)
    assert found[0] == {"a": 1}
    assert found[-1] == {"c": 2}


def test_a_last_line_that_was_cut_is_marked() -> None:
    last = run([b'{"a":1}\n{"b":'])[-1]
    assert isinstance(last, BadLine)
    assert not last.complete


def test_two_objects_on_one_line_are_both_given_out() -> None:
    assert run([b'{"a":1}{"b":2} {"c":3}\n']) == [{"a": 1}, {"b": 2}, {"c": 3}]


def test_an_object_with_rubbish_behind_it_is_a_bad_line() -> None:
    assert [type(item) for item in run([b'{"a":1}#\n{"a":1},{"b":2}\n'])] == [BadLine, BadLine]


def test_a_thousand_objects_in_one_chunk_are_all_given_out() -> None:
    body = b"".join(b'{"n":%d}\n' % number for number in range(1000))
    assert run([body]) == [{"n": number} for number in range(1000)]


@given(case=cut_wholes(STREAMS))
def test_chunk_borders_never_change_the_objects(case: tuple[bytes, list[bytes]]) -> None:
    whole, chunks = case
    assert run(chunks) == run([whole])
