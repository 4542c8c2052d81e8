"""Conversations that every adapter has to tell its server rightly, one feature each.

What each becomes is written by hand in `as_ollama.py`, `as_openai.py` and `as_anthropic.py`.
"""

from collections.abc import Mapping

from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request, ThinkingConfig
from ollm_tui.protocol.tools import ToolCall, ToolName, ToolSchema

MODEL = "m"
SIGNER = "p://m"
"""Under whose name the adapters ask."""
PNG = b"\x89PNG\r\n"
PNG_BASE64 = "iVBORw0K"
JPEG_BASE64 = "/9j/4AAQ"
LINK = "https://pictures.example/cat.png"

CITY: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
WEATHER = ToolSchema(name="weather", description="Weather of a city.", parameters=CITY)
CLOCK = ToolSchema(name="clock")
ANSWER: JsonObject = {"type": "object", "properties": {"age": {"type": "integer"}}}

HI = Message("user", "Hi")
HELLO = Message("assistant", "Hello!")
OSLO = ToolCall(id="c1", name="weather", args={"city": "Oslo"}, raw_args='{"city": "Oslo"}')
NOW = ToolCall(id="c2", name="clock", args={})
COLD = Message("tool", "4 degrees", name="weather", tool_call_id="c1")
NOON = Message("tool", "12:00", name="clock", tool_call_id="c2")
FAILED = Message(
    "tool", "No such city.", name="weather", tool_call_id="c1", metadata={"is_error": True}
)
PICTURE = ImageContent(data=PNG)


def ask(*messages: Message, **more: object) -> Request:
    return Request(model=MODEL, messages=messages, **more)  # type: ignore[arg-type]


def options(**named: object) -> GenerationOptions:
    return GenerationOptions(**named)  # type: ignore[arg-type]


def thinks(*thoughts: ThinkingContent, call: ToolCall = OSLO) -> Request:
    """A tool turn that began with these thoughts."""
    return ask(HI, Message("assistant", thoughts, tool_calls=[call]), COLD, tools=[WEATHER])


CONVERSATIONS: Mapping[str, Request] = {
    "a question": ask(HI),
    "a single input": Request(model=MODEL, input="Hi", tools=[WEATHER]),
    "a system prompt": ask(HI, system_prompt="Be brief."),
    "a system message among others": ask(
        HI,
        HELLO,
        Message("system", "Be kind."),
        Message("user", "Go on"),
        system_prompt="Be brief.",
    ),
    "several turns": ask(HI, HELLO, Message("user", "How are you?")),
    "two questions in a row": ask(HI, Message("user", "Are you there?")),
    "sampling": ask(
        HI,
        options=options(
            temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, repeat_penalty=1.1, seed=7
        ),
    ),
    "penalties": ask(HI, options=options(presence_penalty=1.5, frequency_penalty=-0.5)),
    "limits": ask(
        HI, options=options(max_tokens=100, stop=("END",), num_ctx=8192, keep_alive="5m")
    ),
    "further keys": ask(HI, options=options(extra_body={"user": "u1"})),
    "a picture": ask(Message("user", [TextContent("What is it?"), PICTURE])),
    "a picture as text": ask(
        Message("user", [ImageContent(data=f"data:image/jpeg;base64,{JPEG_BASE64}")])
    ),
    "a link to a picture": ask(Message("user", [ImageContent(url=LINK)])),
    "tools": ask(HI, tools=[WEATHER, CLOCK]),
    "a tool that must be called": ask(HI, tools=[WEATHER], tool_choice="required"),
    "a tool by name": ask(HI, tools=[WEATHER, CLOCK], tool_choice=ToolName("clock")),
    "no tool this time": ask(HI, tools=[WEATHER], tool_choice="none"),
    "a call and its result": ask(
        HI, Message("assistant", "Let me look.", tool_calls=[OSLO]), COLD, tools=[WEATHER]
    ),
    "calls side by side": ask(
        HI, Message("assistant", tool_calls=[OSLO, NOW]), COLD, NOON, tools=[WEATHER, CLOCK]
    ),
    "a call that failed": ask(HI, Message("assistant", tool_calls=[OSLO]), FAILED, tools=[WEATHER]),
    "a word after the results": ask(
        HI,
        Message("assistant", tool_calls=[OSLO]),
        COLD,
        Message("user", "In Fahrenheit!"),
        tools=[WEATHER],
    ),
    "calls of a chat without tools now": ask(
        HI, Message("assistant", tool_calls=[OSLO]), COLD, HELLO, Message("user", "Thanks")
    ),
    "a call that could not be read": ask(
        HI,
        Message(
            "assistant", tool_calls=[ToolCall(id="c1", name="weather", args=None, raw_args="{")]
        ),
        FAILED,
        tools=[WEATHER],
    ),
    "a call with another server's id": ask(
        HI,
        Message("assistant", tool_calls=[ToolCall(id="functions.clock:0", name="clock", args={})]),
        Message("tool", "12:00", name="clock", tool_call_id="functions.clock:0"),
        tools=[CLOCK],
    ),
    "own thoughts": thinks(ThinkingContent("Hm.", "sig", SIGNER)),
    "own thoughts that are sealed": thinks(
        ThinkingContent("Hm.", "sig", SIGNER), ThinkingContent("", "data", SIGNER, sealed=True)
    ),
    "another model's thoughts": thinks(ThinkingContent("Hm.", "sig", "p://other")),
    "thoughts that were cut short": thinks(ThinkingContent("Hm.")),
    "thinking": ask(HI, should_think=True),
    "much thinking": ask(HI, should_think=ThinkingConfig(mode="last", effort="high")),
    "no thinking": ask(HI, should_think=False),
    "an answer by a schema": ask(HI, options=options(response_format=ANSWER)),
    "an answer in JSON": ask(HI, options=options(response_format="json")),
}
