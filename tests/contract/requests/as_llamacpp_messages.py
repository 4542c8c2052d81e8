"""What the conversations become for llama.cpp's own `/v1/messages`."""

from collections.abc import Mapping

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from tests.contract.requests.as_anthropic import BODIES as ANTHROPIC
from tests.contract.requests.as_anthropic import CLOCK, HI, body
from tests.contract.requests.conversations import ANSWER

BODIES: Mapping[str, JsonObject | ErrorCode] = {
    **ANTHROPIC,
    # It takes a named tool for any tool.
    "a tool by name": body(HI, tools=[CLOCK], tool_choice={"type": "tool", "name": "clock"}),
    # Thinking is switched by the template, and graded by a budget (quirks 12, "thinking").
    "thinking": body(HI, chat_template_kwargs={"enable_thinking": True}),
    "much thinking": body(
        HI,
        max_tokens=24576,  # room for the answer behind the thoughts
        thinking={"type": "enabled", "budget_tokens": 16384},
        chat_template_kwargs={"enable_thinking": True},
    ),
    "no thinking": body(HI, chat_template_kwargs={"enable_thinking": False}),
    # A tool takes the answer (quirks 12, "schema").
    "an answer by a schema": body(
        HI,
        tools=[{"name": "answer", "description": "Give the answer.", "input_schema": ANSWER}],
        tool_choice={"type": "any"},
    ),
}
