"""Rules of the vocabulary: messages, requests, content, signals, errors."""

import pytest
from hypothesis import given, settings

from ollm_tui.protocol.blocks import (
    EmbeddingContent,
    TextContent,
    ThinkingContent,
    audio,
    content_to_text,
    image,
    normalize_content,
    text,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import (
    MODEL_ALIASES,
    ModelCapability,
    ModelRef,
    from_alias,
    matches_alias,
)
from ollm_tui.protocol.request import (
    GenerationOptions,
    Request,
    Response,
    ThinkingConfig,
    thinking_mode,
)
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall, ToolSchema
from tests.support.strategies import capabilities, messages

GPT4O = ModelCapability(
    frozenset({"text", "image", "audio"}),
    frozenset({"text"}),
    frozenset({"multi_turn", "stream", "tool_use", "system_prompt", "thinking"}),
)


def test_a_string_is_one_text_block_and_an_empty_one_is_none() -> None:
    assert normalize_content("hi") == (TextContent("hi"),)
    assert normalize_content("") == ()
    assert normalize_content([image("u")]) == (image("u"),)


def test_text_of_content_is_its_text_and_thinking() -> None:
    assert content_to_text([ThinkingContent("a"), image("u"), text("b")]) == "ab"
    assert content_to_text("plain") == "plain"
    assert audio(b"x", "audio/wav").mime_type == "audio/wav"
    assert EmbeddingContent((1.0, 2.0)).dimensions == 2


# Feature: stage-02-core-provider, Property 30: Message Structure Validity
@settings(max_examples=100)
@given(message=messages())
def test_a_message_has_a_role_and_a_block_or_a_call(message: Message) -> None:
    assert message.role
    assert message.content or message.tool_calls


def test_a_message_of_nothing_is_refused() -> None:
    with pytest.raises(AIError, match="empty"):
        Message("user", "")
    with pytest.raises(AIError, match="role"):
        Message("", "hi")


def test_an_assistant_message_may_be_only_a_call() -> None:
    call = ToolCall(id="1", name="t", args={})
    assert Message("assistant", tool_calls=[call]).tool_calls == (call,)


def test_a_tool_may_answer_with_nothing() -> None:
    assert Message("tool", "", tool_call_id="1", name="t").content == ()


@pytest.mark.parametrize(
    ("messages", "given"), [(None, None), ((Message("user", "a"),), "b"), ((), None)]
)
def test_a_request_takes_messages_or_an_input(
    messages: tuple[Message, ...] | None, given: str | None
) -> None:
    with pytest.raises(AIError) as caught:
        Request(model="m", messages=messages, input=given)
    assert caught.value.code == ErrorCode.BAD_REQUEST


def test_a_request_needs_a_model() -> None:
    with pytest.raises(AIError, match="no model"):
        Request(model="", input="x")


def test_tools_do_not_count_with_a_single_input_or_when_switched_off() -> None:
    tool = ToolSchema(name="t")
    assert Request(model="m", input="x", tools=[tool]).offered_tools == ()
    history = [Message("user", "x")]
    assert Request(model="m", messages=history, tools=[tool]).offered_tools == (tool,)
    off = Request(model="m", messages=history, tools=[tool], tool_choice="none")
    assert off.offered_tools == ()


def test_a_single_input_counts_as_one_question() -> None:
    assert Request(model="m", input="x").conversation == (Message("user", "x"),)


@pytest.mark.parametrize("key", ["model", "messages", "stream"])
def test_extra_keys_may_not_replace_the_request(key: str) -> None:
    with pytest.raises(AIError, match=key):
        GenerationOptions(extra_body={key: 1})


def test_the_text_of_a_response_leaves_thinking_out() -> None:
    assert Response(content=(ThinkingContent("a"), TextContent("b"))).text == "b"


def test_aliases_match_supersets_of_their_modalities() -> None:
    assert matches_alias(GPT4O, "chat")
    assert matches_alias(GPT4O, "vision")
    assert matches_alias(GPT4O, "stt")
    assert not matches_alias(GPT4O, "drawing")
    assert not matches_alias(GPT4O, "nonsense")


def test_features_count_only_when_they_are_required() -> None:
    bare = ModelCapability(frozenset({"text"}), frozenset({"text"}))
    assert matches_alias(bare, "chat")
    assert not matches_alias(bare, "chat", require_features=["multi_turn"])
    assert matches_alias(GPT4O, "chat", require_features=["tool_use"])


@given(capability=capabilities())
def test_what_covers_an_alias_matches_it(capability: ModelCapability) -> None:
    for alias in MODEL_ALIASES:
        made = from_alias(alias)
        assert made is not None
        modalities = ModelCapability(made.input, made.output)
        assert matches_alias(capability, alias) == capability.covers(modalities)


def test_an_unknown_alias_is_no_capability() -> None:
    assert from_alias("nonsense") is None


def test_a_model_address_is_provider_and_name() -> None:
    assert ModelRef.parse("vllm://org/model") == ModelRef("vllm", "org/model")
    assert ModelRef.parse("qwen3:8b") is None
    assert ModelRef.parse("vllm://") is None
    assert str(ModelRef("a", "b")) == "a://b"


def test_a_signal_tells_each_listener_once() -> None:
    received: list[str] = []
    signal = AbortSignal()
    signal.subscribe(lambda: received.append("one"))
    leave = signal.subscribe(lambda: received.append("gone"))
    leave()
    signal.abort()
    signal.abort()
    signal.subscribe(lambda: received.append("late"))
    assert received == ["one", "late"]
    assert signal.aborted


def test_an_unknown_code_counts_as_an_internal_error() -> None:
    assert AIError(777, "x").known_code is ErrorCode.INTERNAL_ERROR
    assert str(AIError(404, "No.", hint="Yes.")) == "No. Yes."


def test_every_way_to_ask_for_thinking_is_a_mode() -> None:
    assert thinking_mode(None) is None
    assert thinking_mode(value=True) == "last"
    assert thinking_mode(value=False) == "off"
    assert thinking_mode("deep") == "deep"
    assert thinking_mode(ThinkingConfig(mode="first")) == "first"
