import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.json_span import JsonExtent, JsonSpan, first_value
from tests.support.cuts import cut_wholes, cuts, ways_to_cut
from tests.support.strategies import JSON_OBJECTS


def end_of(chunks: list[str]) -> int:
    span = JsonSpan()
    return sum(span.feed(chunk) for chunk in chunks)


@given(value=JSON_OBJECTS | st.lists(st.text()), rest=st.text(alphabet='{}[]"a\\'), data=st.data())
def test_a_value_ends_at_the_same_place_however_it_is_cut(
    value: object, rest: str, data: st.DataObject
) -> None:
    written = json.dumps(value)
    assert first_value(written + rest) == written
    assert end_of(data.draw(cuts(written + rest))) == len(written)
    assert first_value(written[:-1]) is None


def test_an_escaped_quote_at_a_cut_does_not_end_a_string() -> None:
    span = JsonSpan()
    assert span.feed('{"a\\') == 4
    assert span.feed("") == 0
    assert span.feed('"}') == 2
    assert span.in_string
    assert span.feed('"} {') == 2
    assert span.closed
    assert span.feed("{}") == 0


def test_only_a_part_of_a_text_is_followed() -> None:
    span = JsonSpan()
    assert span.feed('}{"\\"}', 1, 4) == 4
    assert span.in_string
    assert span.feed('"}', 0) == 2
    assert span.in_string


OBJECTS = st.dictionaries(
    st.text('a"\\{}[]', max_size=4),
    st.lists(st.text('a"\\{}[]', max_size=4), max_size=3),
    max_size=3,
).map(json.dumps)


def is_closed(chunks: list[str]) -> bool:
    extent = JsonExtent()
    for chunk in chunks:
        extent.feed(chunk)
    return extent.closed


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", False),
        ("{}", True),
        (' {"a": [1, {"b": 2}]} ', True),
        ('{"a": [1', False),
        ('{"}', False),
        (r'{"\"}', False),
        (r'{"\\"}', True),
        ('{"a": "}"', False),
        ("}", False),
        ('": "a}', False),
        ('{"p": }, "t": "a', False),
        ('{"p": }, "t": "a {}', False),
    ],
)
def test_an_object_is_closed_when_all_its_brackets_are(text: str, closed: bool) -> None:
    for chunks in ways_to_cut(text):
        assert is_closed(chunks) is closed


@given(case=cut_wholes(OBJECTS))
def test_every_whole_object_is_closed_and_no_beginning_is(case: tuple[str, list[str]]) -> None:
    whole, chunks = case
    assert is_closed(chunks)
    assert not is_closed([whole[:-1]])
