"""What is written of a page or a search is read again, and nothing else is taken for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.clean import clean_line
from ollm_tui.web.shown import SearchResult, ShownPage, ShownSearch, read_page, read_search

FACTS = "200 · 1,234 characters of text · text/html · 5 kB in 0.1 s"
PAGE = ShownPage("Rain", "https://example.org/rain", FACTS, ("Stopped: over 10 MB.",), "It rains.")
LINES = st.text(max_size=40).map(lambda text: " ".join(clean_line(text).split()))


@given(LINES, st.lists(LINES.filter(bool), max_size=3), st.text(max_size=300))
def test_a_page_is_read_as_it_was_written(title: str, notes: list[str], text: str) -> None:
    page = ShownPage(title, "https://example.org/", FACTS, tuple(notes), text)
    assert read_page(page.written()) == page


@given(st.lists(st.builds(SearchResult, LINES, st.just("http://a.b/?q=1"), LINES), min_size=1))
def test_a_search_is_read_as_it_was_written(results: list[SearchResult]) -> None:
    search = ShownSearch("searx.example", results[:10])
    assert read_search(search.written()) == search


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It rains.",
        "Nothing was found.",
        "The search failed. The server answered with status 500.",
        PAGE.written().replace("https://", "javascript:"),
        PAGE.written().replace("200 · ", ""),
        PAGE.written().split("\n\n")[0],
        "1 result from here\n\n2. Rain\nhttps://example.org/",
        "1 result from here\n\n1. Rain\nfile:///etc/passwd",
        "1 result from here\n\n1. Rain\nhttps://example.org/\nsnippet\nfourth",
        "1 result from here",
    ],
)
def test_other_text_is_neither(text: str) -> None:
    assert (read_page(text), read_search(text)) == (None, None)
