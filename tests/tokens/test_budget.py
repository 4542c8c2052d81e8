"""Leaving out the oldest turns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import AudioContent, ImageContent, TextContent
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tokens.count import Sizes
from ollm_tui.tokens.limits import (
    DropAttachments,
    LeaveOutTurns,
    RaiseWindow,
    plan_to_fit,
    plan_without,
    remedies_for,
    turns_of,
)
from tests.tokens.strategies import conversations

CALL = ToolCall(id="1", name="t", args={})
MESSAGES = [
    Message("system", "Be brief."),
    Message("user", "one"),
    Message("assistant", "", tool_calls=[CALL]),
    Message("tool", "result", tool_call_id="1"),
    Message("assistant", "first answer"),
    Message("user", "two"),
    Message("assistant", "second answer"),
    Message("user", "three"),
]
SIZES = Sizes(5, (10, 20, 30, 40, 50, 60, 70, 80))
"""365 in all; the turns have 140, 130 and 80."""


def test_a_turn_is_a_question_with_all_that_came_of_it() -> None:
    assert turns_of(MESSAGES) == [[1, 2, 3, 4], [5, 6], [7]]


def test_what_comes_before_the_first_question_is_a_turn_too() -> None:
    history = [Message("assistant", "Hello!"), Message("user", "hi"), Message("system", "Stop.")]
    assert turns_of(history) == [[0], [1]]


def test_nothing_is_left_out_of_what_fits() -> None:
    plan = plan_to_fit(MESSAGES, SIZES, 365)
    assert plan.fits
    assert (plan.kept, plan.left_out, plan.turns_left_out) == (tuple(range(8)), (), 0)
    assert (plan.used, plan.freed) == (365, 0)
    assert plan.apply(MESSAGES) == tuple(MESSAGES)


def test_one_token_too_many_costs_the_oldest_turn() -> None:
    plan = plan_to_fit(MESSAGES, SIZES, 364)
    assert plan.left_out == (1, 2, 3, 4)
    assert (plan.used, plan.freed, plan.turns_left_out, plan.fits) == (225, 140, 1, True)
    assert [message.text for message in plan.apply(MESSAGES)] == [
        "Be brief.",
        "two",
        "second answer",
        "three",
    ]


def test_system_prompt_and_newest_question_stay_even_where_they_do_not_fit() -> None:
    plan = plan_to_fit(MESSAGES, SIZES, 94)
    assert plan.kept == (0, 7)
    assert (plan.used, plan.fits) == (95, False)
    assert plan_to_fit(MESSAGES, SIZES, 95).fits


def test_a_number_of_turns_can_be_chosen() -> None:
    assert plan_without(MESSAGES, SIZES, 1, 365).left_out == (1, 2, 3, 4)
    assert plan_without(MESSAGES, SIZES, 99, 365).kept == (0, 7)
    assert plan_without(MESSAGES, SIZES, -1, 365).left_out == ()
    assert plan_without([], Sizes(5, ()), 1, 4).used == 5


@settings(max_examples=200)
@given(conversations(), st.data())
def test_a_plan_keeps_whole_turns_the_newest_and_the_system_and_leaves_out_no_more_than_needed(
    history: list[Message], data: st.DataObject
) -> None:
    each = st.integers(0, 50)
    sizes = Sizes(data.draw(each), tuple(data.draw(each) for _ in history))
    room = data.draw(st.integers(0, 400))
    plan = plan_to_fit(history, sizes, room)
    turns = turns_of(history)
    assert sorted(plan.kept + plan.left_out) == list(range(len(history)))
    assert plan.left_out == tuple(p for turn in turns[: plan.turns_left_out] for p in turn)
    assert not turns or set(turns[-1]) <= set(plan.kept)
    assert all(p in plan.kept for p, message in enumerate(history) if message.role == "system")
    assert plan.used == sizes.fixed + sum(sizes.messages[p] for p in plan.kept)
    assert plan.fits == (plan.used <= room)
    if plan.turns_left_out:
        assert not plan_without(history, sizes, plan.turns_left_out - 1, room).fits
    if not plan.fits:
        assert plan.turns_left_out == max(0, len(turns) - 1)


def test_there_is_nothing_to_do_about_what_fits() -> None:
    assert remedies_for(MESSAGES, SIZES, 365, max_window=4096) == ()


def test_ways_out_are_turns_a_larger_window_and_attachments() -> None:
    picture = Message("user", [TextContent("see"), ImageContent(width=64, height=64)])
    sound = Message("user", [AudioContent(duration_s=1)])
    history, sizes = [*MESSAGES, picture, sound], Sizes(5, (*SIZES.messages, 5, 32))
    turns, window, attachments = remedies_for(history, sizes, 380, reserve=20, max_window=8192)
    assert isinstance(turns, LeaveOutTurns)
    assert (turns.turns, turns.plan.left_out) == (1, (1, 2, 3, 4))
    assert window == RaiseWindow(2048)
    assert attachments == DropAttachments(2, 36, fits=True)


def test_a_window_is_raised_to_a_power_of_two_but_not_beyond_what_the_model_was_made_for() -> None:
    sizes = Sizes(0, (3000,))
    history = [Message("user", "long")]
    assert remedies_for(history, sizes, 2048, max_window=8192) == (RaiseWindow(4096),)
    assert remedies_for(history, sizes, 2048, max_window=3500) == (RaiseWindow(3500),)
    assert remedies_for(history, sizes, 2048, max_window=3000) == (RaiseWindow(3000),)
    assert remedies_for(history, sizes, 2048, reserve=1, max_window=3000) == ()
    assert remedies_for(history, sizes, 2048) == ()
    assert remedies_for(history, Sizes(0, (4096,)), 9, max_window=8192) == (RaiseWindow(4096),)
    assert remedies_for(history, Sizes(0, (4097,)), 9, max_window=8192) == (RaiseWindow(8192),)


def test_attachments_that_free_too_little_are_reported() -> None:
    history = [Message("user", [ImageContent(width=64, height=64)])]
    assert remedies_for(history, Sizes(0, (100,)), 95) == (DropAttachments(1, 4, fits=False),)
    assert remedies_for(history, Sizes(0, (99,)), 95) == (DropAttachments(1, 4, fits=True),)
