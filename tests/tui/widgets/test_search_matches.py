"""Matches in painted rows are those of a naive search through the lines before wrapping."""

import unicodedata
from collections.abc import Sequence
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.transcript.painters.markdown import MarkdownPainter
from ollm_tui.tui.transcript.painters.painter import Painter
from ollm_tui.tui.transcript.painters.rows import Canvas, Palette, Row
from ollm_tui.tui.transcript.search import matches
from ollm_tui.tui.transcript.search.matches import Letters, Matches, Needle, search_rows
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
