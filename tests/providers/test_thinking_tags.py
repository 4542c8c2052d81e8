"""Thinking tags that a request, or what is known of its model, names; on both wires."""

from dataclasses import replace

import pytest

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.decode.tool_calls import ToolCallDelta
from ollm_tui.models.known_models import KnownModels
from ollm_tui.models.thinking import resolve_thinking
from ollm_tui.models.thinking_switch import tags_for
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import (
    Finish,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Withdrawn,
)
from ollm_tui.protocol.request import (
    GenerationOptions,
    Request,
    ShouldThink,
    TagPattern,
    ThinkingConfig,
    ThinkingPlan,
    ThinkingSwitch,
)
from ollm_tui.providers.answer_builder import AnswerBuilder
from ollm_tui.providers.ollama.to_wire import chat_body as ollama_body
from ollm_tui.providers.openai_compatible.to_wire import chat_body as openai_body

ASK = Request(model="m", messages=[Message("user", "x")])
ENDLESS = ThinkingConfig(mode="last", think_tag=TagPattern("<t+>", "</t>"))
OPENED = ThinkingPlan(mode="deep", think_tag=("[T]", "[/T]"), starts_open=True)


def asks(wish: ShouldThink | None) -> Request:
    return replace(ASK, should_think=wish)


@pytest.mark.parametrize("wish", [None, True, False, "first"])
def test_without_tags_of_its_own_a_request_means_the_usual_ones(wish: ShouldThink | None) -> None:
    assert tags_for(asks(wish)) == ThinkTags()


def test_a_pair_a_delimiter_and_a_pattern_are_searched_for() -> None:
    pair = tags_for(asks(ThinkingConfig(mode="last", think_tag=("[T]", "[/T]"))))
    assert [(p.start, p.end) for p in pair.pairs] == [("[T]", "[/T]")]
    pattern = ThinkingConfig(mode="last", think_tag=TagPattern("<(a|b)>", "</(a|b)>"))
    assert {p.start for p in tags_for(asks(pattern)).pairs} == {"<a>", "<b>"}
    answer = tags_for(asks(ThinkingConfig(mode="deep", answer_tag="ANSWER:")))
    assert answer.start_open


@pytest.mark.parametrize("body", [ollama_body, openai_body])
def test_a_pattern_without_an_end_is_refused_before_anything_is_sent(body: object) -> None:
    assert callable(body)
    with pytest.raises(AIError) as caught:
        body(asks(ENDLESS))
    assert caught.value.code == ErrorCode.BAD_REQUEST
    assert tags_for(asks(ENDLESS)) == ThinkTags()


def test_a_server_that_divides_takes_away_what_its_template_opened() -> None:
    known = replace(ASK, thinking=OPENED)
    assert tags_for(known).start_open
    assert not tags_for(known, is_divided=True).start_open
    unmarked = replace(OPENED, think_tag=None, answer_tag="ANSWER:")
    assert tags_for(replace(ASK, thinking=unmarked), is_divided=True).start_open
    own = ThinkingConfig(mode="deep", think_tag=("[T]", "[/T]"), starts_open=True)
    assert tags_for(asks(own), is_divided=True).start_open, "as the request says itself"


def test_template_arguments_of_the_request_itself_choose_the_mode() -> None:
    plan = replace(OPENED, switch=ThinkingSwitch(variable="thinking"))
    for mode, argument, inside in (
        ("deep", False, False),
        ("off", True, True),
        ("deep", "yes", True),
        ("off", None, False),
    ):
        request = replace(
            ASK,
            thinking=replace(plan, mode=mode),  # type: ignore[arg-type]
            options=GenerationOptions(
                extra_body={
                    "chat_template_kwargs": {"thinking": argument, "enable_thinking": False}
                }
            ),
        )
        assert tags_for(request).start_open is inside, (mode, argument)


