"""Twelve conversations: with and without a system prompt, tools, results and several turns."""

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall, ToolSchema

WEATHER = ToolSchema(
    name="get_weather",
    description="Weather of a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Its name."}},
        "required": ["city"],
    },
)
CLOCK = ToolSchema(
    name="clock", description="The time.", parameters={"type": "object", "properties": {}}
)


def _call(number: int, name: str, **args: str) -> ToolCall:
    return ToolCall(id=f"call0000{number}", name=name, args={**args})


def _result(number: int, name: str, text: str) -> Message:
    return Message("tool", text, name=name, tool_call_id=f"call0000{number}")


def _user(text: str) -> Message:
    return Message("user", text)


def _said(text: str) -> Message:
    return Message("assistant", text)


ASKED = [_user("Hello"), _said("Hi there"), _user("Who are you?")]
CALLED = [
    _user("Weather in Oslo?"),
    Message("assistant", "", tool_calls=[_call(1, "get_weather", city="Oslo")]),
    _result(1, "get_weather", "sunny"),
]
TWICE = [
    _user("Weather in Oslo, and the time?"),
    Message("assistant", "", tool_calls=[_call(1, "get_weather", city="Oslo"), _call(2, "clock")]),
    _result(1, "get_weather", "sunny"),
    _result(2, "clock", "12:00"),
]
TOOLS = (WEATHER, CLOCK)
SYSTEM = "You are brief & kind."
CONVERSATIONS = {
    "question": Request(model="m", messages=ASKED[:1]),
    "system": Request(model="m", messages=ASKED[:1], system_prompt=SYSTEM),
    "turns": Request(model="m", messages=ASKED),
    "system and turns": Request(model="m", messages=ASKED, system_prompt=SYSTEM),
    "odd text": Request(model="m", messages=[_user(' <b> "ü" \n\n {{ x }} 🎌 ')]),
    "thinking on": Request(model="m", messages=ASKED, should_think=True),
    "thinking off": Request(model="m", messages=ASKED, should_think=False),
    "tools": Request(model="m", messages=ASKED[:1], tools=TOOLS),
    "system and tools": Request(
        model="m", messages=ASKED, tools=TOOLS, system_prompt=SYSTEM, should_think=False
    ),
    "call": Request(model="m", messages=CALLED, tools=TOOLS, system_prompt=SYSTEM),
    "several calls": Request(model="m", messages=TWICE, tools=TOOLS),
    "after a call": Request(
        model="m", messages=[*CALLED, _said("It is sunny."), _user("Thanks")], tools=TOOLS
    ),
}
