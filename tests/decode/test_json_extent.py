import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.json_span import JsonExtent
from tests.support.cuts import cut_wholes, ways_to_cut

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
