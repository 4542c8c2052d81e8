"""How a needle is compared, and that sifting sources never hides what would be painted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.transcript.search.matches import Needle, folded
from tests.tui.painters.painting import paint, rows


def painted_lines(source: str, width: int) -> list[str]:
    """The lines as they were before they were wrapped."""
    lines: list[str] = []
    for row in rows(paint(source, width)):
        if row.join is None or not lines:
            lines.append("")
        lines[-1] += (row.join or "") + row.text[row.gutter :]
    return lines


def found(needle: str, text: str) -> list[str]:
    one = Needle(needle)
    return [text[slice(*match.span())] for match in one.pattern.finditer(one.comparable(text))]


@pytest.mark.parametrize(
    ("needle", "text", "expected"),
    [
        ("sky", "Sky SKY sky", ["Sky", "SKY", "sky"]),
        ("Sky", "Sky SKY sky", ["Sky"]),
        ("a b", "a  b a b", ["a b"]),
        (".*", "a.*b", [".*"]),
        ("aa", "aaaaa", ["aa", "aa"]),
        ("straße", "STRASSE Straße STRAẞE", ["Straße", "STRAẞE"]),
        ("οδος", "ΟΔΟΣ", ["ΟΔΟΣ"]),
        ("é", "E\u0301 É e", ["E\u0301", "É"]),
        ("e\u0301", "é", ["é"]),
        ("e", "e\u0301 e", ["e"]),
        ("日本", "日本語", ["日本"]),
    ],
)
def test_what_is_found(needle: str, text: str, expected: list[str]) -> None:
    assert found(needle, text) == expected


@given(st.text())
def test_folding_keeps_every_code_point_in_its_place(text: str) -> None:
    assert len(folded(text)) == len(text)
    assert folded(text) == "".join(folded(character) for character in text)


@pytest.mark.parametrize("needle", ["", " ", "\t  "])
def test_a_blank_needle_is_none(needle: str) -> None:
    assert not Needle(needle)


@pytest.mark.parametrize(
    ("needle", "source"),
    [
        ("sky blue", "the **sky** blue"),
        ("sky blue", "the sky\nblue"),
        ("skyline", "the **sky**line"),
        ("models", "[model](http://x.y/z_(a))s [model](http://x.y)s"),
        ("a < b", "a &lt; b"),
        ("Grüße", "GRU\u0308ßE Gru\u0308ße"),
        ("1.        c", "1. ~~~~"),
        ("head: value", "| head | other |\n|---|---|\n| value | x |"),
    ],
)
def test_a_source_is_kept_where_painting_it_shows_the_needle(needle: str, source: str) -> None:
    assert Needle(needle).may_be_in(source)


def test_a_source_without_the_words_is_left_out() -> None:
    assert not Needle("blue sky").may_be_in("the **blu** sky is [here](http://b.c)")
    assert not Needle("sky").may_be_in("s k y")


MARKDOWN = st.lists(
    st.sampled_from(
        ["sky", "Blue", "é", "日本", " ", "  ", "\n", "\n\n", "**", "*", "_", "`", "~~", "\\",
         "1. ", "- ", "> ", "# ", "| ", "|---|\n", "```\n", "[a](http://b.c)", "&amp;", "<b>", "\t"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(MARKDOWN, st.integers(12, 60), st.data())
def test_no_source_is_left_out_that_shows_the_needle(
    source: str, width: int, data: st.DataObject
) -> None:
    lines = [line for line in painted_lines(source, width) if line.strip()]
    if not lines:
        return
    line = data.draw(st.sampled_from(lines))
    start = data.draw(st.integers(0, len(line) - 1))
    needle = line[start : data.draw(st.integers(start + 1, len(line)))]
    assert Needle(needle).may_be_in(source)
