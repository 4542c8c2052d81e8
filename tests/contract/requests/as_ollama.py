"""What the conversations become for Ollama (`/api/chat`)."""

from collections.abc import Mapping

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from tests.contract.requests.conversations import ANSWER, CITY, JPEG_BASE64, PNG_BASE64

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
# Arguments of the history are objects; a string would be refused (quirks 2, "history").
OSLO: JsonObject = {"id": "c1", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
NOW: JsonObject = {"id": "c2", "function": {"name": "clock", "arguments": {}}}
CALLS_OSLO: JsonObject = {"role": "assistant", "content": "", "tool_calls": [OSLO]}
# A result names its tool: templates use it (quirks 2, "history: tool result").
COLD: JsonObject = {
    "role": "tool",
    "content": "4 degrees",
    "tool_name": "weather",
    "tool_call_id": "c1",
}
NOON: JsonObject = {"role": "tool", "content": "12:00", "tool_name": "clock", "tool_call_id": "c2"}
FAILED: JsonObject = COLD | {"content": "No such city."}


def body(*messages: JsonObject, **more: JsonValue) -> JsonObject:
    made: JsonObject = {"model": "m", "stream": True, "truncate": False, "messages": [*messages]}
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
    "sampling": body(
        HI,
        options={
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 40,
            "min_p": 0.05,
            "repeat_penalty": 1.1,
            "seed": 7,
        },
    ),
    "penalties": body(HI, options={"presence_penalty": 1.5, "frequency_penalty": -0.5}),
    "limits": body(
        HI,
        options={"num_predict": 100, "stop": ["END"], "num_ctx": 8192},
        keep_alive="5m",
    ),
    "further keys": body(HI, user="u1"),
    # Raw base64 beside the text, without a `data:` prefix (quirks 2, "images").
    "a picture": body({"role": "user", "content": "What is it?", "images": [PNG_BASE64]}),
    "a picture as text": body({"role": "user", "content": "", "images": [JPEG_BASE64]}),
    "a link to a picture": ErrorCode.UNSUPPORTED_MODALITY,
    "tools": body(HI, tools=[WEATHER, CLOCK]),
    # No field of the API forces a call.
    "a tool that must be called": ErrorCode.UNSUPPORTED_FEATURE,
    "a tool by name": ErrorCode.UNSUPPORTED_FEATURE,
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
        CALLS_OSLO
        | {"tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": {}}}]},
        FAILED,
        tools=[WEATHER],
    ),
    "a call with another server's id": body(
        HI,
        CALLS_OSLO | {"tool_calls": [NOW | {"id": "functions.clock:0"}]},
        NOON | {"tool_call_id": "functions.clock:0"},
        tools=[CLOCK],
    ),
    # Thoughts are not sent back (quirks 2, "message.thinking").
    "own thoughts": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "own thoughts that are sealed": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "another model's thoughts": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    "thoughts that were cut short": body(HI, CALLS_OSLO, COLD, tools=[WEATHER]),
    # At the top of the request; inside the options it would be ignored (quirks 2, "think").
    "thinking": body(HI, think=True),
    "much thinking": body(HI, think="high"),
    "no thinking": body(HI, think=False),
    "an answer by a schema": body(HI, format=ANSWER),
    "an answer in JSON": body(HI, format="json"),
}
