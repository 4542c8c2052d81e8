"""An answer becomes the sentences that a person would read aloud, in any pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.spoken import MAX_LENGTH, SpokenText, spoken_words

ANSWER = """\
# The sky, explained
Rayleigh scattering, e.g. of *blue* light, is **strong**. Dr. Smith said "yes." It takes
3.5 km! See [the page](https://en.wikipedia.org/wiki/A_(b)) or https://www.example.com/a?b=c.

```python
print("no. never")
```

| a | b |
|---|---|

- First item
- [x] Second item. With two sentences
1. One

---
> Quoted words
over two lines.

$$
x = 1
$$
これは文です。次の文。 The end 😀 <b>bold</b> &amp; `done`"""
SENTENCES = [
    "The sky, explained",
    "Rayleigh scattering, e.g. of blue light, is strong.",
    'Dr. Smith said "yes."',
    "It takes 3.5 km!",
    "See the page or example.com",
    "First item",
    "Second item.",
    "With two sentences",
    "One",
    "Quoted words over two lines.",
    "これは文です。",
    "次の文。",
    "The end bold & done",
]


def spoken(*pieces: str) -> list[str]:
    text = SpokenText()
    return [one for piece in pieces for one in text.feed(piece)] + text.finish()


def cut(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(one % (len(text) + 1) for one in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def test_what_nobody_would_read_aloud_is_left_out() -> None:
    assert spoken(ANSWER) == SENTENCES


@given(st.lists(st.integers(0, 10_000), max_size=20))
def test_any_pieces_give_the_same_sentences(cuts: list[int]) -> None:
    assert spoken(*cut(ANSWER, cuts)) == SENTENCES


_MARKS = st.sampled_from([*"\n\n .!?。`~|#-*_>[]()$1a", "```", "$$", "http://a.b/", "\u202e"])


@given(st.lists(_MARKS, max_size=80).map("".join), st.lists(st.integers(0, 500), max_size=8))
def test_any_text_gives_bounded_sentences_in_any_pieces(text: str, cuts: list[int]) -> None:
    sentences = spoken(text)
    assert spoken(*cut(text, cuts)) == sentences
    for one in sentences:
        assert any(map(str.isalnum, one))
        assert one == one.strip()
        assert "\n" not in one


@pytest.mark.parametrize("text", ["word " * 5000, "w" * 20_000, "字、" * 5000])
def test_a_text_without_an_end_is_divided(text: str) -> None:
    sentences = spoken(text)
    assert len(sentences) > 1
    assert max(map(len, sentences)) <= 5 * MAX_LENGTH
    assert "".join(sentences).replace(" ", "") == text.replace(" ", "")


def test_a_sentence_comes_as_soon_as_it_is_complete() -> None:
    text = SpokenText()
    assert text.feed("One sentence is here. And") == ["One sentence is here."]
    assert text.feed(" another.") == []
    assert text.feed("\n\n") == ["And another."]


@pytest.mark.parametrize("fence", ["```", "~~~~", "````"])
def test_a_code_block_that_does_not_end_is_not_read(fence: str) -> None:
    assert spoken(f"Look:\n{fence}py\nprint(1)\n") == ["Look:"]
    assert spoken(f"Look:\n{fence}py\n``\n{fence}\nafter the code") == ["Look:", "after the code"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("![a cat](cat.png) sat", "a cat sat"),
        ('[x](y "title") and [z][1] and a note[^2]', "x and z and a note"),
        ("snake_case stays, _this_ goes", "snake_case stays, this goes"),
        ("<br> 1 < 2", "1 < 2"),
        ("***", ""),
        ("a\x1b[31m\x07b", "a31mb"),
    ],
)
def test_marks_are_not_read(text: str, words: str) -> None:
    assert spoken_words(text) == words
