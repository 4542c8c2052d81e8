import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ollm_tui.decode.react import UNDECIDED_LIMIT, ReActParser
from ollm_tui.decode.react_call import ReActCall
from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from tests.decode.react import Turn, read
from tests.support.cuts import cut_wholes, one_by_one, ways_to_cut
from tests.support.strategies import JSON, JSON_OBJECTS

CALL = 'Action: search\nAction Input: {"q": 1}'
SEARCH = ReActCall("search", '{"q": 1}', {"q": 1})


def is_json(value: JsonValue) -> bool:
    return "Infinity" not in json.dumps(value)


FINITE = JSON.filter(is_json)
OBJECTS = JSON_OBJECTS.filter(is_json)
# No capital letters: no line of it can be a label.
PROSE = st.text(alphabet="ab cé🧠.*:\n", min_size=1).map(str.strip).filter(bool)
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True).filter(
    lambda name: name not in {"none", "null", "na", "nothing", "no"}
)
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *("Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Answer:"),
            *("\n", "\n\n", "\r\n", "\n  ", " ", "**", "## ", "Thou", "Action", " Input", ": "),
            *('{"q": 1}', "{'q': True,}", "{", '"', "```json\n", "\n```", "None", "search"),
            *("some words", "long words " * 30, "é🧠", "\uff1a", "_"),
        ]
    ),
    max_size=14,
).map("".join)


def seen(text: str) -> Turn:
    """Read a text under every fixed way of cutting."""
    turns = [read(chunks) for chunks in ways_to_cut(text)]
    assert all(turn == turns[0] for turn in turns)
    return turns[0]


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        'Action:search\nAction Input:{"q": 1}',
        'Action:\n\n  search\n\nAction Input:\n\n{"q": 1}\n',
        '  Action: search\r\n\t Action Input: {"q": 1}\r\n',
        '**Action:** search\n**Action Input:** {"q": 1}',
        '**Action**: `search`\n__Action Input__ : {"q": 1}',
        '### Action: "search"\n# Action Input: {"q": 1}',
        'Action\uff1asearch\nAction_Input\uff1a{"q": 1}',
        'Action: search (the web)\nAction input: {"q": 1} as you see',
        'Action: search.\nAction Input: {"q": 1}\nThat should do.',
        'Action: search\nAction Input: {"q": 1}\nObservation: [1]\nFinal Answer: one',
        'Action: search\nAction Input: {"q": 1}\nAction: other\nAction Input: {"q": 2}',
        'Action: None\nAction: search\nAction Input: {"q": 1}',
        'Action Input: {"q": 0}\nAction: search\nAction Input: {"q": 1}',
        'Action: search\nAction Input: {"q": 1}\nAction Input: {"q": 2}',
    ],
)
def test_a_call_is_found_however_its_labels_are_written(text: str) -> None:
    turn = seen(text)
    assert (turn.call, turn.problem) == (SEARCH, None)
    assert (turn.thought, turn.answer) == ("", "")


