"""The nearest vectors, with numpy and without, in memory that is bounded."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from math import sqrt
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.store.search import vectors
from ollm_tui.store.search.embedding_queue import VectorWriter, WaitingText, forget_vector
from ollm_tui.store.search.index_file import open_index
from ollm_tui.store.search.vectors import BLOCK, Cancelled, VectorBlocks, nearest, packed

NUMBERS = st.floats(-100, 100, allow_subnormal=False).filter(lambda n: n == 0 or abs(n) > 1e-3)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_index(tmp_path / "index.db")) as connection:
        yield connection


def keep(index: sqlite3.Connection, number: int, vector: list[float]) -> None:
    index.execute("INSERT OR REPLACE INTO messages VALUES (?, 1, 'a', 'user', '', 1, 1)", (number,))
    writer = VectorWriter(index)
    list(writer.use_model("m"))
    writer.store("m", [WaitingText(number, 1, "")], [vector])


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / sqrt(sum(a * a for a in one) * sum(b * b for b in other))


@pytest.mark.parametrize("has_numpy", [True, False])
@given(st.lists(st.lists(NUMBERS, min_size=5, max_size=5), min_size=1, max_size=12))
def test_similarity_is_the_cosine_of_the_angle(has_numpy: bool, some: list[list[float]]) -> None:
    with closing(open_index_in_memory()) as index, numpy_is(has_numpy):
        given_vectors = {number: v for number, v in enumerate(some, 1) if any(v)}
        for number, vector in given_vectors.items():
            keep(index, number, vector)
        wanted = [1.0, 2.0, 0.0, -1.0, 0.5]
        scores = nearest(index, wanted, VectorBlocks(), 100)
        assert {number for _, number in scores} == given_vectors.keys()
        assert [score for score, _ in scores] == sorted((s for s, _ in scores), reverse=True)
        for score, number in scores:
            assert score == pytest.approx(cosine(wanted, given_vectors[number]), abs=0.02)


def open_index_in_memory() -> sqlite3.Connection:
    from ollm_tui.store.search import index_file

    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(index_file._SCHEMA + index_file._VECTORS)
    return connection


def numpy_is(there: bool) -> AbstractContextManager[object]:
    return patch.object(vectors, "find_spec", lambda _name: there or None)


@pytest.mark.parametrize("has_numpy", [True, False])
def test_only_the_best_are_returned(index: sqlite3.Connection, has_numpy: bool) -> None:
    for number in range(40):
        keep(index, number, [1.0, number / 10])
    with numpy_is(has_numpy):
        scores = nearest(index, [1.0, 0.0], VectorBlocks(), 3)
    assert [number for _, number in scores] == [0, 1, 2]


def test_zeros_and_vectors_of_another_length_are_nowhere(index: sqlite3.Connection) -> None:
    keep(index, 1, [0.0, 0.0])
    keep(index, 2, [1.0, 0.0])
    assert packed([0.0]) is None
    assert nearest(index, [0.0, 0.0], VectorBlocks(), 9) == []
    assert nearest(index, [1.0, 0.0, 0.0], VectorBlocks(), 9) == []
    assert len(nearest(index, [1.0, 0.0], VectorBlocks(), 9)) == 1


def test_only_blocks_that_changed_are_read_again(index: sqlite3.Connection) -> None:
    for block in range(3):
        keep(index, block * BLOCK + 1, [1.0, block])
    blocks = VectorBlocks()
    read: list[int] = []
    real = vectors._read_block

    def counted(connection: sqlite3.Connection, number: int) -> vectors._Block:
        read.append(number)
        return real(connection, number)

    with patch.object(vectors, "_read_block", counted):
        nearest(index, [1.0, 0.0], blocks, 9)
        assert read == [2, 1, 0]
        keep(index, BLOCK + 2, [0.5, 1.0])
        forget_vector(index, 1)
        read.clear()
        scores = nearest(index, [1.0, 0.0], blocks, 9)
    assert read == [1, 0]
    assert sorted(number for _, number in scores) == [BLOCK + 1, BLOCK + 2, 2 * BLOCK + 1]


def test_memory_is_bounded_and_the_rest_is_read_each_time(index: sqlite3.Connection) -> None:
    for block in range(4):
        keep(index, block * BLOCK + 1, [1.0, block])
    blocks = VectorBlocks(kept_bytes=40)
    for _ in range(2):
        assert len(nearest(index, [1.0, 0.0], blocks, 9)) == 4
    assert list(blocks._blocks) == [3, 2]


def test_a_search_that_is_no_longer_wanted_ends(index: sqlite3.Connection) -> None:
    keep(index, 1, [1.0])
    with pytest.raises(Cancelled):
        nearest(index, [1.0], VectorBlocks(), 9, lambda: True)
