"""An answer that is JSON, as a tree whose objects and lists fold."""

import json
import time

import pytest
from hypothesis import given, settings

from ollm_tui.decode.json_tree import MAX_LINES, JsonTree
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.tui.painters.json_tree import (
    MAX_CHARS,
    TreePainter,
    TreeSource,
)
from ollm_tui.tui.painters.rows import row_cells
from tests.support.strategies import JSON
from tests.tui.painters.painting import canvas, settle, texts

PERSON: JsonValue = {"name": "Ada", "tags": ["a", "b"], "address": {"city": "London", "no": None}}


def painted(value: JsonValue, width: int = 60) -> TreePainter:
    painter = TreePainter(canvas(width), JsonTree(value))
    settle(painter)
    return painter


def test_a_small_value_is_open() -> None:
    assert texts(painted(PERSON)) == [
        '  name: "Ada"',
        "▾ tags",
        '    [0]: "a"',
        '    [1]: "b"',
        "▾ address",
        '    city: "London"',
        "    no: null",
    ]


def test_a_row_of_an_object_folds_and_unfolds_it() -> None:
    tree = JsonTree(PERSON)
    painter = TreePainter(canvas(60), tree)
    settle(painter)
    assert painter.path_at(0) is None
    path = painter.path_at(1)
    assert path is not None
    tree.toggle(path)
    painter.repaint()
    settle(painter)
    assert texts(painter)[:3] == ['  name: "Ada"', "▸ tags  2 items", "▾ address"]
    tree.fold()
    painter.repaint()
    settle(painter)
    assert texts(painter)[-1] == "▸ address  2 keys"
    assert not tree.is_open
    tree.unfold()
    assert tree.is_open


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        ({}, ["  {}"]),
        ([], ["  []"]),
        ("a\nb", ['  "a\\nb"']),
        (True, ["  true"]),
        ({"": 1, "deep": [[], {}]}, ['  "": 1', "▾ deep", "    [0]: []", "    [1]: {}"]),
        ({"\x1b[2J": "\u202e"}, ['  ␛[2J: "⟦U+202E⟧"']),
    ],
)
def test_other_values(value: JsonValue, rows: list[str]) -> None:
    assert texts(painted(value)) == rows


def test_a_large_value_opens_as_far_as_it_fits_a_screen() -> None:
    value: JsonValue = {f"k{n}": {"items": list(range(50))} for n in range(5)}
    assert len(texts(painted(value))) == 10
    many: JsonValue = list(range(5000))
    shown = texts(painted(many))
    assert len(shown) == MAX_LINES + 1
    assert shown[-1].startswith("… more is not shown")


@settings(max_examples=60, deadline=None)
@given(value=JSON.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_every_value_fits_the_width_and_is_found_by_its_rows(value: JsonValue) -> None:
    painter = painted(value, 24)
    rows = [painter.rows.row(number) for number in range(painter.rows.row_count)]
    assert rows
    assert all(row_cells(row.segments) <= 26 for row in rows)
    source = TreeSource(json.dumps(value))
    assert source.tree is not None
    assert source.estimate(canvas(24)) >= 1


def test_text_that_is_no_tree_is_shown_as_code() -> None:
    for text in ("not JSON", json.dumps(["x" * MAX_CHARS])):
        source = TreeSource(text)
        assert source.tree is None
        assert source.estimate(canvas(60)) >= 3
    for text in ("not JSON", "```json\nnot JSON\n```"):
        painter = TreeSource(text).painter(canvas(60))
        settle(painter)
        shown = "\n".join(texts(painter))
        assert "not JSON" in shown
        assert "```" not in shown


def test_painting_is_done_in_slices() -> None:
    painter = TreePainter(canvas(60), JsonTree(list(range(MAX_LINES))))
    assert painter.work(time.monotonic())
    assert painter.rows.row_count == 0
    settle(painter)
    assert painter.rows.row_count == MAX_LINES
