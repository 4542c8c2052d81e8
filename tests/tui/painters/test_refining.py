"""Long blocks: plain first, refined when idle, and never more than a little at a time."""

import itertools
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.tui.painters.markdown import OPEN_BUDGET, MarkdownPainter
from ollm_tui.tui.painters.section_rows import CODE_PLAIN_FIRST, PLAIN_FIRST
from tests.support.seeds import sampled
from tests.tui.painters.budgets import small_budgets
from tests.tui.painters.hostile_documents import DOCUMENTS
from tests.tui.painters.painting import (
    Look,
    canvas,
    looks,
    paint,
    paint_pieces,
    settle,
    styled,
    texts,
)

pytestmark = pytest.mark.slow

BLOCKS = st.sampled_from(
    [
        "A *long* paragraph of **several marks** with `code`, [a link](b) and [brackets. ",
        "word **bold over\na line end** word ~~gone~~ 日本語 \\* hard  \nbreak &amp; ",
        "```python\nx = '''one\ntwo''' # three\nfor y in range(10): print(f'{y}')\n",
        "```html\n<!-- never closed <p class='a'>text\n<script>let x = 1;</script>\n",
        "```c\n/* a comment\nover lines */ int main(void) { return 0; }\n",
        "```html+jinja\n<p>{{ x }}\n{% if y %}\n",
        '   ~~~json\n   {"a": [1, 2, 3],\n   "b": null}\n',
        "```\nno language\n",
        "    indented = code\n\n    that = goes\n",
        "- an item with *marks*\n  and a\n  ```python\n  x = 1\n  ```\n",
        "1. one [link](c)\n   | a | b |\n   |---|---|\n   | 1 | *2* |\n",
        "> quoted **text**\n> > deeper\n",
        "| a | b |\n|---|---|\n| *1* | `2` |\n| a longer cell | x |\n",
        "# A heading with *marks* that goes on and on and on and on and on and on ",
        "x" * 90,
        "\n",
        "\n\n",
        "```\n",
        "[" * 9,
    ]
)
DOCUMENT = st.lists(
    st.tuples(BLOCKS, st.integers(1, 6)).map(lambda each: each[0] * each[1]), max_size=5
).map("".join)


