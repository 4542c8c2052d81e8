"""YAML that people and downloads bring: what is read, and what is refused with file and line."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.config.yaml_file import (
    MAX_YAML_BYTES,
    PatternText,
    YamlProblem,
    parse_yaml,
    read_yaml,
)

FILE = Path("x.yaml")


def refusal(text: str) -> str:
    with pytest.raises(YamlProblem) as raised:
        parse_yaml(text, FILE)
    return str(raised.value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("Yes", "Yes"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2020-01-01", "2020-01-01"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("9" * 19, "9" * 19),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-7", -7),
        ("+3", 3),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("'5'", "5"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("!re /a b/i", PatternText("/a b/i")),
        ("|-\n  a\n  b", "a\nb"),
        ("[no, 1]", ["no", 1]),
        ("{b: no}", {"b": "no"}),
    ],
)
def test_plain_values_are_what_they_look_like(written: str, value: object) -> None:
    read = parse_yaml(f"a: {written}", FILE).values
    assert read == {"a": value}
    assert type(read["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a: 1\na: 2", 2, "`a` is set twice"),
        ("a: 1\n'a': 2", 2, "`a` is set twice"),
        ("a:\n  b: 1\n  b: 2", 3, "`a.b` is set twice"),
        ("a: !!python/object/apply:os.system [ls]", 1, "take no tag"),
        ("a: !!python/name:os.system x", 1, "not supported"),
        ("a: !!binary aGk=", 1, "not supported"),
        ("a: !!float 1", 1, "not supported"),
        ("a: !!timestamp 2020-01-01", 1, "not supported"),
        ("a: !other x", 1, "not supported"),
        ("a: !re [x]", 1, "take no tag"),
        ("a: !!set {x}", 1, "take no tag"),
        ("a: &x [*x]", 1, "stands for nothing"),
        ("a: *x", 1, "stands for nothing"),
        ("- 1", 1, "must be a table"),
        ("text", 1, "must be a table"),
        ("a: 1\n---\nb: 2", 2, "one document"),
        ("? [1]\n: 2", 1, "must be text"),
        ("? {a: 1}\n: 2", 1, "must be text"),
        ("!re x: 1", 1, "must be text"),
        ("a: &x b\n*x : 1", 2, "must be text"),
        ("a: [1", 2, "Not valid YAML"),
        ("\ta: 1", 1, "Not valid YAML"),
        ("a: b: c", 1, "Not valid YAML"),
        ("a: " + "[" * 60, 1, "nested more than 50"),
        ("a: " + "[" * 100_000, 1, "nested more than 50"),
        ("a: " + "{b: " * 60, 1, "nested more than 50"),
        ("a: [" + "1," * 20_001 + "]", 1, "more than 20,000 values"),
        ("a: &x 1\nb: [" + "*x," * 101 + "]", 2, "more than 100 aliases"),
    ],
)
def test_what_is_refused_has_file_and_line(text: str, line: int, why: str) -> None:
    assert refusal(text).startswith(f"x.yaml:{line}: ")
    assert why in refusal(text)


@pytest.mark.parametrize("text", ["a: \x07", '"\ud800": 1', "a: \x00"])
def test_characters_that_yaml_does_not_allow_are_refused(text: str) -> None:
    assert "not allowed" in refusal(text)


def test_aliases_that_multiply_are_counted_and_not_walked() -> None:
    rows = "a0: &b0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    for number in range(1, 10):
        rows += f"a{number}: &b{number} [{', '.join([f'*b{number - 1}'] * 10)}]\n"
    begun = time.monotonic()
    assert "more than 20,000 values" in refusal(rows)
    assert time.monotonic() - begun < 1


def test_an_alias_has_the_value_of_its_anchor_and_every_key_its_line() -> None:
    file = parse_yaml("a: &x\n  c: [1,\n    2]\nb: *x\n", FILE)
    assert file.values == {"a": {"c": [1, 2]}, "b": {"c": [1, 2]}}
    assert file.lines[("a", "c", "1")] == 3
    assert str(file.origin(("b", "c", "1"))) == "x.yaml:4"
    assert str(file.problem("Wrong.", ("a", "c"))) == "x.yaml:2: Wrong."


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null"])
def test_an_empty_text_is_an_empty_table(text: str) -> None:
    assert parse_yaml(text, FILE).values == {}


def test_files_are_bounded_regular_and_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1")
    assert read_yaml(file).values == {"a": 1}
    problems: dict[bytes, str] = {
        b"a: 1\nb: \xff": ":2: The file is not UTF-8 text.",
        b"#" * (MAX_YAML_BYTES + 1): ": The file is over 1000 kB.",
    }
    for content, why in problems.items():
        file.write_bytes(content)
        with pytest.raises(YamlProblem) as raised:
            read_yaml(file)
        assert str(raised.value) == f"{file}{why}"
    with pytest.raises(YamlProblem, match="it is a folder"):
        read_yaml(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_yaml(tmp_path / "none.yaml")


PIECES = st.sampled_from(
    [
        *("a", "b: ", "- ", "\n", "  ", "[", "]", "{", "}", ",", "&x ", "*x", "!re ", "!!str "),
        *("|\n", "'", '"', "#", "? ", "---\n", "...\n", "%YAML 1.1\n", "@", "1", "no", "<<: "),
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(YamlProblem):
        assert all(isinstance(key, str) for key in parse_yaml(text, FILE).values)
