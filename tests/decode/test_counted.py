"""Numbers with their nouns."""

import pytest

from ollm_tui.decode.counted import alternatives, counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (1204, "1,204 files")]
)
def test_a_number_goes_with_its_noun(number: int, words: str) -> None:
    assert counted(number, "file") == words


def test_a_plural_may_be_another_word() -> None:
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(3, "entry", "entries") == "3 entries"


def test_alternatives_are_written_as_in_a_sentence() -> None:
    assert alternatives(["a"]) == "a"
    assert alternatives(["a", "b"]) == "a or b"
    assert alternatives(["a", "b", "c"]) == "a, b or c"
