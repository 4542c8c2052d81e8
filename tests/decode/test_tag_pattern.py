import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.tag_pattern import BadPattern, spell_out


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("<think>", ["<think>"]),
        ("<(?:think|reason)>", ["<reason>", "<think>"]),
        ("<(?P<tag>a|b)(?<other>c)>", ["<ac>", "<bc>"]),
        (r"\[THINK\]", ["[THINK]"]),
        (r"<\|x\|>\n", ["<|x|>\n"]),
        ("<[Tt]hink>?", ["<Think", "<Think>", "<think", "<think>"]),
        ("x[a-c-]", ["x-", "xa", "xb", "xc"]),
        (r"x[]\]]", ["x]"]),
        (r"x[\d]y?", sorted(f"x{d}{y}" for d in range(10) for y in ("", "y"))),
        (r"a\sb", ["a\tb", "a\nb", "a\rb", "a b"]),
        ("a{3}", ["aaa"]),
        ("a{1,2}(b|)", ["a", "aa", "aab", "ab"]),
        ("(?:ab){0,2}c", ["ababc", "abc", "c"]),
    ],
)
def test_a_pattern_is_spelled_out(pattern: str, texts: list[str]) -> None:
    assert list(spell_out(pattern)) == texts
    assert all(re.fullmatch(pattern.replace("(?<", "(?P<"), text) for text in texts)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "visible"),
        ("a?", "visible"),
        (r"\n|a", "visible"),
        ("<think.*>", "fixed text"),
        ("^a", "fixed text"),
        ("a$", "fixed text"),
        ("?a", "fixed text"),
        ("a??", "fixed text"),
        ("{1}", "fixed text"),
        ("a*", "without end"),
        ("a+", "without end"),
        ("a{2,}", "end"),
        ("a{2", "end"),
        ("a{3,2}", "end"),
        ("a{x}", "end"),
        ("a{65}", "too often"),
        (r"\w", "understood"),
        (r"(a)\1", "understood"),
        ("[^a]", "exclude"),
        ("[b-a]", "range"),
        ("[a-\\d]", "range"),
        ("[ -\uffff]", "range"),
        ("[a", "too early"),
        ("a\\", "too early"),
        ("(a", "not closed"),
        ("(?<tag", "not closed"),
        ("a)", "too many"),
        ("(?=a)", "look around"),
        ("(?P=a)", "look around"),
        ("(?<=a)b", "look behind"),
        ("(?<!a)b", "look behind"),
        ("(?i)a", "look around"),
        (r"\d\d", "more than 64"),
        ("(a|b|c|d){4}", "more than 64"),
        ("a" * 121, "longer"),
        ("(" * 121, "longer"),
    ],
)
def test_what_is_not_a_few_texts_is_refused_with_a_sentence(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why) as caught:
        spell_out(pattern)
    assert str(caught.value).endswith(".")


@given(st.text(alphabet="ab<>()[]{}|?*+\\-,12:P", max_size=40))
def test_any_pattern_is_spelled_out_or_refused(pattern: str) -> None:
    try:
        texts = spell_out(pattern)
    except BadPattern:
        return
    assert all(text.strip() for text in texts)
    assert 0 < len(texts) <= 64


def test_brackets_as_deep_as_a_pattern_may_be_are_read() -> None:
    assert spell_out("(" * 59 + "a" + ")" * 59) == ("a",)
    with pytest.raises(BadPattern, match="not closed"):
        spell_out("(" * 100 + "a")


@given(st.text(min_size=1, max_size=20).filter(str.strip))
def test_an_escaped_text_stands_for_itself(text: str) -> None:
    assert spell_out(re.escape(text).replace("\\\n", "\\n")) == (text,)
