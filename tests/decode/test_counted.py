"""Numbers with their nouns, and sizes."""

import pytest

from ollm_tui.decode.counted import alternatives, counted, size_text


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (1204, "1,204 files")]
)
def test_a_number_goes_with_its_noun(number: int, words: str) -> None:
    assert counted(number, "file") == words


def test_a_plural_may_be_another_word() -> None:
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(3, "entry", "entries") == "3 entries"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1500, "2 kB"),
        (94_000, "94 kB"),
        (94_000_000, "94 MB"),
        (999_600_000, "1.0 GB"),
        (2.5e9, "2.5 GB"),
        (3e12, "3.0 TB"),
    ],
)
def test_a_size_is_written_as_people_compare_it(size: float | None, words: str) -> None:
    assert size_text(size) == words


def test_alternatives_are_written_as_in_a_sentence() -> None:
    assert alternatives(["a"]) == "a"
    assert alternatives(["a", "b"]) == "a or b"
    assert alternatives(["a", "b", "c"]) == "a, b or c"
