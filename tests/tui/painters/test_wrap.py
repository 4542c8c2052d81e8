import itertools
from time import monotonic

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.style import Style

from ollm_tui.tui.painters.plain import GrowingText, plain_rows
from ollm_tui.tui.painters.rows import Row, row_cells
from ollm_tui.tui.painters.wrapping import wrap_spans

TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab  \n-"),
        st.sampled_from("日本語e\u0301👩\u200d🚀\ufe0f🇩🇪é—"),
    ),
    max_size=300,
)


def texts(rows: list[Row]) -> list[str]:
    return [row.text for row in rows]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 8, ["one two", "three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("a  b", 2, ["a", "b"]),
        ("", 5, [""]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("日本語テキスト", 6, ["日本語", "テキス", "ト"]),
        ("ab 日本語", 6, ["ab 日", "本語"]),
        ("日本abc", 6, ["日本", "abc"]),
        ("e\u0301e\u0301e\u0301", 2, ["e\u0301e\u0301", "e\u0301"]),
        ("👩\u200d🚀👩\u200d🚀", 2, ["👩\u200d🚀", "👩\u200d🚀"]),
    ],
)
def test_text_breaks_at_words_and_between_graphemes(
    text: str, width: int, expected: list[str]
) -> None:
    assert texts(list(plain_rows(text, width, Style()))) == expected


@given(text=TEXT, width=st.integers(2, 30))
def test_every_row_fits_and_joined_rows_give_the_text_again(text: str, width: int) -> None:
    rows = list(plain_rows(text, width, Style()))
    assert all(row_cells(row.segments) <= width for row in rows)
    lines: list[str] = []
    for row in rows:
        if row.join is None:
            lines.append(row.text)
        else:
            lines[-1] += row.join + row.text
    assert [line.rstrip(" ") for line in lines] == [line.rstrip(" ") for line in text.split("\n")]


@example(text="one two three four", width=5, cuts=[6, 10, 15])
@given(text=TEXT, width=st.integers(2, 30), cuts=st.lists(st.integers(0, 300), max_size=20))
def test_growing_text_ends_like_the_whole_text(text: str, width: int, cuts: list[int]) -> None:
    growing = GrowingText(width, Style())
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    for start, end in itertools.pairwise(places):
        growing.grow(text[start:end])
        growing.work(monotonic() + 1)
    whole = list(plain_rows(text, width, Style())) if text else []
    assert [(row.text, row.join) for row in growing.rows] == [(row.text, row.join) for row in whole]


@given(parts=st.lists(TEXT, max_size=5), width=st.integers(2, 30))
def test_styled_spans_break_where_the_plain_text_does(parts: list[str], width: int) -> None:
    parts = [part.replace("\n", " ") for part in parts]
    styles = [Style(bold=True), Style(italic=True)]
    spans = [(part, styles[number % 2]) for number, part in enumerate(parts)]
    rows = ["".join(s.text for s in segments) for segments, _ in wrap_spans(spans, width)]
    assert rows == texts(list(plain_rows("".join(parts), width, Style())))


def test_a_million_characters_are_wrapped_once() -> None:
    growing = GrowingText(100, Style())
    for _ in range(1000):
        growing.grow("x" * 1000)
        growing.work(monotonic() + 1)
    assert len(growing.rows) == 10_000
    assert growing.wrapped_chars < 1_200_000


@pytest.mark.parametrize("text", ["a" + "\u0301" * 50_000, "👩\u200d" * 20_000])
def test_rows_of_characters_without_width_stay_short(text: str) -> None:
    rows = list(plain_rows(text, 80, Style()))
    assert max(len(row.text) for row in rows) <= 4 * 80 + 64
    assert "".join(row.text for row in rows) == text
