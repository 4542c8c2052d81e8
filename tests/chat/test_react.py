import json
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.chat.react import (
    STOP_SEQUENCES,
    as_react,
    correction,
    observation,
    react_instructions,
)
from ollm_tui.decode.react_call import ReActCall, ReActProblem
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall, ToolSchema
from tests.decode.react import read
from tests.support.strategies import JSON, JSON_OBJECTS


def is_json(value: JsonValue) -> bool:
    return "Infinity" not in json.dumps(value)


OBJECTS = JSON_OBJECTS.filter(is_json)
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True).filter(
    lambda name: name not in {"none", "null", "na", "nothing", "no"}
)
PROBLEMS: tuple[ReActProblem, ...] = get_args(ReActProblem)
PICTURE = ImageContent(url="https://example.org/a.png")


def call(number: int, args: JsonObject | None = None, raw: str = "") -> ToolCall:
    return ToolCall(id=f"c{number}", name="search", args=args, raw_args=raw)


def result(number: int, content: str, *, is_error: bool = False) -> Message:
    metadata: JsonObject = {"is_error": True} if is_error else {}
    return Message("tool", content, name="search", tool_call_id=f"c{number}", metadata=metadata)


def lines(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def test_without_tools_there_are_no_instructions() -> None:
    assert react_instructions([]) == ""


def test_the_instructions_name_every_label() -> None:
    text = react_instructions([ToolSchema(name="now", description="Tell\nthe  time.")])
    for label in ("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:"):
        assert label in text
    assert "- now: Tell the time.\n" in text


def test_the_model_is_stopped_before_an_observation_at_a_line_start() -> None:
    assert STOP_SEQUENCES == ("\nObservation:",)


@pytest.mark.parametrize(
    ("content", "is_error", "line"),
    [
        ("7", False, "Observation: 7"),
        ('{"a":\n1}', False, 'Observation: {"a": 1}'),
        ("two\nlines", False, r'Observation: "two\nlines"'),
        ("", False, 'Observation: ""'),
        ('{"a": 1, "a": 2}', False, r'Observation: "{\"a\": 1, \"a\": 2}"'),
        ("no such file", True, 'Observation: {"error": "no such file"}'),
        ("7", True, 'Observation: {"error": "7"}'),
    ],
)
def test_a_result_is_observed_as_one_line(content: str, is_error: bool, line: str) -> None:
    assert observation(content, is_error=is_error) == line


def test_a_history_with_calls_is_rendered_as_steps() -> None:
    history = [
        Message("system", "Be brief."),
        Message("user", "Where?"),
        Message("assistant", [ThinkingContent("I look.")], tool_calls=[call(1, {"q": "é"})]),
        result(1, '{"hits": 2}'),
        Message("assistant", "Here.", metadata={"ended": "stopped"}),
        Message("user", "Thanks."),
    ]
    assert lines(as_react(history)) == [
        ("system", "Be brief."),
        ("user", "Where?"),
        ("assistant", 'Thought: I look.\nAction: search\nAction Input: {"q": "é"}'),
        ("user", 'Observation: {"hits": 2}'),
        ("assistant", "Final Answer: Here."),
        ("user", "Thanks."),
    ]


def test_calls_of_one_turn_become_one_step_after_the_other() -> None:
    history = [
        Message(
            "assistant",
            [ThinkingContent("hidden"), TextContent("Two.")],
            tool_calls=[call(1, {"q": 1}), call(2, raw="{q"), call(3, {})],
        ),
        result(2, "bad", is_error=True),
        result(1, "one"),
        result(1, "again"),
        Message("user", "Well?"),
    ]
    assert lines(as_react(history)) == [
        ("assistant", 'Thought: Two.\nAction: search\nAction Input: {"q": 1}'),
        ("user", 'Observation: "one"'),
        ("assistant", "Action: search\nAction Input: {q"),
        ("user", 'Observation: {"error": "bad"}'),
        ("assistant", "Action: search\nAction Input: {}"),
        ("user", "Well?"),
    ]


def test_results_and_questions_in_a_row_are_one_message() -> None:
    history = [
        Message("assistant", tool_calls=[call(1, {})]),
        Message("tool", [TextContent("seen"), PICTURE], name="look", tool_call_id="c1"),
        Message("user", "And?"),
    ]
    sent = as_react(history)
    assert [message.role for message in sent] == ["assistant", "user"]
    assert sent[1].text == 'Observation: "seen"\n\nAnd?'
    assert PICTURE in sent[1].content


def test_a_result_whose_call_is_gone_is_still_observed() -> None:
    history = [Message("assistant", tool_calls=[call(1, {})]), Message("user", "a"), result(1, "b")]
    assert lines(as_react(history)[1:]) == [("user", 'a\n\nObservation: "b"')]


def test_an_answer_keeps_its_pictures_and_loses_its_reasoning() -> None:
    answer = Message("assistant", [ThinkingContent("t"), PICTURE, TextContent("a")])
    [sent] = as_react([answer])
    assert sent.content == (PICTURE, TextContent("Final Answer: "), TextContent("a"))
    picture = Message("assistant", [PICTURE])
    assert as_react([picture]) == (picture,)


# Feature: stage-02-core-provider, Property 17: ReAct Instruction Formatting
@settings(max_examples=100)
@given(
    st.lists(
        st.builds(
            ToolSchema,
            name=NAMES,
            description=st.none() | st.text(),
            parameters=st.none() | OBJECTS,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_instructions_hold_every_name_description_and_schema(tools: list[ToolSchema]) -> None:
    text = react_instructions(tools)
    for tool in tools:
        assert f"- {tool.name}" in text
        assert " ".join((tool.description or "").split()) in text
        assert json.dumps(tool.parameters or {}, ensure_ascii=False)[1:-1] in text


# Feature: stage-02-core-provider, Property 20: ReAct Observation Formatting
@settings(max_examples=100)
@given(content=st.text() | JSON.filter(is_json).map(json.dumps), is_error=st.booleans())
def test_any_result_is_one_line_of_json_after_the_label(content: str, is_error: bool) -> None:
    line = observation(content, is_error=is_error)
    assert line.startswith("Observation: ")
    assert "\n" not in line
    value = json.loads(line.removeprefix("Observation: "))
    if is_error:
        assert value == {"error": content}
    else:
        assert value == content or value == json.loads(content)


# Feature: stage-02-core-provider, Property 33: ReAct JSON Error Recovery
@settings(max_examples=100)
@given(name=NAMES, raw=st.text(alphabet="{}[]:,'\"ab1 ", min_size=1).filter(str.strip))
def test_invalid_input_asks_the_model_to_correct_it(name: str, raw: str) -> None:
    turn = read([f"Thought: t\nAction: {name}\nAction Input: {raw}"])
    assert turn.call is not None
    if turn.call.args is not None:
        assert turn.problem is None
        return
    assert turn.problem == "bad_input"
    assert "Action Input must be valid JSON" in correction(turn.problem)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_problem_has_a_message_that_shows_the_way(problem: ReActProblem) -> None:
    message = correction(problem)
    assert message.startswith("Error: ")
    assert "Action" in message
    assert len({correction(other) for other in PROBLEMS}) == len(PROBLEMS)


@given(
    thought=st.text(alphabet="ab cé.\n", min_size=1).map(str.strip).filter(bool),
    name=NAMES,
    args=OBJECTS,
)
def test_a_rendered_call_is_read_back_as_the_same_call(
    thought: str, name: str, args: JsonObject
) -> None:
    asked = ToolCall(id="c", name=name, args=args)
    [sent] = as_react([Message("assistant", [ThinkingContent(thought)], tool_calls=[asked])])
    turn = read([sent.text])
    raw = json.dumps(args, ensure_ascii=False)
    assert (turn.thought, turn.call) == (thought, ReActCall(name, raw, args))


@given(st.text(min_size=1))
def test_no_result_can_write_a_label(content: str) -> None:
    turn = read([f"x\n{as_react([result(1, content)])[0].text}"])
    assert (turn.thought, turn.answer, turn.call) == ("", "x", None)
