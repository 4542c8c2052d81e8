"""Addresses in ordinary text: what belongs to them, and that finding them is linear."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.bare_links import bare_links


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in bare_links(text)]


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        ("(https://a.example/x)", ["https://a.example/x"]),
        ("https://a.example/x_(y)", ["https://a.example/x_(y)"]),
        ("(https://a.example/x_(y)).", ["https://a.example/x_(y)"]),
        ("[https://a.example]", ["https://a.example"]),
        ('"http://a.example/?q=1&b=2"', ["http://a.example/?q=1&b=2"]),
        ("http://a.example, http://b.example!", ["http://a.example", "http://b.example"]),
        ("HTTPS://A.EXAMPLE", ["HTTPS://A.EXAMPLE"]),
        ("write to mailto:ann@a.example;", ["mailto:ann@a.example"]),
        ("**https://a.example**", ["https://a.example"]),
        ("見よ「https://a.example/」。", ["https://a.example/"]),
        ("https://\u0430pple.example/", ["https://\u0430pple.example/"]),
        ("http://[::1]:80/x", ["http://[::1]:80/x"]),
        ("http://a\x1b]8;;x", ["http://a"]),
        ("\u241b]8;;http://a\u241b\\b", ["http://a"]),
        ("http://a\u27e6U+202E\u27e7b", ["http://a"]),
        ("http:// and https:/// and mailto: and mailto:ann", []),
        ("xhttp://a.example javascript://a.example file:///etc ftp://a.example", []),
    ],
)
def test_an_address_ends_where_the_sentence_goes_on(text: str, addresses: list[str]) -> None:
    assert found(text) == addresses


@given(
    st.lists(st.sampled_from(["https://", "mailto:", "a@b", ")", "(", ".", " ", "é", "\n", "]"]))
)
def test_what_is_found_is_one_word_in_its_place(parts: list[str]) -> None:
    text = "".join(parts)
    before = 0
    for start, end in bare_links(text):
        assert before <= start < end
        assert not text[start:end].split()[1:]
        assert text[start:end].lower().startswith(("https://", "mailto:"))
        before = end


@given(st.text(alphabet="ab/.()-", min_size=1))
def test_an_address_is_found_alone_as_well_as_in_a_sentence(path: str) -> None:
    alone = found(f"https://h.example/{path}")
    assert found(f"See https://h.example/{path}, please") == alone
    assert len(alone) == 1


@pytest.mark.parametrize("piece", ["http://a", "http://", ")", "https://a)", "mailto:", "h", "]("])
def test_any_length_is_taken_in_one_go(piece: str) -> None:
    text = "http://a.example/" + piece * 200_000
    assert len(found(text)) <= 1
