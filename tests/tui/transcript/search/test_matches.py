"""Matches in painted rows are those of a naive search through the lines before wrapping."""

import unicodedata
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.painter import Painter
from ollm_tui.tui.painters.rows import Canvas, Palette, Row
from ollm_tui.tui.transcript.search import matches
from ollm_tui.tui.transcript.search.matches import Letters, Matches, Needle, folded, search_rows
from tests.tui.painters.painting import looks, paint, rows, settle, texts

Cell = tuple[int, int]
"""A row, and a code point in it."""

WORDS = st.lists(
    st.sampled_from(
        ["sky", "Sky", "blue", "a", "aa", "日本", "e\u0301", "ﬁ", "**", "`", " ", "  ", "\n",
         "\n\n", "- ", "> ", "| a | b |\n|---|---|\n| sky | blue |\n", "```\ncode  sky\n```\n"]
    ),
    max_size=40,
).map("".join)  # fmt: skip
NEEDLES = st.sampled_from(
    [
        "sky",
        "Sky",
        "a",
        "aa",
        "y b",
        "sky blue",
        " b",
        "e ",
        "日",
        "本 ",
        "e\u0301",
        "code  sky",
        "kyw",
    ]
)


def cells_of_lines(painted: Sequence[Row]) -> list[list[tuple[str, Cell | None]]]:
    """Each line as characters with their places; what a wrap swallowed has none."""
    lines: list[list[tuple[str, Cell | None]]] = []
    for index, row in enumerate(painted):
        if row.join is None or not lines:
            lines.append([])
        lines[-1] += [(character, None) for character in row.join or ""]
        lines[-1] += [
            (character, (index, row.gutter + place))
            for place, character in enumerate(row.text[row.gutter :])
        ]
    return lines


def naive(painted: Sequence[Row], needle: str) -> list[list[Cell]]:
    is_exact = any(character.isupper() for character in needle)
    wanted = needle if is_exact else needle.lower()
    found = []
    for line in cells_of_lines(painted):
        text = "".join(character for character, _cell in line)
        text = text if is_exact else text.lower()
        start = 0
        while (start := text.find(wanted, start)) >= 0:
            end = start + len(wanted)
            if end < len(text) and unicodedata.combining(text[end]):
                start += 1
                continue
            found.append([cell for _character, cell in line[start:end] if cell is not None])
            start = end
    return found


def ours(painter: Painter, needle: str) -> list[list[Cell]]:
    *_pauses, matches = search_rows(painter, Needle(needle))
    assert matches is not None
    cells: list[list[Cell]] = [[] for _ in range(len(matches))]
    for index, row in enumerate(rows(painter)):
        for number, start, end in matches.in_row(index, row.gutter, len(row.text)):
            cells[number] += [(index, place) for place in range(start, end)]
    return cells


@given(WORDS, NEEDLES, st.integers(12, 50), st.sampled_from([1, 7, 16_384]))
def test_matches_are_those_of_the_lines_before_wrapping(
    source: str, needle: str, width: int, window: int
) -> None:
    painter = paint(source, width)
    with patch.object(matches, "_WINDOW", window):
        assert ours(painter, needle) == naive(rows(painter), needle)


@given(WORDS, st.integers(12, 50))
def test_colours_of_code_change_no_text(source: str, width: int) -> None:
    source = f"```python\nif x:  # {source}"
    bare = MarkdownPainter(Canvas(width, Palette(), highlights=False))
    bare.append(source)
    bare.finish()
    settle(bare)
    assert [look[1:] for look in looks(bare)] == [look[1:] for look in looks(paint(source, width))]
    assert texts(bare) == texts(paint(source, width))


def test_the_number_of_matches_is_the_same_at_every_width() -> None:
    source = "the sky blue and the **sky** blue " * 40
    counts = {len(ours(paint(source, width), "sky blue")) for width in range(12, 100)}
    assert counts == {80}


def test_a_match_knows_how_many_come_before() -> None:
    matches = Matches()
    for place in ((0, 3), (2, 1), (2, 9), (5, 0)):
        matches.add(place, (place[0], place[1] + 1))
    assert [matches.before_row(row) for row in range(7)] == [0, 1, 1, 3, 3, 3, 4]
    assert matches[2] == ((2, 9), (2, 10))


