"""Which lines of a JSON value are shown, and what folds."""

from ollm_tui.decode.json_tree import MAX_LINES, OPEN_LINES, JsonTree
from ollm_tui.protocol.json_types import JsonValue

PERSON: JsonValue = {"name": "Ada", "tags": ["a", "b"], "address": {"city": "London"}, "notes": []}


def shown(tree: JsonTree) -> list[tuple[tuple[int, ...], str | None, bool]]:
    return [(line.path, line.key, line.is_open) for line in tree.lines()]


def test_a_small_value_is_open() -> None:
    tree = JsonTree(PERSON)
    assert tree.is_open
    assert shown(tree) == [
        ((0,), "name", False),
        ((1,), "tags", True),
        ((1, 0), None, False),
        ((1, 1), None, False),
        ((2,), "address", True),
        ((2, 0), "city", False),
        ((3,), "notes", False),
    ]
    assert [line.folds for line in tree.lines()] == [False, True, False, False, True, False, False]


def test_one_line_or_all_of_them_fold() -> None:
    tree = JsonTree(PERSON)
    tree.toggle((1,))
    assert ((1, 0), None, False) not in shown(tree)
    assert not tree.is_open
    tree.toggle((1,))
    assert tree.is_open
    tree.fold()
    assert [path for path, _, _ in shown(tree)] == [(0,), (1,), (2,), (3,)]
    tree.unfold()
    assert tree.is_open


def test_a_value_without_anything_inside_is_one_line() -> None:
    values: list[JsonValue] = ["text", 1, None, [], {}]
    for value in values:
        assert [(line.path, line.value) for line in JsonTree(value).lines()] == [((), value)]


def test_levels_open_while_they_fit() -> None:
    row: JsonValue = list(range(OPEN_LINES // 4))
    tree = JsonTree([row] * 10)
    assert 10 < len(shown(tree)) <= OPEN_LINES
    assert not tree.is_open
    tree.unfold()
    assert len(shown(tree)) == 10 * (1 + OPEN_LINES // 4)


def test_a_huge_list_is_cut_to_one_more_than_is_shown() -> None:
    assert len(shown(JsonTree(list(range(10 * MAX_LINES))))) == MAX_LINES + 1
