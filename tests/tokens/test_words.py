"""Short texts are counted with the ranks alone, exactly as tiktoken counts them."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tokens import encodings as module
from ollm_tui.tokens.encodings import Encoding, Encodings
from ollm_tui.tokens.words import MAX_TEXT_LENGTH, MAX_TOTAL_LENGTH, MAX_WORD_LENGTH, WordCounter

WORDS = st.text("abcXYZ'sll\n\t 0129.,!é ñß“”—…🚀👩\u200d漢字한국어สวัสดีд\u0301", max_size=60)


def counter(ranks: dict[bytes, int]) -> WordCounter:
    return WordCounter(ranks, str.split)


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Encoding, Encoding]]:
    """The tokenizers twice: one counts words, one is tiktoken's."""

    async def found(model: str) -> Encoding:
        encoding = await Encodings().encoding_for(model)
        assert encoding is not None
        return encoding

    models = ("gpt-4", "gpt-4o")
    return [(anyio.run(found, model), anyio.run(found, model)) for model in models]


@pytest.mark.slow
@given(st.one_of(WORDS, st.text(max_size=40)))
def test_it_counts_as_tiktoken_does(pairs: list[tuple[Encoding, Encoding]], text: str) -> None:
    for short, whole in pairs:
        assert short.count(text) == len(whole.core.encode_ordinary(text))
        assert isinstance(short._made, module.Ranks)


async def test_tiktoken_takes_in_the_ranks_only_for_long_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[str] = []
    original = module._built

    def noted(name: str, made: module.Ranks) -> object:
        built.append(name)
        return original(name, made)

    monkeypatch.setattr(module, "_built", noted)
    encoding = await Encodings().encoding_for("gpt-4o")
    assert encoding is not None
    assert encoding.count("A question, as people ask it.") == 8
    assert built == []
    assert encoding.count("long " * MAX_TEXT_LENGTH) > MAX_TEXT_LENGTH
    assert encoding.count("long " * MAX_TEXT_LENGTH) > MAX_TEXT_LENGTH
    assert built == ["o200k_base"]


def test_pairs_of_the_lowest_rank_are_merged_first() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abcab": 5}
    assert counter(ranks).count("abc abcab ab cc") == 2 + 1 + 1 + 2


def test_what_would_take_long_is_left_to_tiktoken() -> None:
    ranks = {b"x": 0, b"y" * 100: 1}
    assert counter(ranks).count("x" * MAX_WORD_LENGTH) == MAX_WORD_LENGTH
    assert counter(ranks).count("x" * (MAX_WORD_LENGTH + 1)) is None
    assert counter(ranks).count("y" * 100) == 1
    assert counter(ranks).count("x " * MAX_TEXT_LENGTH) is None
    assert counter(ranks).count("\ud800") is None
    often = counter(ranks)
    text = "x" + " " * (MAX_TEXT_LENGTH - 1)
    assert [often.count(text) for _ in range(MAX_TOTAL_LENGTH // MAX_TEXT_LENGTH)][-1] == 1
    assert often.count(text) is None
