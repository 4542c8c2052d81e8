"""The text that every program of the benchmark is asked to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.terminal.answer import DOCUMENTS, MARKED, document_pieces, pieces

pytestmark = pytest.mark.slow


@given(st.integers(9, 3000), st.integers(1, 9999))
def test_an_answer_has_its_number_of_pieces_and_both_its_marks(count: int, ident: int) -> None:
    found = pieces(count, ident)
    assert len(found) == count
    text = "".join(found)
    assert text.startswith(f"QSTART{ident}\n\n")
    assert text.endswith(f"\n\nQDONE{ident}")
    assert text.count("```") % 2 == 0


@given(st.integers(9, 3000), st.integers(1, 50))
def test_marked_words_are_pieces_of_their_own_and_all_different(count: int, every: int) -> None:
    found = pieces(count, 7, every)
    assert len(found) == count
    marked = [piece for piece in found if MARKED.search(piece)]
    assert marked == [f" w{number:03d}" for number in range(1, len(marked) + 1)]
    assert not any(map(MARKED.search, pieces(count, 7)))


def test_marked_words_come_as_often_as_they_should() -> None:
    assert 80 <= len(MARKED.findall("".join(pieces(1000, 1, 5)))) <= 200


def test_a_longer_answer_begins_as_a_shorter_one() -> None:
    short, long = pieces(1000, 1), pieces(5000, 1)
    assert long[: len(short) - 10] == short[:-10]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_the_same_whole_and_in_pieces(name: str) -> None:
    whole = document_pieces(name, 7, whole=True)
    cut = document_pieces(name, 7, whole=False)
    assert "".join(whole) == "".join(cut)
    assert whole[-1].endswith("QDONE7")
    assert len(whole) == 3
