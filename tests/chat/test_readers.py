"""Calls written as text: which of them an answer's end lets run."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.chat.readers import (
    AnswerReader,
    AnswerStart,
    LeakedCallReader,
    ReActReader,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import (
    End,
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall, ToolSchema

LOOK = ToolSchema(
    name="look", parameters={"type": "object", "properties": {"at": {"type": "string"}}}
)
REACT = 'Thought: hm\nAction: look\nAction Input: {"at": "x"}'
TAGGED = '<tool_call>{"name": "look", "arguments": {"at": "x"}}</tool_call>'
CALL = ToolCall(id="id1", name="look", args={"at": "x"})
FAILED = ErrorEvent(AIError(ErrorCode.STREAM_INCOMPLETE, "Cut off."))


def new_id(number: int) -> str:
    return f"id{number}"


def react() -> ReActReader:
    return ReActReader(new_id)


def leaked() -> LeakedCallReader:
    return LeakedCallReader([LOOK], lambda _name, _args: True, new_id)


def read(reader: AnswerReader, text: str, end: End) -> list[ProviderEvent]:
    return [*reader.feed(TextDelta(text)), *reader.finish(end)]


def calls(events: list[ProviderEvent]) -> list[ToolCall]:
    return [event.call for event in events if isinstance(event, ToolCallEvent)]


def text(events: list[ProviderEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


def test_a_whole_action_is_a_call_and_its_thought_thinking() -> None:
    events = read(react(), REACT, Finish("stop"))
    assert events == [
        ThinkingDelta("hm"),
        ToolCallEvent(ToolCall(id="id1", name="look", args={"at": "x"}, raw_args='{"at": "x"}')),
    ]


def test_a_whole_call_in_a_tag_is_a_call_after_all_text() -> None:
    assert read(leaked(), f"So: {TAGGED}", Finish("stop")) == [
        TextDelta("So: "),
        ToolCallEvent(CALL),
    ]


@pytest.mark.parametrize("end", [Finish("abort"), FAILED], ids=["stopped", "failed"])
def test_an_action_that_was_not_waited_for_is_no_call(end: End) -> None:
    assert calls(read(react(), REACT, end)) == []
    assert calls(read(react(), REACT + "\nObservation: ", end)) == []


@pytest.mark.parametrize("end", [Finish("abort"), FAILED], ids=["stopped", "failed"])
def test_an_open_tag_of_an_answer_that_was_cut_is_text(end: End) -> None:
    cut = TAGGED.removesuffix("</tool_call>")
    assert read(leaked(), cut, end) == [TextDelta(cut)]
    assert calls(read(leaked(), cut, Finish("stop"))) == [CALL]


def test_an_action_at_the_token_limit_may_lack_its_input() -> None:
    at_limit = "Thought: hm\nAction: look\nAction Input:"
    assert calls(read(react(), at_limit, Finish("length"))) == []
    assert [call.args for call in calls(read(react(), at_limit, Finish("stop")))] == [{}]


def test_an_action_whose_result_the_model_went_on_to_invent_is_whole_at_the_token_limit() -> None:
    invented = f"{REACT}\nObservation: nothing there, so"
    assert [call.args for call in calls(read(react(), invented, Finish("length")))] == [{"at": "x"}]


def test_elements_at_the_token_limit_may_lack_a_parameter() -> None:
    open_elements = "<tool_call><function=look><parameter=at>x</parameter>"
    assert read(leaked(), open_elements, Finish("length")) == [TextDelta(open_elements)]
    assert calls(read(leaked(), open_elements, Finish("stop"))) == [CALL]


def test_a_call_that_may_lack_a_piece_has_no_arguments_and_keeps_what_was_read() -> None:
    lossy = Finish("stop", lost_pieces=1)
    [action] = calls(read(react(), REACT, lossy))
    assert (action.args, action.raw_args) == (None, '{"at": "x"}')
    [tagged] = calls(read(leaked(), TAGGED, lossy))
    assert (tagged.args, tagged.raw_args) == (None, '{"at": "x"}')


@pytest.mark.parametrize("make", [react, leaked, AnswerReader])
def test_reasoning_real_calls_and_parallel_answers_pass_as_they_are(
    make: type[AnswerReader],
) -> None:
    reader = make()
    passing = (ThinkingDelta(REACT), ToolCallEvent(CALL), TextDelta(TAGGED, index=1))
    assert [event for given in passing for event in reader.feed(given)] == [*passing]
    assert reader.finish(FAILED) == [] or type(reader) is AnswerReader


@pytest.mark.parametrize(
    ("written", "reported"), [("Thought: hm", True), ("", True), ("Well.", False), (REACT, False)]
)
def test_a_turn_that_says_nothing_is_sent_back_for_correction(written: str, reported: bool) -> None:
    reader = react()
    read(reader, written, Finish("stop"))
    assert (reader.correction is not None) is reported
    assert leaked().correction is None


def shown(pieces: list[str]) -> str:
    start = AnswerStart()
    start.feed(ThinkingDelta("why"))
    events = [start.feed(TextDelta(piece)) for piece in pieces]
    return "".join(event.delta for event in events if isinstance(event, TextDelta))


@given(st.lists(st.text(" \t\r\nab", max_size=4)))
def test_only_blank_lines_go_wherever_the_text_is_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    first = len(text) - len(text.lstrip())
    kept = text[text.rfind("\n", 0, first) + 1 :] if text.strip() else ""
    assert shown(pieces) == kept


def test_a_model_that_writes_nothing_but_spaces_costs_no_more_with_each() -> None:
    def seconds(count: int) -> float:
        began = time.process_time()
        assert shown([" "] * count + ["a"]) == " " * count + "a"
        return time.process_time() - began

    few = min(seconds(4_000) for _ in range(3))
    many = min(seconds(64_000) for _ in range(2))
    assert many < 64 * few, "16 times the spaces take about 16 times as long"