@pytest.mark.parametrize(
    ("reason", "calls", "text"),
    [
        ("stop", False, "hm Yes"),
        (None, False, "hm Yes"),
        ("eos", False, "hm Yes"),
        ("length", False, ""),
        ("content_filter", False, ""),
        ("tool_calls", True, ""),
        ("stop", True, ""),
    ],
)
def test_an_opened_block_that_never_ended_is_the_answer_only_of_a_model_that_was_done(
    reason: str | None, calls: bool, text: str
) -> None:
    builder = AnswerBuilder(tags_for(replace(ASK, thinking=OPENED)))
    builder.add_text("hm ")
    builder.add_text("Yes")
    if calls:
        builder.add_tool_calls([ToolCallDelta(name="f", arguments="{}")])
    builder.finish(reason)
    events = builder.take_events()
    again = [Withdrawn(), TextDelta(text)] if text else []
    assert events[: 1 + len(again)] == [ThinkingDelta("hm Yes"), *again]
    kinds = [type(event).__name__ for event in events[1 + len(again) :]]
    assert kinds == (["ToolCallEvent", "Finish"] if calls else ["Finish"])


def test_thinking_that_the_server_sends_apart_is_said_once() -> None:
    told: list[bool] = []
    builder = AnswerBuilder(tags_for(replace(ASK, thinking=OPENED)), lambda: told.append(True))
    for _ in range(2):
        builder.add_thinking("hm")
    builder.add_text("Yes")
    builder.finish("stop")
    assert builder.take_events()[:2] == [ThinkingDelta("hmhm"), TextDelta("Yes")]
    assert told == [True]


def test_an_answer_that_was_no_thinking_tells_that_the_server_takes_it_out() -> None:
    for reason, calls in (("stop", 1), ("length", 0)):
        told: list[bool] = []
        tags = tags_for(replace(ASK, thinking=OPENED))
        builder = AnswerBuilder(tags, lambda told=told: told.append(True))  # type: ignore[misc]
        builder.add_text("Yes")
        builder.finish(reason)
        assert len(told) == calls
    late: list[bool] = []
    builder = AnswerBuilder(None, lambda: late.append(True))
    builder.add_text("So.\n</think>Yes")
    builder.finish("stop")
    assert late == []


@pytest.mark.parametrize("begun", ["a <", "["])
def test_text_that_begins_like_a_tag_stays_before_thinking_that_is_sent_apart(begun: str) -> None:
    builder = AnswerBuilder()
    builder.add_text(begun)
    events = builder.take_events()
    builder.add_thinking("hm")
    builder.add_text("b")
    builder.finish("stop")
    *texts, thinking, after, _end = [*events, *builder.take_events()]
    assert "".join(one.delta for one in texts if isinstance(one, TextDelta)) == begun
    assert (thinking, after) == (ThinkingDelta("hm"), TextDelta("b"))


def gpt_oss() -> Request:
    thinking = KnownModels().of(["gpt-oss:20b"]).thinking
    assert thinking is not None
    return replace(ASK, thinking=resolve_thinking(None, thinking.support))


def test_channels_that_a_server_passes_on_are_read_with_their_calls() -> None:
    thought = "<|channel|>analysis<|message|>Hm.<|end|>"
    call = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'
    answer = "<|channel|>final<|message|>Yes.<|return|>"
    for written, reason, expected in (
        (thought + answer, "stop", [ThinkingDelta("Hm."), TextDelta("Yes.")]),
        (thought + call, "stop", [ThinkingDelta("Hm."), ("f", {"a": 1})]),
        (call.removesuffix("<|call|>"), "stop", [("f", {"a": 1})]),
        (call.removesuffix("}<|call|>"), "length", []),
        ("Yes.", "stop", [TextDelta("Yes.")]),
    ):
        builder = AnswerBuilder(tags_for(gpt_oss()))
        for letter in written:
            builder.add_text(letter)
        builder.finish(reason)
        *events, end = builder.take_events()
        has_calls = any(isinstance(event, ToolCallEvent) for event in events)
        assert isinstance(end, Finish)
        assert end.reason == ("tool_calls" if has_calls else reason)
        assert [
            (event.call.name, event.call.args) if isinstance(event, ToolCallEvent) else event
            for event in events
        ] == expected


def test_calls_in_channels_have_the_limits_of_all_calls() -> None:
    builder = AnswerBuilder(tags_for(gpt_oss()))
    builder.add_text("<|channel|>commentary to=functions.f<|message|>")
    with pytest.raises(LimitPassed):
        for _ in range(100):
            builder.add_text("x" * 1_000_000)
