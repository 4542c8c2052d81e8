"""Cut bytes or text anywhere, as networks and tokenizers do."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from hypothesis import strategies as st

Whole = TypeVar("Whole", bytes, str)


def cut_at(whole: Whole, offsets: Sequence[int]) -> list[Whole]:
    """Cut at these offsets; equal offsets give empty chunks."""
    borders = [0, *sorted(min(max(offset, 0), len(whole)) for offset in offsets), len(whole)]
    return [whole[start:end] for start, end in pairwise(borders)]


def one_by_one(whole: Whole) -> list[Whole]:
    return [whole[at : at + 1] for at in range(len(whole))]


def ways_to_cut(whole: Whole, offsets: Sequence[int] = ()) -> list[list[Whole]]:
    """Return the fixed cuts every case is tried with: whole, single pieces, halves, given ones."""
    middle = len(whole) // 2
    return [[whole], one_by_one(whole), cut_at(whole, [middle]), cut_at(whole, offsets)]


@st.composite
def cuts(draw: st.DrawFn, whole: Whole) -> list[Whole]:
    """Cut this whole at up to twelve places, the same place more than once if need be."""
    return cut_at(whole, draw(st.lists(st.integers(0, len(whole)), max_size=12)))


@st.composite
def cut_wholes(draw: st.DrawFn, wholes: st.SearchStrategy[Whole]) -> tuple[Whole, list[Whole]]:
    whole = draw(wholes)
    return whole, draw(cuts(whole))