@pytest.mark.parametrize(
    ("written", "raw", "args"),
    [
        ("", "", {}),
        ("{}", "{}", {}),
        ("null", "null", {}),
        ("None", "None", {}),
        ('```json\n{"a": 1}\n```', '{"a": 1}', {"a": 1}),
        ('```\n{"a": 1}\n```\nwords', '{"a": 1}', {"a": 1}),
        ('~~~\n{"a": 1}\n~~~', '{"a": 1}', {"a": 1}),
        ('** {"a": 1}', '{"a": 1}', {"a": 1}),
        ('{\n "a": {"b": "}"}\n}', '{\n "a": {"b": "}"}\n}', {"a": {"b": "}"}}),
        ('"{\\"a\\": 1}"', '"{\\"a\\": 1}"', {"a": 1}),
        ("{'a': True, 'b': [None,],}", "{'a': True, 'b': [None,],}", {"a": True, "b": [None]}),
        ('{"a": "x\ny"}', '{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a": "Thought: b\\nAction: c"}', '{"a": "Thought: b\\nAction: c"}', None),
        ('{"a": 1', '{"a": 1', None),
        ("[1]", "[1]", None),
        ("7", "7", None),
        ('here: {"a": 1}', 'here: {"a": 1}', None),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', None),
        ("{'a': 'it\\'s \"b\"'}", "{'a': 'it\\'s \"b\"'}", {"a": 'it\'s "b"'}),
        ("{,}", "{,}", None),
        ("{a: 1}", "{a: 1}", None),
        ("{'a': 'b' 'c'}", "{'a': 'b' 'c'}", None),
    ],
)
def test_the_input_is_the_first_object_after_its_label(
    written: str, raw: str, args: JsonObject | None
) -> None:
    if "Thought" in written:
        args = {"a": "Thought: b\nAction: c"}
    turn = seen(f"Action: f\nAction Input: {written}")
    assert turn.call == ReActCall("f", raw, args)
    assert (turn.problem == "bad_input") == (args is None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("Observation: 7", "empty"),
        ("Thought: hm", "no_answer"),
        ("Thought: hm\nAction: None", "no_answer"),
        ("Thought: hm\nAction: N/A\nAction Input: None", "no_answer"),
        ("Thought: hm\nAction: search", "missing_input"),
        ("Thought: hm\nAction:\nAction Input: {}", "missing_action"),
        ("Thought: hm\nAction Input: {}", "missing_action"),
        ('Action: {"name": "f"}\nAction Input: {}', "missing_action"),
        ('Action: {"action": 1, "action_input": {}}', "missing_action"),
        ('Action: {"action": "f"', "missing_action"),
    ],
)
def test_what_is_missing_is_reported(text: str, problem: str) -> None:
    turn = seen(text)
    assert (turn.problem, turn.call, turn.answer) == (problem, None, "")


def test_name_and_input_in_one_object_are_a_call() -> None:
    blob = '{"action": "f", "action_input": {"a": 1}}'
    assert seen(f"Action:\n```json\n{blob}\n```").call == ReActCall("f", '{"a": 1}', {"a": 1})


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("Thought: a\nFinal Answer: **b** c", "a", "**b** c"),
        ("**Thought:** a\n**Final Answer:** **b**", "a", "**b**"),
        ("a\nThought: b\n\nThought: c\nFinal answer:\nd\n\n", "a\n\nb\n\nc", "d"),
        ("Final Answer: Thought: a\nAction: b\nFinal Answer: c", "", None),
        (f"{CALL}\nFinal Answer: a", "", "a"),
        ("Thought: a\nAnswer: b", "a", "b"),
        ("Final Answer: a\nObservation: b", "", "a"),
        ("plain Thought: words", "", "plain Thought: words"),
        ("thought: a\naction: b", "", "thought: a\naction: b"),
        ("Answer: a", "", "Answer: a"),
        ("Thoughts: a", "", "Thoughts: a"),
        ("Actio", "", "Actio"),
    ],
)
def test_thoughts_and_the_answer_are_distinguished(
    text: str, thought: str, answer: str | None
) -> None:
    turn = seen(text)
    expected = text.removeprefix("Final Answer: ") if answer is None else answer
    assert (turn.thought, turn.answer, turn.call, turn.problem) == (thought, expected, None, None)


def test_plain_words_stream_from_the_second_paragraph_on() -> None:
    parser = ReActParser()
    assert parser.feed("Hello there.\nHow ") == []
    assert parser.feed("are you?\n\nWell") == [TextPiece("Hello there.\nHow are you?\n\nWell")]
    assert parser.feed(" then") == [TextPiece(" then")]
    assert parser.finish() == []


def test_plain_words_stream_after_a_few_lines() -> None:
    parser = ReActParser()
    assert parser.feed("x" * UNDECIDED_LIMIT) == []
    assert parser.feed("x") == [TextPiece("x" * (UNDECIDED_LIMIT + 1))]


@pytest.mark.parametrize("line", ["Action: call a doctor", "Action Input: {}", "Answer: 4"])
def test_a_line_of_plain_words_that_looks_like_an_action_stays_text(line: str) -> None:
    text = f"first\n\nsecond\n {line}\nthird"
    assert seen(text) == Turn("", text, None, None)


