"""A formula of which all is selected is copied as it is written; a part of it, as it is shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.painters.rows import Canvas, Palette, Row
from ollm_tui.tui.transcript.block import MARGIN
from ollm_tui.tui.transcript.selection import copied
from ollm_tui.tui.transcript.transcript import Transcript
from tests.tui.painters.painting import rows
from tests.tui.transcript.test_copied_rows import add_answer
from tests.tui.transcript.test_transcript import room, settled


def painted(text: str, width: int = 60) -> list[Row]:
    painter = MarkdownPainter(Canvas(width, Palette()))
    painter.append(text)
    painter.finish()
    while painter.work(0.0):
        pass
    return list(rows(painter))


def copied_part(lines: list[Row], start: int, end: int) -> str:
    """What is copied from one code point of all rows to another."""
    parts = []
    for row in lines:
        low, high = max(start, 0), min(end, len(row.text))
        if start <= len(row.text) and high >= 0:
            parts.append((row, (MARGIN + low, MARGIN + max(high, low))))
        start, end = start - len(row.text), end - len(row.text)
    return copied(parts)


@pytest.mark.parametrize(
    "text",
    [
        r"It is $\frac{a}{2}$.",
        r"both $x^2$ and $y_1$, **bold $\alpha$**",
        r"\(x^2\)\(x^2\)",
        "before\n\n$$\n\\begin{aligned}a &= b \\\\ c &= d\\end{aligned}\n$$\n\nafter",
        r"\[\sum_{i=1}^n i\]",
        "$$a^2$$\n\n$$a^2$$",
        "no formula, $5 and 6$",
    ],
)
@pytest.mark.parametrize("width", [60, 16])
def test_all_of_an_answer_is_copied_with_its_formulas_as_they_are_written(
    text: str, width: int
) -> None:
    lines = painted(text, width)
    whole = copied([(row, (0, -1)) for row in lines])
    assert whole == re.sub(r"\*\*", "", text)
    if "$5" not in text:
        assert not any(mark in row.text for row in lines for mark in ("$", "\\"))


def test_a_part_of_a_formula_is_copied_as_it_is_shown() -> None:
    (row,) = painted(r"so $x^2+y$ is")
    assert row.text == "so x²+y is"
    assert copied_part([row], 3, 7) == "$x^2+y$"
    assert copied_part([row], 0, 6) == "so x²+"
    assert copied_part([row], 4, 10) == "²+y is"


@given(st.integers(0, 80), st.integers(0, 80), st.sampled_from([60, 12]))
def test_any_part_is_the_words_in_it_with_whole_formulas_as_they_are_written(
    start: int, end: int, width: int
) -> None:
    start, end = sorted((start, end))
    lines = painted(r"The sum $\delta+\beta$ of two, the ratio $\frac{a}{b}$ of two.", width)
    text = copied_part(lines, start, end)
    plain = text.replace(r"$\delta+\beta$", "δ+β").replace(r"$\frac{a}{b}$", "a/b")
    assert plain.replace(" ", "") == "".join(row.text for row in lines)[start:end].replace(" ", "")
    assert "\\" not in plain
    selected = "".join(row.text for row in lines)[start:end]
    assert ("δ+β" in selected) == (r"$\delta+\beta$" in text)


async def test_a_selection_in_the_chat_has_the_source_of_formulas() -> None:
    async with room() as (pilot, transcript, _):
        add_answer(transcript, "a", "Take $x^2$ here.")
        await settled(pilot, transcript)
        assert text_of(transcript, SELECT_ALL) == "Take $x^2$ here."
        part = Selection(Offset(MARGIN, 0), Offset(MARGIN + 6, 0))
        assert text_of(transcript, part) == "Take x"


def text_of(transcript: Transcript, selection: Selection) -> str:
    selected = transcript.get_selection(selection)
    assert selected is not None
    return selected[0]
