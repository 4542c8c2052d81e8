"""The code blocks of a painted answer: where they are, and that a copy is the source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.painters.markdown import MarkdownPainter
from ollm_tui.tui.transcript.code_blocks import code_blocks, code_text
from tests.tui.painters.painting import canvas, paint, rows, settle, texts


def copied(answer: str, painter: MarkdownPainter | None = None) -> list[str]:
    painter = painter or paint(answer)
    return [code_text(answer, block) for block in code_blocks(painter.rows.painted())]


CODE_LINES = st.lists(
    st.text(st.characters(exclude_characters="\r\n`~", exclude_categories=["Cs"]), max_size=30),
    min_size=1,
    max_size=8,
)
INDENTS = st.sampled_from(["", " ", "  ", "\t", "\t\t", "    \t"])


@given(
    lines=st.lists(st.tuples(INDENTS, CODE_LINES.map("".join)).map("".join), min_size=1),
    fence=st.sampled_from(["```", "~~~~", "```` py"]),
    before=st.sampled_from(["", "text\n", "text\r\n\r\n", "- item\n\n", "| a |\n|---|\n| b |\n"]),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_copy_of_a_block_is_its_source_for_any_text(
    lines: list[str], fence: str, before: str, ends: str
) -> None:
    answer = before + ends.join([fence, *lines, fence.split()[0], "after"])
    assert copied(answer) == ["\n".join(lines)]


def test_blocks_inside_items_and_quotations_are_found_in_order() -> None:
    answer = (
        "1. one\n\n   ```js\n   let x\n\t  y  \n   ```\n\n   ```\n   second\n   ```\n"
        "2. two\n\n> ```\n> quoted  \n>\n> more\n> ```\n\n    indented  \n\n\tby a tab\n\nend\n"
    )
    assert copied(answer) == [
        "let x\n   y  ",  # what is left of a tab that reaches over the item's indentation
        "second",
        "quoted  \n\nmore",
        "indented  \n\nby a tab",
    ]


def test_the_rows_of_a_block_are_its_label_and_its_lines() -> None:
    answer = "text\n\n```py\none\ntwo\n```\n\n- item\n  ```\n  three\n  ```\n"
    painter = paint(answer)
    shown = texts(painter)
    found = list(code_blocks(painter.rows.painted()))
    assert [shown[block.first : block.end] for block in found] == [
        [" py", " one", " two"],
        ["", "   three"],
    ]


@pytest.mark.parametrize("width", [20, 40])
def test_wrapped_lines_belong_to_their_block(width: int) -> None:
    answer = "```\n" + "x" * 100 + "\n```\nafter"
    painter = paint(answer, width)
    (block,) = code_blocks(painter.rows.painted())
    assert block.end == len(rows(painter)) - 2
    assert copied(answer, painter) == ["x" * 100]


def test_an_open_block_gives_what_has_come() -> None:
    answer = "```py\none\n  tw"
    painter = MarkdownPainter(canvas())
    painter.append(answer)
    settle(painter)
    assert copied(answer, painter) == ["one\n  tw"]


def test_the_label_shows_the_whole_word_in_any_width() -> None:
    for width in (12, 13, 20, 100):
        for language in ("", "py", "日本語" * 20, "x" * 200):
            painter = paint(f"```{language}\nx\n```", width)
            label = rows(painter)[0]
            assert label.text.endswith("copy ")
            assert label.gutter == len(label.text)
            assert label.aside
            assert sum(segment.cell_length for segment in label.segments) <= width