def test_a_call_after_plain_words_counts() -> None:
    assert seen(f"first\n\nsecond\n{CALL}") == Turn("", "first\n\nsecond", SEARCH, None)


def test_thoughts_and_the_answer_are_given_out_as_they_come() -> None:
    parser = ReActParser()
    assert parser.feed("Thought: I se") == [ThinkingPiece("I se")]
    assert parser.feed("e. \nAct") == [ThinkingPiece("e.")]
    assert parser.feed("ually\nFinal Answer: 4") == [
        ThinkingPiece(" \nActually"),
        TextPiece("4"),
    ]


def test_nothing_is_waited_for_after_an_observation() -> None:
    parser = ReActParser()
    parser.feed(f"{CALL}\nObservation")
    assert not parser.stopped
    parser.feed(":")
    assert parser.stopped
    assert parser.feed("Final Answer: made up") == []
    assert parser.finish() == [SEARCH]


def test_a_cut_turn_has_neither_a_call_nor_a_problem() -> None:
    turn = read([f"Thought: a\n{CALL}"], complete=False)
    assert turn == Turn("a", "", None, None)


@given(case=cut_wholes(FRAGMENTS))
def test_chunk_borders_never_change_a_turn(case: tuple[str, list[str]]) -> None:
    whole, chunks = case
    expected = read([whole])
    assert read(chunks) == expected
    assert read(one_by_one(whole)) == expected


LABELS = ["Thought: ", "**Thought:** ", "  Action: ", "Action Input:\n", "Observation: ", ""]


@given(st.lists(st.tuples(st.sampled_from(LABELS), PROSE), max_size=8))
def test_no_label_is_ever_shown(lines: list[tuple[str, str]]) -> None:
    written = "".join(f"{label}{value}\n" for label, value in lines)
    turn = read([f"Thought: a\n{written}"])
    shown = turn.thought + turn.answer
    assert not any(word in shown for word in ("Thought", "Action", "Input", "Observation"))


# Feature: stage-02-core-provider, Property 18: ReAct Output Parsing
@settings(max_examples=100)
@given(thought=PROSE, name=NAMES, args=OBJECTS, indent=st.sampled_from([None, 2]))
def test_thought_action_and_input_are_extracted(
    thought: str, name: str, args: JsonObject, indent: int | None
) -> None:
    raw = json.dumps(args, indent=indent)
    turn = read([f"Thought: {thought}\nAction: {name}\nAction Input: {raw}\n"])
    assert turn == Turn(thought, "", ReActCall(name, raw, args), None)


# Feature: stage-02-core-provider, Property 18: ReAct Output Parsing
@settings(max_examples=100)
@given(thought=PROSE, answer=PROSE)
def test_thought_and_final_answer_are_extracted(thought: str, answer: str) -> None:
    turn = read([f"Thought: {thought}\nFinal Answer: {answer}"])
    assert turn == Turn(thought, answer, None, None)


# Feature: stage-02-core-provider, Property 19: ReAct JSON Validation
@settings(max_examples=100)
@given(value=FINITE, kept=st.integers(min_value=1))
def test_only_a_whole_json_object_can_run(value: JsonValue, kept: int) -> None:
    raw = json.dumps(value)
    call = read([f"Action: f\nAction Input: {raw}"]).call
    assert call is not None
    if isinstance(value, dict):
        assert call.args == value
        cut = read([f"Action: f\nAction Input: {raw[: 1 + kept % (len(raw) - 1)]}"])
        assert cut.call is not None
        assert cut.call.args is None
        assert cut.problem == "bad_input"
    elif value is not None and not isinstance(value, str):
        assert call.args is None


# Feature: stage-02-core-provider, Property 21: ReAct Turn Completion
@settings(max_examples=100)
@given(before=FRAGMENTS, answer=FRAGMENTS)
def test_a_final_answer_ends_the_turn_without_a_call(before: str, answer: str) -> None:
    assume("Observation:" not in before)
    turn = read([f"{before}\nFinal Answer: {answer}\n{CALL}"])
    assert (turn.call, turn.problem) == (None, None)
