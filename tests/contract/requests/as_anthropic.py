"""What the conversations become for Anthropic (`/messages`)."""

from collections.abc import Mapping

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from tests.contract.requests.conversations import ANSWER, CITY, JPEG_BASE64, LINK, PNG_BASE64

HI: JsonObject = {"role": "user", "content": "Hi"}
HELLO: JsonObject = {"role": "assistant", "content": "Hello!"}
WEATHER: JsonObject = {
    "name": "weather",
    "description": "Weather of a city.",
    "input_schema": CITY,
}
CLOCK: JsonObject = {"name": "clock", "input_schema": {"type": "object", "properties": {}}}
# A call is a block whose input is an object (quirks 12, "call in history").
OSLO: JsonObject = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}
NOW: JsonObject = {"type": "tool_use", "id": "c2", "name": "clock", "input": {}}
COLD: JsonObject = {"type": "tool_result", "tool_use_id": "c1", "content": "4 degrees"}
NOON: JsonObject = {"type": "tool_result", "tool_use_id": "c2", "content": "12:00"}
FAILED: JsonObject = COLD | {"content": "No such city.", "is_error": True}
THOUGHT: JsonObject = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
SEALED: JsonObject = {"type": "redacted_thinking", "data": "data"}


def text(content: str) -> JsonObject:
    return {"type": "text", "text": content}


def picture(**source: str) -> JsonObject:
    return {"type": "image", "source": {**source}}


def user(*blocks: JsonObject) -> JsonObject:
    return {"role": "user", "content": [*blocks]}


def assistant(*blocks: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [*blocks]}


def body(*messages: JsonObject, **more: JsonValue) -> JsonObject:
    """The API wants to be told a longest answer (quirks 9, "max_tokens")."""
    made: JsonObject = {"model": "m", "stream": True, "max_tokens": 8192, "messages": [*messages]}
    return made | more


BODIES: Mapping[str, JsonObject | ErrorCode] = {
    "a question": body(HI),
    "a single input": ErrorCode.UNSUPPORTED_FEATURE,
    # The system prompt has a field of its own, and there is no such role (quirks 9).
    "a system prompt": body(HI, system="Be brief."),
    "a system message among others": body(
        HI, HELLO, {"role": "user", "content": "Go on"}, system="Be brief.\n\nBe kind."
    ),
    "several turns": body(HI, HELLO, {"role": "user", "content": "How are you?"}),
    "two questions in a row": body(user(text("Hi"), text("Are you there?"))),
    # No min_p, seed and penalties (quirks 12).
    "sampling": body(HI, temperature=0.5, top_p=0.9, top_k=40),
    "penalties": body(HI),
    "limits": body(HI, max_tokens=100, stop_sequences=["END"]),
    "further keys": body(HI, user="u1"),
    "a picture": body(
        user(
            text("What is it?"),
            picture(type="base64", media_type="image/png", data=PNG_BASE64),
        )
    ),
    "a picture as text": body(
        user(picture(type="base64", media_type="image/jpeg", data=JPEG_BASE64))
    ),
    "a link to a picture": body(user(picture(type="url", url=LINK))),
    "tools": body(HI, tools=[WEATHER, CLOCK]),
    "a tool that must be called": body(HI, tools=[WEATHER], tool_choice={"type": "any"}),
    "a tool by name": body(
        HI, tools=[WEATHER, CLOCK], tool_choice={"type": "tool", "name": "clock"}
    ),
    "no tool this time": body(HI),
    # Results are what the user says, all of a turn in one message (quirks 9, "tool results").
    "a call and its result": body(
        HI, assistant(text("Let me look."), OSLO), user(COLD), tools=[WEATHER]
    ),
    "calls side by side": body(HI, assistant(OSLO, NOW), user(COLD, NOON), tools=[WEATHER, CLOCK]),
    "a call that failed": body(HI, assistant(OSLO), user(FAILED), tools=[WEATHER]),
    "a word after the results": body(
        HI, assistant(OSLO), user(COLD, text("In Fahrenheit!")), tools=[WEATHER]
    ),
    # Calls without any tool beside them are refused.
    "calls of a chat without tools now": body(
        HI,
        assistant(OSLO),
        user(COLD),
        HELLO,
        {"role": "user", "content": "Thanks"},
        tools=[{"name": "weather", "input_schema": {"type": "object", "properties": {}}}],
        tool_choice={"type": "none"},
    ),
    "a call that could not be read": body(
        HI, assistant(OSLO | {"input": {}}), user(FAILED), tools=[WEATHER]
    ),
    # Ids are letters, digits, `_` and `-`.
    "a call with another server's id": body(
        HI,
        assistant(NOW | {"id": "call_f23015bee0da"}),
        user(NOON | {"tool_use_id": "call_f23015bee0da"}),
        tools=[CLOCK],
    ),
    # Signed and sealed thoughts go back unchanged, before the call (quirks 9, "round trip").
    "own thoughts": body(HI, assistant(THOUGHT, OSLO), user(COLD), tools=[WEATHER]),
    "own thoughts that are sealed": body(
        HI, assistant(THOUGHT, SEALED, OSLO), user(COLD), tools=[WEATHER]
    ),
    "another model's thoughts": body(HI, assistant(OSLO), user(COLD), tools=[WEATHER]),
    "thoughts that were cut short": body(HI, assistant(OSLO), user(COLD), tools=[WEATHER]),
    "thinking": body(HI, thinking={"type": "adaptive", "display": "summarized"}),
    "much thinking": body(
        HI,
        thinking={"type": "adaptive", "display": "summarized"},
        output_config={"effort": "high"},
    ),
    "no thinking": body(HI, thinking={"type": "disabled"}),
    "an answer by a schema": body(
        HI, output_config={"format": {"type": "json_schema", "schema": ANSWER}}
    ),
    "an answer in JSON": ErrorCode.UNSUPPORTED_FEATURE,
}