def _cut(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    return [text[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.slow
@settings(max_examples=300)
@given(
    text=DOCUMENT,
    cuts=st.lists(st.integers(0, 2000), max_size=40),
    width=st.sampled_from([12, 30, 76]),
    live=st.booleans(),
)
def test_beyond_all_budgets_any_cutting_paints_the_same_rows(
    text: str, cuts: list[int], width: int, live: bool
) -> None:
    with small_budgets():
        assert looks(paint_pieces(_cut(text, cuts), width, live=live)) == looks(paint(text, width))


@given(text=DOCUMENT, cuts=st.lists(st.integers(0, 800), max_size=20), steps=st.integers(0, 30))
def test_a_restyle_in_the_middle_ends_like_painting_there(
    text: str, cuts: list[int], steps: int
) -> None:
    with small_budgets():
        painter = MarkdownPainter(canvas(30))
        for number, piece in enumerate(_cut(text, cuts)):
            painter.append(piece)
            painter.work(0.0)
            if number == steps:
                painter.restyle(canvas(50), 0)
        painter.finish()
        for _ in range(steps):
            painter.work(0.0)
        painter.restyle(canvas(44), 3)
        settle(painter)
        assert looks(painter) == looks(paint(text, 44))


@pytest.mark.slow
@given(text=DOCUMENT, cuts=st.lists(st.integers(0, 400), max_size=10))
def test_every_change_is_reported_while_blocks_are_refined(text: str, cuts: list[int]) -> None:
    with small_budgets():
        painter = MarkdownPainter(canvas())
        before: list[Look] = []
        for piece in [*_cut(text, cuts), None]:
            if piece is None:
                painter.finish()
            else:
                painter.append(piece)
            more = True
            while more:
                more = painter.work(0.0)
                change = painter.rows.take_change()
                now = looks(painter)
                first, last = (len(now),) * 2 if change is None else (change.first, change.end)
                assert now[:first] == before[:first]
                if last is not None:
                    assert now[last:] == before[last:]
                    assert len(now) == len(before)
                before = now


def _until_refining(painter: MarkdownPainter) -> bool:
    while painter.work(0.0):
        if painter.refining:
            return True
    return False


def test_long_code_is_there_before_its_colours() -> None:
    lines = CODE_PLAIN_FIRST // 10 + 10
    painter = MarkdownPainter(canvas())
    painter.append("```python\n" + "return abc\n" * lines + "```\n\nend **bold**")
    painter.finish()
    assert _until_refining(painter)
    rough = texts(painter)
    assert len(rough) == lines + 3
    assert rough[-1] == "end bold"
    assert styled(painter, "return") == ["none"] * lines
    painter.rows.take_change()
    settle(painter)
    assert texts(painter) == rough
    assert styled(painter, "return") == ["bold"] * lines
    assert not painter.refining


def test_a_long_paragraph_is_there_before_its_marks() -> None:
    painter = MarkdownPainter(canvas())
    painter.append("word **bold** " * (PLAIN_FIRST // 14 + 10))
    painter.finish()
    assert _until_refining(painter)
    assert "**bold**" in texts(painter)[0]
    settle(painter)
    assert "word bold word" in texts(painter)[0]
    assert set(styled(painter, "bold")) == {"bold"}


@pytest.mark.parametrize(
    "text",
    [
        "- step:\n\n  ```python\n" + "  x = 1  # comment\n" * 700 + "  ```\n",
        "> quoted **text** goes on and on and on\n" * 400,
    ],
)
def test_long_items_and_quotations_are_formatted_too(text: str) -> None:
    painter = MarkdownPainter(canvas())
    painter.append(text)
    painter.finish()
    assert _until_refining(painter)
    settle(painter)
    assert texts(painter)[0][0] in "•▎"
    assert not any("too long" in line for line in texts(painter))


def test_what_came_later_is_painted_before_what_is_long_is_refined() -> None:
    painter = MarkdownPainter(canvas())
    painter.append("word **bold** " * 1000 + "\n\n")
    assert _until_refining(painter)
    painter.append("**news**\n\n")
    painter.work(0.0)
    painter.work(0.0)
    assert texts(painter)[-1] == "news"
    assert "**bold**" in texts(painter)[0]


def test_beyond_the_last_bound_code_keeps_its_rows_and_says_so() -> None:
    with small_budgets():
        painted = paint("```python\n" + "x = 1\n" * 40 + "```")
    assert len(texts(painted)) == 42
    assert texts(painted)[-1] == "· no colours beyond line 12"


LONGEST_LAST = sampled(sorted(DOCUMENTS, key="300,000 spaces".__eq__), len(DOCUMENTS) // 2)
MAX_AT_ONCE = 40_000
"""Characters one call may paint when its time is over from the start."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LONGEST_LAST)
def test_a_hostile_document_comes_out_the_same_in_small_steps(name: str) -> None:
    text = DOCUMENTS[name](0.1)
    whole = _work_off([text])
    step = max(len(text) // 25, 4)
    assert looks(_work_off([text[at : at + step] for at in range(0, len(text), step)])) == looks(
        whole
    )


def _work_off(pieces: list[str]) -> MarkdownPainter:
    """Paint in calls that have no time, and count them and what they paint."""
    painter = MarkdownPainter(canvas(100))
    calls = 0
    for piece in [*pieces, None]:
        if piece is None:
            painter.finish()
        else:
            painter.append(piece)
        more = True
        while more:
            before = painter.rows.painted_chars
            more = painter.work(0.0) and piece is None
            assert painter.rows.painted_chars - before <= MAX_AT_ONCE
            calls += 1
    # Each row is painted twice at most after the last piece: plain, then formatted.
    assert calls <= 4 * painter.rows.row_count + sum(map(len, pieces)) // 4 + 1000
    return painter


@pytest.mark.slow
@pytest.mark.parametrize("name", LONGEST_LAST)
def test_the_work_for_a_hostile_document_is_linear(name: str) -> None:
    def work(size: float) -> tuple[int, int]:
        text = DOCUMENTS[name](size)
        painter = MarkdownPainter(canvas(100))
        for start in range(0, len(text), 256):
            painter.append(text[start : start + 256])
            painter.work(monotonic() + 1)
        painter.finish()
        settle(painter)
        return painter.rows.painted_chars, len(text)

    (small, little), (large, much) = work(0.05), work(0.2)
    # What is open is painted again for each piece until it reaches its budget.
    assert large <= 2 * small * much // little + OPEN_BUDGET * 20