def test_no_letter_is_marked_in_part() -> None:
    letters = Letters("ae\u0301b 👩‍🚀x")
    assert letters.whole(1, 2) == (1, 3)
    assert letters.whole(5, 6) == (5, 8)
    assert letters.whole(7, 9) == (5, 9)
    assert letters.whole(0, 1) == (0, 1)
    assert Letters("abc").whole(1, 3) == (1, 3)


def painted_lines(source: str, width: int) -> list[str]:
    """The lines as they were before they were wrapped."""
    lines: list[str] = []
    for row in rows(paint(source, width)):
        if row.join is None or not lines:
            lines.append("")
        lines[-1] += (row.join or "") + row.text[row.gutter :]
    return lines


def found(needle: str, text: str) -> list[str]:
    one = Needle(needle)
    return [text[slice(*match.span())] for match in one.pattern.finditer(one.comparable(text))]


@pytest.mark.parametrize(
    ("needle", "text", "expected"),
    [
        ("sky", "Sky SKY sky", ["Sky", "SKY", "sky"]),
        ("Sky", "Sky SKY sky", ["Sky"]),
        ("a b", "a  b a b", ["a b"]),
        (".*", "a.*b", [".*"]),
        ("aa", "aaaaa", ["aa", "aa"]),
        ("straße", "STRASSE Straße STRAẞE", ["Straße", "STRAẞE"]),
        ("οδος", "ΟΔΟΣ", ["ΟΔΟΣ"]),
        ("é", "E\u0301 É e", ["E\u0301", "É"]),
        ("e\u0301", "é", ["é"]),
        ("e", "e\u0301 e", ["e"]),
        ("日本", "日本語", ["日本"]),
    ],
)
def test_what_is_found(needle: str, text: str, expected: list[str]) -> None:
    assert found(needle, text) == expected


@given(st.text())
def test_folding_keeps_every_code_point_in_its_place(text: str) -> None:
    assert len(folded(text)) == len(text)
    assert folded(text) == "".join(folded(character) for character in text)


@pytest.mark.parametrize("needle", ["", " ", "\t  "])
def test_a_blank_needle_is_none(needle: str) -> None:
    assert not Needle(needle)


@pytest.mark.parametrize(
    ("needle", "source"),
    [
        ("sky blue", "the **sky** blue"),
        ("sky blue", "the sky\nblue"),
        ("skyline", "the **sky**line"),
        ("models", "[model](http://x.y/z_(a))s [model](http://x.y)s"),
        ("a < b", "a &lt; b"),
        ("Grüße", "GRU\u0308ßE Gru\u0308ße"),
        ("1.        c", "1. ~~~~"),
        ("head: value", "| head | other |\n|---|---|\n| value | x |"),
    ],
)
def test_a_source_is_kept_where_painting_it_shows_the_needle(needle: str, source: str) -> None:
    assert Needle(needle).may_be_in(source)


def test_a_source_without_the_words_is_left_out() -> None:
    assert not Needle("blue sky").may_be_in("the **blu** sky is [here](http://b.c)")
    assert not Needle("sky").may_be_in("s k y")


MARKDOWN = st.lists(
    st.sampled_from(
        ["sky", "Blue", "é", "日本", " ", "  ", "\n", "\n\n", "**", "*", "_", "`", "~~", "\\",
         "1. ", "- ", "> ", "# ", "| ", "|---|\n", "```\n", "[a](http://b.c)", "&amp;", "<b>", "\t"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(MARKDOWN, st.integers(12, 60), st.data())
def test_no_source_is_left_out_that_shows_the_needle(
    source: str, width: int, data: st.DataObject
) -> None:
    lines = [line for line in painted_lines(source, width) if line.strip()]
    if not lines:
        return
    line = data.draw(st.sampled_from(lines))
    start = data.draw(st.integers(0, len(line) - 1))
    needle = line[start : data.draw(st.integers(start + 1, len(line)))]
    assert Needle(needle).may_be_in(source)
