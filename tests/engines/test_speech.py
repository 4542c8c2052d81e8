"""Texts in sentences and clauses, as engines speak them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.engines.frames import Frame
from ollm_tui.engines.host import Job, JobCancelledError, JobError
from ollm_tui.engines.speech import MAX_SENTENCE_LENGTH, clauses, sentences, speak_sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Hello there. How are you?", ["Hello there.", "How are you?"]),
        ('He said "Go!" and left.\nNew line', ['He said "Go!"', "and left.", "New line"]),
        ("Pi is 3.14, see e.g.x for more.", ["Pi is 3.14, see e.g.x for more."]),
        ("A title\n\nThen text", ["A title", "Then text"]),
        ("one\ntwo", ["one two"]),
        ("\u4f60\u597d\u3002\u518d\u89c1\u3002", ["\u4f60\u597d\u3002", "\u518d\u89c1\u3002"]),
        (" \n ", []),
    ],
)
def test_a_text_is_cut_where_sentences_end(text: str, parts: list[str]) -> None:
    assert [*sentences(text)] == parts


@given(st.text(st.sampled_from("ab .,!?\n\u3002\u2019"), max_size=60) | st.text(max_size=2000))
def test_no_letter_is_lost_and_no_sentence_is_too_long(text: str) -> None:
    parts = [*sentences(text)]
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(0 < len(part) <= MAX_SENTENCE_LENGTH for part in parts)


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        ("Yes, I do; really.", ["Yes,", "I do;", "really."]),
        ("It costs 3,000.50 euros.", ["It costs 3,000.50 euros."]),
        ("Wait... what?!", ["Wait...", "what?!"]),
        ("no end", ["no end"]),
        ("...", []),
    ],
)
def test_a_sentence_is_cut_at_its_marks(sentence: str, parts: list[str]) -> None:
    assert clauses(sentence) == parts


def spoken(text: str, *, silent: bool = False) -> list[Frame]:
    sent: list[Frame] = []
    job = Job(Frame(1, "job", {}, text.encode()), sent.append)
    speak_sentences(job, 8000, lambda part: b"" if silent else b"\0\0" * len(part))
    return sent


def test_each_sentence_is_a_piece_and_a_step() -> None:
    assert [(one.type, dict(one.fields), len(one.data)) for one in spoken("A b. C.")] == [
        ("piece", {"rate": 8000}, 8),
        ("progress", {"step": 1, "total": 2}, 0),
        ("piece", {"rate": 8000}, 4),
        ("progress", {"step": 2, "total": 2}, 0),
    ]


@pytest.mark.parametrize(("text", "silent"), [("", False), ("...", True)])
def test_a_text_that_nobody_can_speak_is_an_error(text: str, *, silent: bool) -> None:
    with pytest.raises(JobError, match="nothing in the text"):
        spoken(text, silent=silent)


def test_a_cancelled_job_speaks_no_further_sentence() -> None:
    spoken_texts: list[str] = []

    def sound_of(text: str) -> bytes:
        spoken_texts.append(text)
        job.cancel()
        return b"\0\0"

    job = Job(Frame(1, "job", {}, b"A. B. C."), lambda _: None)
    with pytest.raises(JobCancelledError):
        speak_sentences(job, 8000, sound_of)
    assert spoken_texts == ["A."]
