"""Answers that may begin inside a block which the prompt opened; nothing says whether they do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece
from ollm_tui.decode.thinking import (
    MAX_FIRST_TEXT_LENGTH,
    TagPair,
    ThinkTags,
    ThinkTagSplitter,
    opens_thinking,
)
from tests.decode.kept import joined
from tests.support.cuts import cut_wholes

PAIR = TagPair("<think>", "</think>")
OPEN = st.builds(
    ThinkTags,
    pairs=st.sampled_from([(PAIR,), ()]),
    answer_starts=st.sampled_from([("ANSWER:",), ("\nend\n", "</think>")]),
    start_open=st.just(True),
    where=st.sampled_from(["leading", "anywhere"]),
)
WORDS = ["a", "word ", "\n", " ", "<", "<thi", "</t", "ANSW", "\nen", "🧠"]
MARKS = ["<think>", "</think>", "ANSWER:", "\nend\n"]


def texts(parts: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), max_size=12).map("".join)


def divided(
    chunks: list[str], tags: ThinkTags, *, ended_well: bool = True, apart_at: int | None = None
) -> tuple[str, str]:
    """Return the text and the thinking; the server sends thinking apart before one chunk."""
    splitter, pieces = ThinkTagSplitter(tags), []
    for number, chunk in enumerate(chunks):
        if number == apart_at:
            splitter.expect_text()
        pieces += splitter.feed(chunk)
    pieces += splitter.finish(ended_well=ended_well)
    return joined(pieces, TextPiece), joined(pieces, ThinkingPiece)


@given(case=cut_wholes(texts(WORDS)), tags=OPEN)
def test_an_answer_that_nothing_ends_is_text_if_it_ended_well(
    case: tuple[str, list[str]], tags: ThinkTags
) -> None:
    whole, chunks = case
    text, thinking = divided(chunks, tags)
    if not any(mark in whole for mark in MARKS):
        assert (text.strip(), thinking) == (whole.strip(), "")
        text, thinking = divided(chunks, tags, ended_well=False)
        assert (text.strip(), thinking) == ("", whole.lstrip())


@given(case=cut_wholes(texts(WORDS + MARKS)), tags=OPEN)
def test_how_it_is_cut_into_chunks_changes_nothing(
    case: tuple[str, list[str]], tags: ThinkTags
) -> None:
    whole, chunks = case
    assert divided(chunks, tags) == divided([whole], tags)


@given(case=cut_wholes(texts(WORDS + MARKS)), tags=OPEN)
def test_after_thinking_that_the_server_sent_apart_the_text_is_the_answer(
    case: tuple[str, list[str]], tags: ThinkTags
) -> None:
    _whole, chunks = case
    closed = ThinkTags(pairs=tags.pairs, answer_starts=tags.answer_starts, where=tags.where)
    assert divided(chunks, tags, apart_at=0) == divided(chunks, closed, apart_at=0)


def test_a_block_is_closed_by_its_tag_an_answer_tag_or_the_server() -> None:
    tags = ThinkTags(pairs=(PAIR,), answer_starts=("ANSWER:",), start_open=True)
    assert divided(["hm", "</think>Yes"], tags) == ("Yes", "hm")
    assert divided(["<think>hm", "</think>Yes"], tags) == ("Yes", "hm")
    assert divided(["hm ", "ANSWER: Yes"], tags) == ("Yes", "hm")
    assert divided(["hm", " Yes"], tags, apart_at=1) == ("Yes", "hm")
    assert divided(["<think>hm"], tags) == ("", "hm"), "the model opened it itself"
    assert divided(["hm"], tags, ended_well=False) == ("", "hm")


LATE = [
    ("So it is 4.\n</think>\n\nFour.", ("Four.", "So it is 4.")),
    ("So.</think>4", ("4", "So.")),
    ("\n</think>\n\n4", ("4", "")),
    ("</think>", ("</think>", "")),
    ("a </think> b", ("a </think> b", "")),
    ("It ends with `</think>`.", ("It ends with `</think>`.", "")),
    ("```\nx\n</think>\n```", ("```\nx\n</think>\n```", "")),
    ("```\nx\n```\n</think>\ny", ("y", "```\nx\n```")),
    ("a <think> b\n</think> c", ("a <think> b\n</think> c", "")),
    ("a `</think>` b\n</think>c", ("a `</think>` b\n</think>c", "")),
    ("a\n[/THINK]b", ("b", "a")),
    ("<think>a</think>b\n</think>c", ("b\n</think>c", "a")),
]


@pytest.mark.parametrize(("text", "expected"), LATE)
def test_an_end_tag_without_a_start_tag_turns_the_text_before_it_into_thinking(
    text: str, expected: tuple[str, str]
) -> None:
    for chunks in ([text], list(text)):
        assert divided(chunks, ThinkTags()) == expected


@given(case=cut_wholes(texts([*WORDS, "<think>", "</think>", "\n</think>\n", "```", "`"])))
def test_how_text_that_becomes_thinking_is_cut_changes_nothing(
    case: tuple[str, list[str]],
) -> None:
    whole, chunks = case
    assert divided(chunks, ThinkTags()) == divided([whole], ThinkTags())


def test_after_a_long_text_or_thinking_sent_apart_an_end_tag_is_text() -> None:
    begun = "a" * MAX_FIRST_TEXT_LENGTH
    assert divided([begun, "\n</think>b"], ThinkTags()) == (f"{begun}\n</think>b", "")
    assert divided([begun, "</think>b"], ThinkTags()) == ("b", begun)
    assert divided(["a.", "\n</think>b"], ThinkTags(), apart_at=1) == ("a.\n</think>b", "")


@pytest.mark.parametrize(
    ("template", "is_open"),
    [
        ("{% if add_generation_prompt %}{{ '<|A|><think>\\n' }}{% endif %}", True),
        ("{% if add_generation_prompt %}<|A|><think>\n{% endif %}", True),
        (
            "{% if add_generation_prompt %}{% if enable_thinking is false %}"
            "{{ '<think>\\n\\n</think>\\n\\n' }}{% else %}{{- '<think>\\n' -}}{% endif %}"
            "{% endif %}",
            True,
        ),
        ("{% if add_generation_prompt %}{{ '<think>\\n\\n</think>\\n' }}{% endif %}", False),
        ("{{ '<think>\\n' }}{% if add_generation_prompt %}{{ '<|A|>' }}{% endif %}", False),
        ("{{ .Prompt }}<|Assistant|><think>\n", True),
        ("{{ .Prompt }}{{ if .Think }}<think>{{ end }}", True),
        ("{{ .Prompt }}<|Assistant|>", False),
        ("", False),
    ],
)
def test_a_template_tells_whether_it_opens_the_thinking(template: str, is_open: bool) -> None:
    assert opens_thinking(template) is is_open
