"""A line for each call: what it was, how it ended, and its output when unfolded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ollm_tui.protocol.tools import ToolOutcome
from ollm_tui.tui.painters.rows import row_cells
from ollm_tui.tui.painters.tool_call import (
    OPEN_ROWS,
    PEEK_ROWS,
    Fold,
    ToolCall,
    ToolPainter,
)
from tests.tui.painters.painting import canvas, settle, texts


def painted(
    outcome: ToolOutcome | None = "done",
    output: str = "",
    *,
    seconds: float | None = 0.4,
    name: str = "read_file",
    argument: str = "notes/optics.md",
    width: int = 80,
) -> ToolPainter:
    call = ToolCall(name, argument)
    if outcome is not None:
        call.end(outcome, seconds, output)
    painter = ToolPainter(canvas(width), call)
    settle(painter)
    return painter


def set_fold(painter: ToolPainter, fold: Fold) -> None:
    painter._call.fold = fold
    painter.repaint()


@pytest.mark.parametrize(
    ("outcome", "seconds", "mark"),
    [
        (None, None, "…"),
        ("done", 0.4, "✓ 0.4 s"),
        ("done", 3.21, "✓ 3.2 s"),
        ("done", None, "✓"),
        ("failed", 61.0, "✗ failed 1 min 1 s"),
        ("denied", 4.0, "⊘ denied"),
        ("stopped", 4.0, "■ stopped"),
    ],
)
def test_the_line_says_what_and_how(
    outcome: ToolOutcome | None, seconds: float | None, mark: str
) -> None:
    line = texts(painted(outcome, seconds=seconds))[0]
    assert line.split() == ["⚙", "read_file", "notes/optics.md", *mark.split()]


def test_outcomes_stand_below_each_other() -> None:
    short, long = (texts(painted(argument=each))[0] for each in ("a.md", "notes/optics.md"))
    assert short.index("✓") == long.index("✓")


@pytest.mark.parametrize(
    ("outcome", "rows"), [("done", 1), ("denied", 1), ("stopped", 1), ("failed", 3)]
)
def test_only_a_failure_opens_by_itself(outcome: ToolOutcome, rows: int) -> None:
    assert painted(outcome, "one\ntwo").rows.row_count == rows


def test_a_failure_shows_its_first_rows_and_how_many_lines_follow() -> None:
    painter = painted("failed", "\n".join(f"line {n}" for n in range(50)))
    shown = texts(painter)
    assert shown[1] == "  line 0"
    assert shown[PEEK_ROWS] == f"  line {PEEK_ROWS - 1}"
    assert shown[-1] == f"  … {50 - PEEK_ROWS} more lines"
    assert painter.next_fold() == "open"


def test_unfolded_it_shows_all_up_to_a_limit() -> None:
    painter = painted("done", "\n".join(str(n) for n in range(OPEN_ROWS + 1)))
    set_fold(painter, "open")
    settle(painter)
    assert painter.rows.row_count == 1 + OPEN_ROWS + 1
    assert texts(painter)[-1] == "  … 1 more line"
    assert painter.next_fold() == "folded"


def test_a_short_failure_folds_at_the_first_click() -> None:
    assert painted("failed", "one\ntwo").next_fold() == "folded"


def test_an_endless_line_is_cut_and_reported() -> None:
    assert texts(painted("failed", "x" * 10_000))[-1] == "  … the line goes on"


def test_no_output_is_reported() -> None:
    painter = painted("failed", "\n\n")
    assert texts(painter)[1:] == ["  no output"]


def test_foreign_text_is_shown_and_not_obeyed() -> None:
    painter = painted("failed", "\x1b[2J\r\nevil\u202e", name="a\u200bb", argument="c\nd\u202e")
    line, *output = texts(painter)
    assert "a⟦U+200B⟧b" in line
    assert "c⟦U+000A⟧d⟦U+202E⟧" in line
    assert output == ["  ␛[2J", "  evil⟦U+202E⟧"]


def test_a_running_call_shows_no_output_however_it_is_folded() -> None:
    painter = painted(None)
    set_fold(painter, "open")
    settle(painter)
    assert painter.rows.row_count == 1


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.text(max_size=200),
    st.integers(20, 120),
    st.sampled_from(["done", "failed", "denied", "stopped"]),
)
def test_no_row_is_wider_than_the_measure(
    name: str, argument: str, output: str, width: int, outcome: ToolOutcome
) -> None:
    painter = painted(outcome, output, name=name, argument=argument, width=width)
    folds: tuple[Fold, ...] = ("open", "folded")
    for fold in folds:
        set_fold(painter, fold)
        settle(painter)
        for number in range(painter.rows.row_count):
            assert row_cells(painter.rows.row(number).segments) <= max(width, 24)


def test_painting_for_another_width_keeps_the_fold() -> None:
    painter = painted("failed", "word " * 30, width=100)
    rows = painter.rows.row_count
    painter.rows.take_change()
    painter.restyle(canvas(40), 0)
    settle(painter)
    assert painter.rows.row_count > rows
    assert painter.rows.take_change() is not None
    assert max(cell_len(line) for line in texts(painter)) <= 40
    assert painter.rows.locate(painter.rows.anchor(2)) == 2
