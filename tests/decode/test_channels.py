"""Messages in channels, as gpt-oss writes them and some servers pass them on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.channels import (
    MAX_HEADER_LENGTH,
    AnswerPiece,
    CallPiece,
    ChannelSplitter,
)
from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece
from ollm_tui.protocol.request import ThinkingChannels
from tests.support.cuts import cut_wholes

TAGS = ThinkingChannels(
    start="<|start|>",
    channel="<|channel|>",
    text="<|message|>",
    ends=("<|end|>", "<|return|>", "<|call|>"),
    thinking=("analysis",),
    calls_to="functions.",
)
THOUGHT = "<|channel|>analysis<|message|>Two and two.<|end|>"
ANSWER = "<|start|>assistant<|channel|>final<|message|>Four.<|return|>"
Divided = tuple[str, str, list[tuple[str, str]]]


def divided(chunks: list[str]) -> Divided:
    """Return the text, the thinking, and the calls with their arguments."""
    splitter = ChannelSplitter(TAGS)
    pieces: list[AnswerPiece] = []
    for chunk in chunks:
        pieces += splitter.feed(chunk)
    pieces += splitter.finish()
    calls: dict[int, tuple[str, str]] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            name, text = calls.get(piece.number, (piece.name or "", ""))
            calls[piece.number] = name, text + piece.text
    return (
        "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)),
        "".join(piece.text for piece in pieces if isinstance(piece, ThinkingPiece)),
        list(calls.values()),
    )


CALL = '<|channel|>commentary to=functions.clock <|constrain|>json<|message|>{"a": 1}<|call|>'
IN_ROLE = ' to=functions.clock<|channel|>commentary json<|message|>{"a": 1}<|call|>'
CASES: list[tuple[str, Divided]] = [
    (THOUGHT + ANSWER, ("Four.", "Two and two.", [])),
    ("Four.", ("Four.", "", [])),
    (" \n", (" \n", "", [])),
    (" to be\nor not", (" to be\nor not", "", [])),
    (THOUGHT + "<|start|>assistant" + CALL, ("", "Two and two.", [("clock", '{"a": 1}')])),
    (IN_ROLE, ("", "", [("clock", '{"a": 1}')])),
    (THOUGHT + "<|start|>assistant" + IN_ROLE, ("", "Two and two.", [("clock", '{"a": 1}')])),
    (CALL + "<|start|>assistant" + CALL, ("", "", [("clock", '{"a": 1}')] * 2)),
    (
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant" + CALL,
        ("I look.", "", [("clock", '{"a": 1}')]),
    ),
    (
        "<|channel|>commentary<|message|>I look.<|end|>" + THOUGHT + ANSWER,
        ("I look.\n\nFour.", "Two and two.", []),
    ),
    (THOUGHT + "\n" + THOUGHT, ("", "Two and two.\n\nTwo and two.", [])),
    (THOUGHT.removesuffix("<|end|>") + ANSWER, ("Four.", "Two and two.", [])),
    ("<|channel|>analysis<|message|>cut", ("", "cut", [])),
    ("<|channel|>analysis", ("", "", [])),
    ("<|channel|>final<|message|>a < b <|x|>", ("a < b <|x|>", "", [])),
    (THOUGHT + "\nFour.", ("Four.", "Two and two.", [])),
    (
        "<|channel|>analysis to=browser.search<|message|>q<|call|>",
        ("", "q", []),
    ),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_channel_says_what_its_message_is(text: str, expected: Divided) -> None:
    for chunks in ([text], list(text), [text[:7], text[7:]]):
        assert divided(chunks) == expected


PARTS = [
    *("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"),
    *("assistant", "analysis", "final", "commentary", " to=functions.f ", "to=", "<|constrain|>"),
    *("a", "word ", "\n", " ", "<", "<|", "{}", "🧠", "x" * (MAX_HEADER_LENGTH - 20)),
]


@given(case=cut_wholes(st.lists(st.sampled_from(PARTS), max_size=14).map("".join)))
def test_how_it_is_cut_into_chunks_changes_nothing(case: tuple[str, list[str]]) -> None:
    whole, chunks = case
    assert divided(chunks) == divided([whole])


@given(text=st.text(st.sampled_from("ab \nto=<|>"), max_size=40))
def test_text_without_channels_is_unchanged(text: str) -> None:
    assert divided(list(text)) == (text, "", [])


def test_a_header_without_end_is_text() -> None:
    long = "<|channel|>" + "x" * MAX_HEADER_LENGTH
    assert divided([long]) == (long, "", [])
