"""Any text is a search, and it finds what reading all messages finds."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.store.search.lookup import fts_expression
from ollm_tui.store.search.query import SearchQuery, parse_query
from ollm_tui.store.search.words import Term, has_terms, indexed_text, snippet
from tests.store.search.rig import plain_words
from tests.support.seeds import in_parts

LETTERS = st.sampled_from("aAäÄbcß19_-. \n\"*'()^:+~{}é")
TEXTS = st.text(LETTERS, max_size=40)
SEARCHES = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            ["AND", "OR", "NOT", "NEAR(", ")", '"', "a*", "*", "^a", "role:", "role:x", "ä b",
             "before:", "after:2026-13", "before:9999-12-31", "model:\"", "{a}:", "--", "\0"]
        ),
        max_size=8,
    ).map(" ".join),
)  # fmt: skip


@pytest.fixture(scope="module")
def words() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5"
            " (text, tokenize='unicode61 remove_diacritics 0', prefix='2 3')"
        )
        yield connection


def fts_matches(words: sqlite3.Connection, text: str, query: SearchQuery) -> bool:
    words.execute("DELETE FROM words")
    words.execute("INSERT INTO words VALUES (?)", (indexed_text(text),))
    statement = "SELECT 1 FROM words WHERE words MATCH ?"
    return words.execute(statement, (fts_expression(query),)).fetchone() is not None


@in_parts(50)
@given(text=SEARCHES, is_typing=st.booleans())
def test_any_text_is_a_search_that_fts5_accepts(
    words: sqlite3.Connection, part: int, text: str, is_typing: bool
) -> None:
    query = parse_query(text, is_typing=is_typing)
    if query.terms:
        fts_matches(words, "a b", query)
    snippet("ä b " * 100, query.terms)


@given(TEXTS, TEXTS, st.booleans())
def test_words_are_matched_as_a_reader_would(
    words: sqlite3.Connection, text: str, wanted: str, is_typing: bool
) -> None:
    query = parse_query(
        wanted.replace('"', "").replace("*", "").replace(":", ""), is_typing=is_typing
    )
    plain = plain_words(text)
    expected = all(occurs(term, plain) for term in query.terms)
    assert has_terms(text, query.terms) == expected
    if query.terms:
        assert fts_matches(words, text, query) == expected
        assert bool(snippet(text, query.terms, length=1000).marks) == any(
            occurs(term, plain) for term in query.terms
        )


def occurs(term: Term, words: list[str]) -> bool:
    wanted, count = list(term.words), len(term.words)
    for start in range(len(words) - count + 1):
        some = words[start : start + count]
        is_begun = term.is_prefix and some[:-1] == wanted[:-1] and some[-1].startswith(wanted[-1])
        if some == wanted or is_begun:
            return True
    return False


def test_facts_are_told_from_words() -> None:
    text = 'crème "big cats" sea* role:us model:"Llama 3" after:2026-03 before:2026-04-02 foo-bar'
    query = parse_query(text, zone=UTC)
    assert query.terms == (
        Term(("creme",)),
        Term(("big", "cats")),
        Term(("sea",), is_prefix=True),
        Term(("foo", "bar")),
    )
    assert (query.roles, query.models) == (("user",), ("llama 3",))
    assert (query.after_ms, query.before_ms) == (1772323200000, 1775088000000)
    assert query.notes == ()


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("role:cook", "No role 'cook'. Available: user, assistant, system, tool."),
        ("after:soon", "after:soon is not a date. Write it as after:2026-03-31."),
        ("before:2026-02-30", "before:2026-02-30 is not a date. Write it as before:2026-03-31."),
    ],
)
def test_a_fact_that_makes_no_sense_is_noted(text: str, note: str) -> None:
    assert parse_query(text).notes == (note,)
    assert parse_query(text).is_empty


def test_a_word_that_is_being_typed_is_the_beginning_of_one() -> None:
    assert parse_query("big ca", is_typing=True).terms[-1] == Term(("ca",), is_prefix=True)
    assert parse_query("big ca ", is_typing=True).terms[-1] == Term(("ca",))
    assert parse_query("big c", is_typing=True).terms[-1] == Term(("c",))
    assert parse_query('"big ca', is_typing=True).terms == (Term(("big", "ca")),)


def test_characters_of_scripts_without_spaces_are_words(words: sqlite3.Connection) -> None:
    query = parse_query("中文")
    assert has_terms("我们学习中文字。", query.terms)
    assert fts_matches(words, "我们学习中文字。", query)
    assert not fts_matches(words, "我们学习文中字。", query)
    shown = snippet("我们学习中文字。", query.terms)
    assert [shown.text[start:end] for start, end in shown.marks] == ["中文"]


def test_a_snippet_is_one_line_around_the_first_match_with_all_matches_marked() -> None:
    text = "word " * 100 + "the\n\n  Crème\nBRÛLÉE, a creme brulee " + "more " * 100
    shown = snippet(text, parse_query('"creme brulee"').terms, length=60)
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert "\n" not in shown.text
    assert len(shown.text) < 100
    assert [shown.text[start:end] for start, end in shown.marks] == ["Crème BRÛLÉE", "creme brulee"]
