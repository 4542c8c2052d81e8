"""The vocabulary as JSON-safe data and back."""

import base64
import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import Block, TextContent, UnknownContent
from ollm_tui.protocol.chat_events import ChatEvent
from ollm_tui.protocol.codec import (
    block_from_json,
    block_to_json,
    call_from_json,
    event_to_json,
    message_from_json,
    message_to_json,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message, Timings, Usage
from ollm_tui.protocol.tools import ToolCall, ToolResult
from tests.support.strategies import (
    JSON,
    JSON_OBJECTS,
    NAMES,
    blocks,
    messages,
    timings,
    tool_calls,
    usages,
)

TURNS = st.integers(min_value=1, max_value=50)
ERRORS = st.builds(
    AIError,
    st.sampled_from([*ErrorCode]) | st.integers(min_value=700, max_value=799),
    st.text(),
    hint=st.none() | st.text(min_size=1),
    status=st.none() | st.integers(min_value=400, max_value=599),
    provider=st.none() | NAMES,
    details=JSON_OBJECTS,
    retryable=st.booleans(),
)


def through_json(data: JsonObject) -> JsonObject:
    parsed: JsonObject = json.loads(json.dumps(data))
    return parsed


def result_of(call: ToolCall, content: str, *, is_error: bool) -> ToolResult:
    stopped: Literal["stopped"] | None = "stopped" if is_error and len(content) % 2 else None
    return ToolResult(
        call_id=call.id, name=call.name, content=content, is_error=is_error, interruption=stopped
    )


EVENTS: st.SearchStrategy[ChatEvent] = st.one_of(
    st.builds(chat_events.TextDelta, delta=st.text(), turn=TURNS, block=NAMES),
    st.builds(chat_events.ThinkingDelta, delta=st.text(), turn=TURNS, block=NAMES),
    st.builds(chat_events.ToolCallStart, call=tool_calls(), turn=TURNS, block=NAMES),
    st.builds(
        lambda call, content, is_error, turn, block: chat_events.ToolCallResult(
            call=call, result=result_of(call, content, is_error=is_error), turn=turn, block=block
        ),
        tool_calls(),
        st.text(),
        st.booleans(),
        TURNS,
        NAMES,
    ),
    st.builds(
        chat_events.ContextWarning,
        used=st.integers(0, 10**6),
        limit=st.integers(0, 10**6),
        estimated=st.booleans(),
        turn=TURNS,
    ),
    st.builds(
        chat_events.PromptProgress,
        phase=st.sampled_from(["loading", "reading", "compacting"]),
        turn=TURNS,
        done=st.none() | TURNS,
        total=st.none() | TURNS,
    ),
    st.builds(
        chat_events.Compacted,
        kind=st.sampled_from(["summary", "left_out"]),
        messages=TURNS,
        freed=st.integers(-100, 10**6),
        position=TURNS,
        why=st.none() | st.text(),
        turn=TURNS,
    ),
    st.builds(chat_events.PicturesLeftOut, count=st.integers(1, 100), model=NAMES, turn=TURNS),
    st.builds(
        chat_events.Retrying,
        attempt=TURNS,
        wait_s=st.floats(0, 100),
        error=ERRORS,
        turn=TURNS,
        instead=st.none() | st.text(),
    ),
    st.builds(
        chat_events.MediaDelta,
        modality=NAMES,
        data=st.binary(max_size=30),
        step=st.none() | TURNS,
        total_steps=st.none() | TURNS,
        turn=TURNS,
        block=NAMES,
    ),
    st.builds(
        chat_events.NoAnswer, cause=st.sampled_from(["empty", "thinking", "calls"]), turn=TURNS
    ),
    st.builds(chat_events.StructuredAnswer, value=JSON, turn=TURNS, block=NAMES),
    st.builds(chat_events.TurnComplete, turn_number=TURNS),
    st.builds(
        chat_events.Finish,
        reason=NAMES,
        usage=st.none() | usages(),
        timings=st.none() | timings(),
        turn=TURNS,
    ),
    st.builds(chat_events.ErrorEvent, error=ERRORS, turn=TURNS),
)


EVENT_KINDS: dict[str, Callable[..., ChatEvent]] = {
    "text": chat_events.TextDelta,
    "thinking": chat_events.ThinkingDelta,
    "tool_call_start": chat_events.ToolCallStart,
    "tool_call_result": chat_events.ToolCallResult,
    "context_warning": chat_events.ContextWarning,
    "prompt_progress": chat_events.PromptProgress,
    "compacted": lambda why=None, **values: chat_events.Compacted(why=why, **values),
    "pictures_left_out": chat_events.PicturesLeftOut,
    "retrying": chat_events.Retrying,
    "media": chat_events.MediaDelta,
    "no_answer": chat_events.NoAnswer,
    "structured_answer": chat_events.StructuredAnswer,
    "turn_complete": chat_events.TurnComplete,
    "finish": chat_events.Finish,
    "error": chat_events.ErrorEvent,
}
FIELDS: dict[str, Callable[[Any], object]] = {
    "call": call_from_json,
    "data": lambda text: base64.b64decode(text, validate=True),
    "usage": lambda counts: Usage(**counts),
    "timings": lambda seconds: Timings(**seconds),
    "error": lambda error: AIError(**{key: error[key] for key in error if key != "name"}),
}


def event_from_json(data: JsonObject) -> ChatEvent:
    values: dict[str, Any] = {
        key: FIELDS[key](data[key]) if key in FIELDS else data[key] for key in data
    }
    kind = values.pop("type")
    if kind == "pictures_left_out":
        values["kinds"] = tuple(values["kinds"])
    if kind == "tool_call_result":
        call, outcome, is_error = values["call"], values.pop("outcome"), values.pop("is_error")
        interruption = outcome if outcome in ("denied", "stopped") else None
        values["result"] = ToolResult(
            call_id=call.id,
            name=call.name,
            content=values["result"],
            is_error=is_error,
            interruption=interruption,
        )
    return EVENT_KINDS[kind](**values)


@given(block=blocks())
def test_every_block_survives_json(block: Block) -> None:
    assert block_from_json(through_json(block_to_json(block))) == block


@given(message=messages())
def test_every_message_survives_json(message: Message) -> None:
    assert message_from_json(through_json(message_to_json(message))) == message


@given(event=EVENTS)
def test_every_chat_event_survives_json_and_names_its_type(event: ChatEvent) -> None:
    data = through_json(event_to_json(event))
    assert isinstance(data["type"], str)
    assert event_from_json(data) == event


def test_an_unknown_block_is_saved_again_unchanged() -> None:
    data: JsonObject = {"type": "hologram", "points": [1, 2], "data": {"deep": None}}
    block = block_from_json(data)
    assert isinstance(block, UnknownContent)
    assert block_to_json(block) == data


def test_a_message_may_hold_a_plain_string() -> None:
    assert message_from_json({"role": "user", "content": "hi"}).content == (TextContent("hi"),)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "text"},
        {"type": "text", "text": 3},
        {"type": "embedding", "vector": ["a"]},
        {"type": "embedding"},
        {"type": "image", "data": "***", "encoding": "base64"},
    ],
)
def test_a_damaged_block_is_refused_with_a_sentence(data: JsonObject) -> None:
    with pytest.raises(AIError) as caught:
        block_from_json(data)
    assert caught.value.code == ErrorCode.BAD_REQUEST


@pytest.mark.parametrize("data", ["%%%", "é", "abc"])
def test_media_that_are_no_base64_are_refused_in_a_sentence(data: str) -> None:
    with pytest.raises(AIError, match="no usable 'data'"):
        block_from_json({"type": "image", "data": data, "encoding": "base64"})
