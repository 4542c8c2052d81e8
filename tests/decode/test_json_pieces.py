"""JSON in pieces is the same JSON, whatever the value and wherever a long text is cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.json_guard import PIECE, SLICE, json_pieces, json_slices, repaired
from ollm_tui.protocol.json_types import JsonValue

ENCODERS = (
    json.JSONEncoder(ensure_ascii=False, separators=(",", ":")),
    json.JSONEncoder(ensure_ascii=False, allow_nan=False),
)
any_text = st.text(st.characters(codec=None))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=30,
)


@given(value=values, encoder=st.sampled_from(ENCODERS), levels=st.integers(0, 4))
def test_pieces_are_the_whole_text_and_none_is_empty(
    value: JsonValue, encoder: json.JSONEncoder, levels: int
) -> None:
    try:
        whole = encoder.encode(value)
    except ValueError:  # infinite
        return
    pieces = [*json_pieces(value, encoder, levels)]
    assert "".join(pieces) == whole
    assert all(pieces)


@given(
    unit=st.sampled_from(["a", '"\\', "é", "\ud83d", "\ud83d\ude00", "\U0001f600", "\n\0"]),
    lead=st.integers(0, 3),
    length=st.sampled_from([PIECE - 1, PIECE, PIECE + 1, SLICE, SLICE + 1, 3 * SLICE]),
)
def test_a_long_text_is_cut_without_a_trace(unit: str, lead: int, length: int) -> None:
    text = "x" * lead + unit * (length // len(unit))
    slices = [*json_slices({"text": [text, text]}, ENCODERS[0])]
    assert b"".join(slices) == repaired(ENCODERS[0].encode({"text": [text, text]})).encode()
    assert max(map(len, slices)) <= 6 * (SLICE + PIECE) + 100


def test_nesting_without_end_is_told_apart_and_so_is_what_json_does_not_know() -> None:
    deep: JsonValue = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        [*json_pieces(deep, ENCODERS[0])]
    with pytest.raises(ValueError, match="not JSON compliant"):
        [*json_pieces({"a": [float("nan")]}, ENCODERS[1])]


def test_names_that_are_no_text_are_written_as_python_writes_them() -> None:
    odd: JsonValue = {1: "x", None: "y"}  # type: ignore[dict-item]
    assert "".join(json_pieces(odd, ENCODERS[0])) == ENCODERS[0].encode(odd)
