"""Where the name of a file is being written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.composer.completions import file_query


@pytest.mark.parametrize(
    ("draft", "name"),
    [
        ("@|", ""),
        ("@ca|", "ca"),
        ("see @sub/ca|", "sub/ca"),
        ("one\n(@ca|) two", "ca"),
        ("@ca|t.png", "ca"),
        ("me@home|", None),
        ("@cat is|", None),
        ("a | @cat", None),
        ("/set @x|", None),
        ("/attach my do|", "my do"),
        ("/attach|", None),
        ("@" + "x" * 300 + "|", None),
        ("plain|", None),
    ],
)
def test_a_name_is_found_at_the_cursor(draft: str, name: str | None) -> None:
    cursor = draft.index("|")
    query = file_query(draft.replace("|", ""), cursor)
    assert (None if query is None else query.text) == name


@given(draft=st.text(st.sampled_from("@ /a\n."), max_size=20), cursor=st.integers(0, 20))
def test_a_name_stands_where_its_place_is_given(draft: str, cursor: int) -> None:
    query = file_query(draft, min(cursor, len(draft)))
    if query is not None:
        assert draft[query.start :].startswith(query.text)
        assert not query.is_mention or draft[query.start - 1] == "@"
