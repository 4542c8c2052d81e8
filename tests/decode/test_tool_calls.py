import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.tool_calls import ToolCallAssembler, ToolCallDelta, read_tool_call_deltas
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import ToolCall
from tests.support.cuts import cut_wholes
from tests.support.tools import feed_one

Entry = dict[str, JsonValue]


def entry(
    arguments: JsonValue = None,
    *,
    name: str | None = None,
    id: str | None = None,
    index: int | None = None,
    **extra: JsonValue,
) -> Entry:
    """Write an entry of a `tool_calls` array that has only the keys that were given."""
    given_keys: Entry = {"index": index, "id": id, **extra}
    function: Entry = {"name": name, "arguments": arguments}
    found: Entry = {key: value for key, value in given_keys.items() if value is not None}
    found["function"] = {key: value for key, value in function.items() if value is not None}
    return found


def assemble(arrays: Sequence[JsonValue], *, complete: bool = True) -> list[ToolCall]:
    assembler = ToolCallAssembler(new_id=lambda number: f"made_{number}")
    for array in arrays:
        assembler.feed(read_tool_call_deltas(array))
    return assembler.finish(complete)


def short(calls: list[ToolCall]) -> list[tuple[str, str, object]]:
    return [(call.id, call.name, call.args) for call in calls]


SPLIT: list[JsonValue] = [
    [entry("", id="c1", name="f", index=0)],
    [entry('{"a":', index=0)],
    [entry("1}", index=0)],
    [entry("", index=0)],
]


