import json

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.json_span import JsonSpan, first_value
from tests.support.cuts import cuts
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
