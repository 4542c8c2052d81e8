"""What the conversations become for OpenAI itself (`/chat/completions`)."""

from collections.abc import Mapping
from typing import Any

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from tests.contract.requests.conversations import ANSWER, CITY, JPEG_BASE64, LINK, PNG_BASE64

HI: JsonObject = {"role": "user", "content": "Hi"}
HELLO: JsonObject = {"role": "assistant", "content": "Hello!"}
NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
WEATHER: JsonObject = {
    "type": "function",
    "function": {"name": "weather", "description": "Weather of a city.", "parameters": CITY},
}
CLOCK: JsonObject = {
    "type": "function",
    "function": {"name": "clock", "parameters": NO_PARAMETERS},
}
# Arguments of the history are JSON text (quirks 12, "call in history").
OSLO: JsonObject = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
}
NOW: JsonObject = {
    "id": "c2",
    "type": "function",
    "function": {"name": "clock", "arguments": "{}"},
}
CALLS_OSLO: JsonObject = {"role": "assistant", "content": "", "tool_calls": [OSLO]}
COLD: JsonObject = {"role": "tool", "content": "4 degrees", "tool_call_id": "c1"}
NOON: JsonObject = {"role": "tool", "content": "12:00", "tool_call_id": "c2"}
FAILED: JsonObject = COLD | {"content": "No such city."}


def picture(url: str) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def body(*messages: JsonObject, **more: JsonValue) -> JsonObject:
    """Every request asks for the counts (quirks 1.5)."""
    made: JsonObject = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [*messages],
    }
    return made | more


BODIES: Mapping[str, JsonObject | ErrorCode] = {
    "a question": body(HI),
    "a single input": ErrorCode.UNSUPPORTED_FEATURE,
    "a system prompt": body({"role": "system", "content": "Be brief."}, HI),
    "a system message among others": body(
        {"role": "system", "content": "Be brief."},
        HI,
        HELLO,
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Go on"},
    ),
    "several turns": body(HI, HELLO, {"role": "user", "content": "How are you?"}),
    "two questions in a row": body(HI, {"role": "user", "content": "Are you there?"}),
    # OpenAI knows no top_k, min_p and repeat penalty (quirks 12).
    "sampling": body(HI, temperature=0.5, top_p=0.9, seed=7),
    # Reasoning models refuse `max_tokens` (quirks 4).
    "penalties": body(HI, presence_penalty=1.5, frequency_penalty=-0.5),
    "limits": body(HI, max_completion_tokens=100, stop=["END"]),
    "further keys": body(HI, user="u1"),
    "a picture": body(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                picture(f"data:image/png;base64,{PNG_BASE64}"),
            ],
        }
    ),
    "a picture as text": body(
        {"role": "user", "content": [picture(f"data:image/jpeg;base64,{JPEG_BASE64}")]}
    ),
    "a link to a picture": body({"role": "user", "content": [picture(LINK)]}),
    "tools": body(HI, tools=[WEATHER, CLOCK]),
    "a tool that must be called": body(HI, tools=[WEATHER], tool_choice="required"),
    "a tool by name": body(
        HI,
        tools=[WEATHER, CLOCK],
        tool_choice={"type": "function", "function": {"name": "clock"}},
    ),
    "no tool this time": body(HI),
    "a call and its result": body(
        HI, CALLS_OSLO | {"content": "Let me look."}, COLD, tools=[WEATHER]
    ),
    "calls side by side": body(
        HI, CALLS_OSLO | {"tool_calls": [OSLO, NOW]}, COLD, NOON, tools=[WEATHER, CLOCK]
    ),
    "a call that failed": body(HI, CALLS_OSLO, FAILED, tools=[WEATHER]),
    "a word after the results": body(
        HI, CALLS_OSLO, COLD, {"role": "user", "content": "In Fahrenheit!"}, tools=[WEATHER]
    ),
    "calls of a chat without tools now": body(
        HI, CALLS_OSLO, COLD, HELLO, {"role": "user", "content": "Thanks"}
    ),
    "a call that could not be read": body(
        HI,
        CALLS_OSLO | {"tool_calls": [OSLO | {"function": {"name": "weather", "arguments": "{}"}}]},
        FAILED,
        tools=[WEATHER],
    ),
    "a call with another server's id": body(
        HI,
        CALLS_OSLO | {"tool_calls": [NOW | {"id": "functions.clock:0"}]},
        NOON | {"tool_call_id": "functions.clock:0"},
        tools=[CLOCK],
    ),
    "own thoughts": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "own thoughts that are sealed": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "another model's thoughts": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "thoughts that were cut short": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "thinking": body(HI),
    "much thinking": body(HI, reasoning_effort="high"),
    "no thinking": body(HI, reasoning_effort="none"),
    "an answer by a schema": body(
        HI,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": ANSWER},
        },
    ),
    "an answer in JSON": body(HI, response_format={"type": "json_object"}),
}


def with_result_names(bodies: Mapping[str, JsonObject | ErrorCode]) -> dict[str, Any]:
    """Return bodies for servers whose templates get the name of a tool with its result."""
    return {
        name: one if isinstance(one, ErrorCode) else one | {"messages": _named(one["messages"])}
        for name, one in bodies.items()
    }


def _named(messages: Any) -> list[Any]:
    calls = [call for one in messages for call in one.get("tool_calls", ())]
    names = {call["id"]: call["function"]["name"] for call in calls}
    return [
        one | {"name": names[one["tool_call_id"]]} if one["role"] == "tool" else one
        for one in messages
    ]