def test_arguments_in_pieces_are_parsed_once_at_the_end() -> None:
    assert short(assemble(SPLIT)) == [("c1", "f", {"a": 1})]


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        pytest.param(
            [[entry('{"a":1}', id="c1", name="f", index=0)]],
            [("c1", "f", {"a": 1})],
            id="whole call in one delta",
        ),
        pytest.param(
            [[entry("{}", id="c1", name="f", index=0)], [entry('{"a":1}', index=0)]],
            [("c1", "f", None)],
            id="a valid beginning does not end the call",
        ),
        pytest.param(
            [
                [
                    entry('{"a":', id="c1", name="f", index=0),
                    entry('{"b":', id="c2", name="g", index=1),
                ],
                [entry("2}", index=1)],
                [entry("1}", index=0)],
            ],
            [("c1", "f", {"a": 1}), ("c2", "g", {"b": 2})],
            id="interleaved pieces of two calls",
        ),
        pytest.param(
            [
                [entry('{"a":1}', id="c1", name="f", index=0)],
                [entry('{"b":2}', id="c2", name="f", index=0)],
            ],
            [("c1", "f", {"a": 1}), ("c2", "f", {"b": 2})],
            id="a new id under a known index is a new call",
        ),
        pytest.param(
            [[entry('{"a"', id="c1", name="f")], [entry(":1}")], [entry("{}", id="c2", name="g")]],
            [("c1", "f", {"a": 1}), ("c2", "g", {})],
            id="no index",
        ),
        pytest.param(
            [[entry('{"a":1}', name="f", id=""), entry('{"a":2}', name="f", id="")]],
            [("made_1", "f", {"a": 1}), ("made_2", "f", {"a": 2})],
            id="two entries of one array without index and id",
        ),
        pytest.param(
            [
                [entry('{"a"', name="f"), entry('{"b"', name="f")],
                [entry(":1}"), entry(":2}")],
            ],
            [("made_1", "f", {"a": 1}), ("made_2", "f", {"b": 2})],
            id="places of an array tell calls apart",
        ),
        pytest.param(
            [[entry('{"a":1}', name="f")], [entry('{"a":1}', name="f")], [entry("{}", name="g")]],
            [("made_1", "f", {"a": 1}), ("made_2", "f", {"a": 1}), ("made_3", "g", {})],
            id="whole calls one by one without index and id",
        ),
        pytest.param(
            [[entry({"a": 1}, name="f", index=0)], [entry({"a": 1}, name="f", index=0)]],
            [("made_1", "f", {"a": 1}), ("made_2", "f", {"a": 1})],
            id="whole objects under one index",
        ),
        pytest.param(
            [
                [entry('{"a', id="c1", name="f", index=0)],
                [entry('":', id="", name="", index=0, type="")],
                [entry("1", id="null", index=0)],
                [{"index": 0, "id": None, "function": {"name": None, "arguments": "}"}}],
            ],
            [("c1", "f", {"a": 1})],
            id="empty and placeholder values change nothing",
        ),
        pytest.param(
            [
                [entry('{"a":', id="c1", name="f", index=0)],
                [entry("1}", id="c1", name="f", index=0)],
            ],
            [("c1", "f", {"a": 1})],
            id="id and name repeated",
        ),
        pytest.param(
            [[entry('{"a":', id="c1", index=0)], [entry("1}", name="f", index=0)]],
            [("c1", "f", {"a": 1})],
            id="name after the first arguments",
        ),
        pytest.param(
            [[entry(name="f", index=0)], [entry('{"a":1}', id="c1", index=0)]],
            [("c1", "f", {"a": 1})],
            id="id after the name",
        ),
        pytest.param(
            [[entry(name="f")], [entry('{"a":1}', name="f")]],
            [("made_1", "f", {"a": 1})],
            id="name announced, then repeated with the arguments",
        ),
        pytest.param(
            [
                [entry('{"a":', id="c1", name="f", index=0)],
                [entry('{"b":', id="c2", name="g", index=0)],
                [entry("1}", id="c1", index=0)],
                [entry("2}", id="c2", index=0)],
            ],
            [("c1", "f", {"a": 1}), ("c2", "g", {"b": 2})],
            id="ids tell calls apart that share an index",
        ),
        pytest.param([[entry(id="c1", name="f")]], [("c1", "f", {})], id="arguments missing"),
        pytest.param([[entry("", id="c1", name="f")]], [("c1", "f", {})], id="arguments empty"),
        pytest.param([[entry("null", id="c1", name="f")]], [("c1", "f", {})], id="arguments null"),
        pytest.param(
            [[entry({"a": 1}, id="c1", name="f")]], [("c1", "f", {"a": 1})], id="an object"
        ),
        pytest.param(
            [[entry(json.dumps('{"a": 1}'), id="c1", name="f")]],
            [("c1", "f", {"a": 1})],
            id="JSON in a JSON string",
        ),
        pytest.param(
            [[entry(json.dumps(json.dumps('{"a": 1}')), id="c1", name="f")]],
            [("c1", "f", None)],
            id="JSON in a string in a string",
        ),
        pytest.param(
            [[entry('{"a":1}', id="c1", name="f")], [entry(" \n")], [entry("\t")]],
            [("c1", "f", {"a": 1})],
            id="white space after the brace",
        ),
        pytest.param(
            [
                [entry("{}", id="same", name="f", index=0)],
                [entry("{}", id="same", name="g", index=1)],
            ],
            [("same", "f", {}), ("made_1", "g", {})],
            id="one id for two indexes",
        ),
        pytest.param(
            [None, [], [None, 3, "x"], [{}], [{"index": 0}]], [], id="nothing that is a call"
        ),
        pytest.param(
            [entry("{}", id="c1", name="f")],
            [("c1", "f", {})],
            id="an object in place of the array",
        ),
    ],
)
def test_deltas_become_calls(
    arrays: list[JsonValue], expected: list[tuple[str, str, object]]
) -> None:
    assert short(assemble(arrays)) == expected


@pytest.mark.parametrize(
    "raw",
    [
        *(
            '{"a":1',
            "[1]",
            "7",
            '"text"',
            '{"a":1}{"b":2}',
            "{'a': 1}",
            '{"a": NaN}',
            "[" * 100_000,
        ),
        *('{"path": "safe", "path": "other"}', '{"a": {"b": 1, "b": 2}}', '{"a":1}}', "true"),
    ],
    ids=lambda raw: raw[:20],
)
def test_arguments_that_are_no_plain_object_are_kept_but_never_run(raw: str) -> None:
    (call,) = assemble([[entry(raw, id="c1", name="f", index=0)]])
    assert call.args is None
    assert call.raw_args == raw


def test_a_second_object_under_the_same_id_damages_the_call() -> None:
    (call,) = assemble([[entry({"a": 1}, id="c1", name="f")], [entry({"b": 2}, id="c1")]])
    assert call.args is None


def test_keys_of_the_provider_are_kept_from_every_delta() -> None:
    signature: JsonValue = {"google": {"thought_signature": "c2ln"}}
    arrays: list[JsonValue] = [
        [entry("{}", id="c1", name="f", caller="direct")],
        [{"extra_content": signature}],
    ]
    (call,) = assemble(arrays)
    assert call.extra == {"caller": "direct", "extra_content": signature}


