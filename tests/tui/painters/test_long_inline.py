from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from ollm_tui.tui.painters import inline
from ollm_tui.tui.painters.inline import (
    PIECE,
    PIECE_COST,
    formatted,
    formatted_at_once,
    inline_spans,
    pieces,
)
from ollm_tui.tui.painters.rows import Canvas, Palette, Span

PROSE = "The sky is *blue*, as **air and `dust`** scatter [light](https://a.example) ~~up~~.\n"


def drained(text: str) -> tuple[list[list[Span]], int]:
    """The lines, and in how many steps they came."""
    steps = formatted(text, Style(), Canvas(80, Palette()))
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def merged(lines: list[list[Span]]) -> list[list[Span]]:
    """Spans of one style as one."""
    out: list[list[Span]] = []
    for line in lines:
        spans: list[Span] = []
        for text, style in line:
            if spans and spans[-1][1] == style:
                spans[-1] = (spans[-1][0] + text, style)
            else:
                spans.append((text, style))
        out.append(spans)
    return out


@given(text=st.text(alphabet="ab *`[]()~_\n\\", max_size=300), piece=st.integers(2, 60))
def test_pieces_are_small_and_join_to_the_text(text: str, piece: int) -> None:
    with patch.multiple(inline, PIECE=piece, PIECE_COST=100):
        cut = list(pieces(text))
    assert "".join(cut) == text
    for each in cut:
        assert 0 < len(each) <= 4 * piece
        assert len(each) * each.count("[") <= 100 + piece


@pytest.mark.parametrize("sentence", [PROSE, PROSE.strip() + " ", PROSE.strip() + "  \n"])
def test_long_prose_looks_as_if_parsed_at_once(sentence: str) -> None:
    text = (sentence * 300).strip()
    lines, steps = drained(text)
    assert steps > len(text) // PIECE
    assert merged(lines) == merged(inline_spans(text, Style(), Canvas(80, Palette())))


def test_a_mark_over_the_border_of_two_pieces_stays_whole() -> None:
    text = "x " * (PIECE // 2 - 20) + "**" + "bold " * 30 + "end** " + "y " * 100
    lines, _steps = drained(text.strip())
    assert "*" not in "".join(span for line in lines for span, _style in line)


def test_a_text_without_spaces_is_cut_anyway() -> None:
    lines, steps = drained("_a" * 4 * PIECE)
    assert steps == 5
    assert "".join(span for line in lines for span, _style in line) == "_a" * 4 * PIECE


def test_many_brackets_make_small_pieces() -> None:
    cut = list(pieces("[" * 1000))
    assert max(len(each) ** 2 for each in cut) <= PIECE_COST


@given(st.text(alphabet="ab *`[]()\n", max_size=80))
def test_at_once_is_the_same(text: str) -> None:
    lines, _steps = drained(text)
    once = formatted_at_once(text, Style(), Canvas(80, Palette()))
    joined = [span for line in lines for span in line]
    assert joined == [span for line in once for span in line]
