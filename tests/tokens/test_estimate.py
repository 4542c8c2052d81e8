"""About how many tokens a request has, without any tokenizer."""

from math import ceil

from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.blocks import (
    AudioContent,
    EmbeddingContent,
    ImageContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall, ToolSchema
from ollm_tui.tokens.estimate import (
    PICTURE_MOST,
    PICTURE_UNKNOWN,
    attachment_tokens,
    fallback_estimate,
)
from tests.support.seeds import in_parts
from tests.tokens.strategies import estimate_request, requests

WEATHER = ToolSchema(name="weather", parameters={"type": "object"})


def of(*content: object, **more: object) -> int:
    message = Message("user", list(content), **more)  # type: ignore[arg-type]  # blocks of any kind
    return estimate_request(Request(model="m", messages=[message]))


# Feature: stage-02-core-provider, Property 24: Fallback Token Estimation
@settings(max_examples=200)
@given(st.text())
def test_text_counts_a_quarter_of_its_length_rounded_up(text: str) -> None:
    assert fallback_estimate(text) == ceil(len(text) / 4)
    assert estimate_request(Request(model="m", input=[TextContent(text)])) == max(
        1, ceil(len(text) / 4)
    )


# Feature: stage-02-core-provider, Property 22: Token Count Estimation
@in_parts(2)
@settings(max_examples=100)
@given(request=requests())
def test_every_request_has_at_least_one_token_and_more_with_more_in_it(
    part: int, request: Request
) -> None:
    tokens = estimate_request(request)
    assert isinstance(tokens, int)
    assert tokens >= 1
    prompt = Message("user", "12345")
    longer = Request(
        model="m",
        messages=[*request.conversation, prompt],
        system_prompt=request.system_prompt,
        tools=request.offered_tools,
    )
    more = estimate_request(longer)
    assert more in (tokens + 2, 2)  # 2 where the request had counted nothing at all


def test_a_request_is_the_sum_of_prompt_messages_calls_results_and_tools() -> None:
    call = ToolCall(id="1", name="weather", args={"city": "Oslo"})
    parts = [
        Message("user", "Weather?"),
        Message("assistant", "Let me see", tool_calls=[call]),
        Message("tool", "sunny", name="weather", tool_call_id="1"),
    ]
    request = Request(model="m", messages=parts, system_prompt="Be brief.", tools=[WEATHER])
    schema = '{"name": "weather", "description": "", "parameters": {"type": "object"}}'
    texts = ["Be brief.", schema, "Weather?", "Let me see", "weather", '{"city": "Oslo"}', "sunny"]
    assert estimate_request(request) == sum(fallback_estimate(text) for text in texts)


def test_tools_that_are_not_offered_cost_nothing() -> None:
    message = Message("user", "hi")
    request = Request(model="m", messages=[message], tools=[WEATHER], tool_choice="none")
    assert estimate_request(request) == 1


def test_thinking_counts_nothing() -> None:
    message = Message("assistant", [ThinkingContent("x" * 40), TextContent("y" * 8)])
    request = Request(model="m", messages=[message])
    assert estimate_request(request) == 2


def test_a_picture_counts_by_its_patches_up_to_a_bound() -> None:
    assert attachment_tokens(ImageContent(width=64, height=32)) == 2
    assert attachment_tokens(ImageContent(width=65, height=33)) == 6
    assert attachment_tokens(ImageContent(width=10**9, height=10**9)) == PICTURE_MOST
    assert attachment_tokens(ImageContent(url="x")) == PICTURE_UNKNOWN
    assert attachment_tokens(ImageContent(width=0, height=9)) == PICTURE_UNKNOWN
    assert of(TextContent("1234"), ImageContent(width=64, height=32)) == 3


def test_sound_and_video_count_by_the_second() -> None:
    assert attachment_tokens(AudioContent(duration_s=2.0)) == 64
    assert attachment_tokens(AudioContent(duration_s=0.0)) == 1
    assert attachment_tokens(AudioContent()) == 30 * 32
    assert attachment_tokens(VideoContent(duration_s=2.0)) == 600
    assert of(AudioContent(duration_s=1.0), VideoContent(duration_s=1.0)) == 332


def test_what_cannot_be_sent_counts_nothing() -> None:
    assert of(EmbeddingContent((1.0,) * 99), UnknownContent("strange", {"a": "b" * 99})) == 1


def test_a_call_without_arguments_counts_as_one_with_none() -> None:
    broken = ToolCall(id="1", name="abcd", args=None, raw_args='{"x": ')
    assert of(tool_calls=[broken]) == 2