def test_a_call_that_may_have_lost_a_piece_is_never_run() -> None:
    assembler = ToolCallAssembler()
    feed_one(assembler, 0, "c1", "f", '{"a":1}')
    feed_one(assembler, 1, "c2", "g", '{"path":"/tmp/')
    assembler.lose_piece()
    feed_one(assembler, 1, None, None, 'x"}')
    feed_one(assembler, 2, "c3", "h", "{}")
    assert [call.args for call in assembler.finish()] == [{"a": 1}, None, {}]


@pytest.mark.parametrize("pieces", [['{"p":', '}, "t": "a'], ['": "see a}']])
def test_what_stands_in_a_string_after_a_lost_piece_is_never_run(pieces: list[str]) -> None:
    assembler = ToolCallAssembler()
    for piece in pieces:
        feed_one(assembler, 0, "c1", "f", piece)
        assembler.lose_piece()
    feed_one(assembler, 0, None, "f", '{"cmd":1}')
    assert [call.args for call in assembler.finish()] == [None]


def test_a_second_lost_piece_makes_no_damaged_call_whole() -> None:
    assembler = ToolCallAssembler()
    for piece in ('{"path":"/tmp/', 'x"}'):
        feed_one(assembler, 0, "c1", "f", piece)
        assembler.lose_piece()
    assert [call.args for call in assembler.finish()] == [None]


def test_calls_of_a_cut_answer_are_only_given_as_incomplete() -> None:
    assembler = ToolCallAssembler()
    feed_one(assembler, 0, "c1", "f", '{"a":1}')
    feed_one(assembler, 1, "c2", "g", '{"b')
    assert assembler.finish(complete=False) == []
    assert [(c.id, c.args, c.raw_args) for c in assembler.incomplete()] == [
        ("c1", None, '{"a":1}'),
        ("c2", None, '{"b'),
    ]


def test_made_up_ids_differ_from_each_other_and_from_given_ones() -> None:
    numbers: list[int] = []

    def new_id(number: int) -> str:
        numbers.append(number)
        return f"call_{number}"

    assembler = ToolCallAssembler(new_id)
    for id_, name in (("call_1", "f"), (None, "g"), (None, "h")):
        feed_one(assembler, None, id_, name, "{}")
    ids = [call.id for call in assembler.finish()]
    assert ids == ["call_1", "call_2", "call_3"]
    assert [call.id for call in assembler.finish()] == ids


def test_default_ids_of_two_answers_differ() -> None:
    ids = set()
    for _ in range(2):
        assembler = ToolCallAssembler()
        feed_one(assembler, None, None, "f", None)
        ids.add(assembler.finish()[0].id)
    assert len(ids) == 2


def test_started_tells_whether_a_call_began() -> None:
    assembler = ToolCallAssembler()
    assembler.feed([ToolCallDelta()])
    assert not assembler.started
    assembler.feed([ToolCallDelta(name="f")])
    assert assembler.started


ARGUMENTS = st.dictionaries(
    st.text(max_size=5), st.integers() | st.text('ab"\\{}[]é🧠', max_size=8) | st.none(), max_size=4
).map(json.dumps)


@given(first=cut_wholes(ARGUMENTS), second=cut_wholes(ARGUMENTS), indexed=st.booleans())
def test_cutting_arguments_anywhere_gives_the_same_calls(
    first: tuple[str, list[str]], second: tuple[str, list[str]], indexed: bool
) -> None:
    assembler = ToolCallAssembler()
    for number, (_, chunks) in enumerate((first, second)):
        index = number if indexed else None
        feed_one(assembler, index, f"c{number}", "f", None)
        for chunk in chunks:
            feed_one(assembler, index, None, None, chunk)
    calls = assembler.finish()
    assert [call.raw_args for call in calls] == [first[0], second[0]]
    assert [call.args for call in calls] == [json.loads(first[0]), json.loads(second[0])]


@given(wholes=st.lists(cut_wholes(ARGUMENTS), min_size=1, max_size=4), named=st.booleans())
def test_interleaved_calls_are_put_together_by_index(
    wholes: list[tuple[str, list[str]]], named: bool
) -> None:
    assembler = ToolCallAssembler()
    for round_ in range(max(len(chunks) for _, chunks in wholes)):
        for index, (_, chunks) in enumerate(wholes):
            if round_ < len(chunks):
                name = "f" if named or round_ == 0 else None
                feed_one(assembler, index, f"c{index}", name, chunks[round_])
    assert [call.args for call in assembler.finish()] == [json.loads(whole) for whole, _ in wholes]
