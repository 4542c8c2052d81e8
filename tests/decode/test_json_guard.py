import json
import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.decode.json_guard import (
    PIECE,
    SLICE,
    BadJson,
    dump_json,
    json_pieces,
    json_slices,
    parse_json,
    parse_json_objects,
    repaired,
)
from ollm_tui.protocol.json_types import JsonValue
from tests.support.seeds import in_parts

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "NaN", "[Infinity]", "[-Infinity]", "[1e999]", "[-1e999]", "1" * 5000),
        *("[" * 100_000, '{"a":' * 100_000, "{'a': 1}", '{"a": 1,}', '"a\nb"', "\ufeff{}", "{} x"),
    ],
    ids=lambda text: text[:12],
)
def test_what_cannot_be_passed_on_is_bad_json(text: str) -> None:
    with pytest.raises(BadJson):
        parse_json(text)
    with pytest.raises(BadJson):
        parse_json(text, in_slices=True)
    with pytest.raises(BadJson):
        parse_json_objects(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"\udc00x\ud83d"', "\ufffdx\ufffd"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\uD83D\uDE00\uDE00"', "😀\ufffd"),
        (r'"\ud800\ud83d\ude00"', "\ufffd😀"),
        (r'"\\ud800"', r"\ud800"),
        (r'"\\\ud800"', "\\\ufffd"),
        (r'{"\ud800": ["\udfff"]}', {"\ufffd": ["\ufffd"]}),
    ],
)
def test_half_surrogate_pairs_become_replacement_characters(text: str, value: object) -> None:
    assert parse_json(text) == value


def test_repeated_keys_are_refused_on_demand_at_any_depth() -> None:
    text = '{"a": [{"b": 1, "b": 2}]}'
    assert parse_json(text) == {"a": [{"b": 2}]}
    with pytest.raises(BadJson, match="twice"):
        parse_json(text, unique_keys=True)
    with pytest.raises(BadJson, match="twice"):
        parse_json(r'{"\ud800": 1, "\ud801": 2}', unique_keys=True)


def test_objects_in_a_row_are_all_returned() -> None:
    assert parse_json_objects(' {"a":1} {} ') == [{"a": 1}, {}]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_not_written(value: float) -> None:
    with pytest.raises(BadJson):
        dump_json([value])


@given(value=VALUES)
def test_every_json_value_survives_the_way_there_and_back(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False)) == value
    assert parse_json(json.dumps(value), in_slices=True) == value


@given(text=st.text(alphabet='\\ud8Dc0fFe"{}[]:,x', max_size=40))
def test_whatever_is_accepted_can_be_encoded(text: str) -> None:
    for candidate in (text, f'"{text}"'):
        try:
            value = parse_json(candidate)
        except BadJson:
            continue
        dump_json(value).encode("utf-8")


@given(text=st.text(alphabet='\\ud8"{}[]:,.-e01 tnf', max_size=30))
def test_what_is_read_in_slices_is_what_is_read_at_once(text: str) -> None:
    def read(*, in_slices: bool) -> object:
        try:
            return parse_json(text, in_slices=in_slices)
        except BadJson:
            return BadJson

    assert read(in_slices=True) == read(in_slices=False)


@pytest.mark.parametrize("in_slices", [True, False])
def test_read_in_slices_python_s_own_code_runs_for_each_object(in_slices: bool) -> None:
    """Where Python's code runs, another thread may have its turn."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    text = json.dumps([{"path": "m.gguf", "lfs": {"size": 1}}] * 500)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse_json(text, in_slices=in_slices)
    finally:
        sys.setprofile(before)
    assert (calls > 1000) is in_slices


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


@pytest.mark.slow
@in_parts(4)
@settings(max_examples=25)
@given(
    unit=st.sampled_from(["a", '"\\', "é", "\ud83d", "\ud83d\ude00", "\U0001f600", "\n\0"]),
    lead=st.integers(0, 3),
    length=st.sampled_from([PIECE - 1, PIECE, PIECE + 1, SLICE, SLICE + 1, 3 * SLICE]),
)
def test_a_long_text_is_cut_without_a_trace(part: int, unit: str, lead: int, length: int) -> None:
    text = "x" * lead + unit * (length // len(unit))
    slices = [*json_slices({"text": [text, text]}, ENCODERS[0])]
    assert b"".join(slices) == repaired(ENCODERS[0].encode({"text": [text, text]})).encode()
    assert max(map(len, slices)) <= 6 * (SLICE + PIECE) + 100


def test_nesting_without_end_is_distinguished_and_so_is_what_json_does_not_know() -> None:
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
