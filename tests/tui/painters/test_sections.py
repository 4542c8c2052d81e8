import pytest

from ollm_tui.tui.painters.sections import Kind, Sectioner, split_cells


def cut(text: str) -> list[tuple[str, str]]:
    sectioner = Sectioner()
    for line in text.split("\n"):
        sectioner.feed(line)
    sectioner.finish()
    return [(section.kind.value, section.source) for section in sectioner.sections]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", [("paragraph", "a\nb"), ("paragraph", "c")]),
        ("# a\nb", [("heading", "# a"), ("paragraph", "b")]),
        ("a\n===\nb", [("heading", "a\n==="), ("paragraph", "b")]),
        ("a\n---\nb", [("heading", "a\n---"), ("paragraph", "b")]),
        ("---\n---", [("rule", "---"), ("rule", "---")]),
        ("- - -", [("rule", "- - -")]),
        ("- a\n- b", [("item", "- a"), ("item", "- b")]),
        ("- a\n  - b\n- c", [("item", "- a\n  - b"), ("item", "- c")]),
        ("- a\n\n  b\nc", [("item", "- a\n\n  b\nc")]),
        ("- a\n\nb", [("item", "- a\n"), ("paragraph", "b")]),
        ("- a\nlazy", [("item", "- a\nlazy")]),
        ("- ```\n  x\n- b", [("item", "- ```\n  x"), ("item", "- b")]),
        ("- ```\n  x\ny", [("item", "- ```\n  x"), ("paragraph", "y")]),
        ("> a\nlazy\n\nb", [("quote", "> a\nlazy"), ("paragraph", "b")]),
        ("> a\n>\nb", [("quote", "> a\n>"), ("paragraph", "b")]),
        ("a\n1. b", [("paragraph", "a"), ("item", "1. b")]),
        ("a\n2. b", [("paragraph", "a\n2. b")]),
        ("a\n-", [("heading", "a\n-")]),
        ("    a\n\n    b\nc", [("indented", "    a\n\n    b"), ("paragraph", "c")]),
        ("a\n    b", [("paragraph", "a\n    b")]),
        ("```py\n# x\n\n- y\n```\nz", [("fence", "```py\n# x\n\n- y"), ("paragraph", "z")]),
        ("~~~\n```\n~~~~\nz", [("fence", "~~~\n```"), ("paragraph", "z")]),
        ("``` a`b", [("paragraph", "``` a`b")]),
        ("a | b\n--|--\nc | d\n\ne", [("table", "a | b\n--|--\nc | d"), ("paragraph", "e")]),
        ("x\na | b\n--|--", [("paragraph", "x"), ("table", "a | b\n--|--")]),
        ("a | b\n--|--|--", [("paragraph", "a | b\n--|--|--")]),
        ("#hash", [("paragraph", "#hash")]),
    ],
)
def test_lines_make_sections(text: str, expected: list[tuple[str, str]]) -> None:
    assert cut(text) == expected


def test_items_of_a_list_are_numbered_on_and_spaced_as_written() -> None:
    sectioner = Sectioner()
    for line in ["3. a", "7. b", "", "1. c", "- d"]:
        sectioner.feed(line)
    assert [section.number for section in sectioner.sections] == [3, 4, 5, None]
    assert [section.gap for section in sectioner.sections] == [False, False, True, False]


def test_a_table_with_too_many_columns_stays_text() -> None:
    wide = "|" + " a |" * 2000 + "\n|" + "-|" * 2000
    assert [kind for kind, _ in cut(wide)] == [Kind.PARAGRAPH]


def test_escaped_bars_do_not_split_cells() -> None:
    assert split_cells(r"| a \| b | c |") == ["a | b", "c"]
