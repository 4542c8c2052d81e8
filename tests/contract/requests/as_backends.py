"""What the conversations become for the backends that speak chat completions in their own way."""

from collections.abc import Mapping

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from tests.contract.requests.as_openai import BODIES as OPENAI
from tests.contract.requests.as_openai import CLOCK, HI, body, with_result_names

Bodies = Mapping[str, JsonObject | ErrorCode]

LMSTUDIO: Bodies = {
    **OPENAI,
    # top_k and min_p are taken at the top; the penalty goes by llama.cpp's name (quirks 12).
    "sampling": body(
        HI, temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, repeat_penalty=1.1, seed=7
    ),
    # The limit is `max_tokens`; the window is set when a model is loaded (quirks 5, 12).
    "limits": body(HI, max_tokens=100, stop=["END"]),
    # Thinking is a setting of the server (quirks 5, "reasoning"): it cannot be switched off.
    "no thinking": ErrorCode.UNSUPPORTED_FEATURE,
}

LOCALAI: Bodies = {
    **OPENAI,
    # Its models are run by llama.cpp for the most part, whose names it takes (quirks 8, 12).
    "sampling": body(
        HI, temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, repeat_penalty=1.1, seed=7
    ),
    "limits": body(HI, max_tokens=100, stop=["END"]),
    # What it does with thoughts is to take them out of the text (quirks 8, "reasoning").
    "no thinking": ErrorCode.UNSUPPORTED_FEATURE,
}

KOBOLD: Bodies = {
    **OPENAI,
    # The penalty has a name of its own (quirks 12, "repeat penalty").
    "sampling": body(HI, temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, rep_pen=1.1, seed=7),
    "limits": body(HI, max_tokens=100, stop=["END"]),
    "no thinking": ErrorCode.UNSUPPORTED_FEATURE,
}

SMALL_WINDOW = 64
IN_A_SMALL_WINDOW: Mapping[str, JsonObject] = {
    # A longer answer would have the server cut the prompt (quirks 7, "large max_tokens").
    "limits": body(HI, max_tokens=32, stop=["END"]),
    "a question": body(HI),
}

LLAMACPP: Bodies = {
    # llama.cpp hands the name of the tool to the template.
    **with_result_names(OPENAI),
    # top_k, min_p and `repeat_penalty` are taken at the top (quirks 12).
    "sampling": body(
        HI, temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, repeat_penalty=1.1, seed=7
    ),
    "limits": body(HI, max_tokens=100, stop=["END"]),
    # It reads the choice as a word, and passes over one that names a tool.
    "a tool by name": body(HI, tools=[CLOCK], tool_choice="required"),
    # The template is told by its arguments (quirks 12, "thinking").
    "thinking": body(HI, chat_template_kwargs={"enable_thinking": True}),
    "much thinking": body(
        HI, reasoning_effort="high", chat_template_kwargs={"enable_thinking": True}
    ),
    "no thinking": body(HI, chat_template_kwargs={"enable_thinking": False}),
}
