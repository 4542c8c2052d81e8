"""What the conversations become for vLLM, and its own options by the names of two versions."""

from collections.abc import Mapping

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from tests.contract.requests.as_openai import BODIES as OPENAI
from tests.contract.requests.as_openai import HI, body, with_result_names

BODIES: Mapping[str, JsonObject | ErrorCode] = {
    # A template may want the name of the tool, which vLLM passes on as it is.
    **with_result_names(OPENAI),
    # top_k and min_p are taken at the top; the penalty has a name of its own (quirks 12).
    "sampling": body(
        HI, temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, repetition_penalty=1.1, seed=7
    ),
    # `max_tokens` is deprecated and still read, by every version (quirks 3).
    "penalties": body(HI, presence_penalty=1.5, frequency_penalty=-0.5),
    "limits": body(HI, max_tokens=100, stop=["END"]),
    # Templates are told by their arguments (quirks 3).
    "thinking": body(HI, chat_template_kwargs={"enable_thinking": True}),
    "much thinking": body(
        HI, reasoning_effort="high", chat_template_kwargs={"enable_thinking": True}
    ),
    "no thinking": body(HI, chat_template_kwargs={"enable_thinking": False}),
}

CITY: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}}
ANSWER: JsonObject = {"name": "answer", "schema": CITY}

OPTIONS: Mapping[str, tuple[JsonObject, JsonObject, JsonObject]] = {
    # Since 0.12 constraints are `structured_outputs`; old names do nothing there (quirks 3).
    "guided_json": (
        {"guided_json": CITY},
        {"structured_outputs": {"json": CITY}},
        {"guided_json": CITY},
    ),
    "guided_regex": (
        {"guided_regex": "[0-9]+"},
        {"structured_outputs": {"regex": "[0-9]+"}},
        {"guided_regex": "[0-9]+"},
    ),
    "guided_choice": (
        {"guided_choice": ["yes", "no"]},
        {"structured_outputs": {"choice": ["yes", "no"]}},
        {"guided_choice": ["yes", "no"]},
    ),
    "guided_grammar": (
        {"guided_grammar": "root ::= 'a'", "guided_whitespace_pattern": " ?"},
        {"structured_outputs": {"grammar": "root ::= 'a'", "whitespace_pattern": " ?"}},
        {"guided_grammar": "root ::= 'a'", "guided_whitespace_pattern": " ?"},
    ),
    "the newer name": (
        {"structured_outputs": {"choice": ["yes", "no"]}},
        {"structured_outputs": {"choice": ["yes", "no"]}},
        {"guided_choice": ["yes", "no"]},
    ),
    "both names": (
        {"guided_choice": ["a"], "structured_outputs": {"choice": ["b"]}},
        {"structured_outputs": {"choice": ["b"]}},
        {"guided_choice": ["a"]},
    ),
    "a constraint that is null": ({"guided_regex": None}, {}, {"guided_regex": None}),
    # `response_format` works in all versions (quirks 3).
    "response_format": (
        {"response_format": {"type": "json_schema", "json_schema": ANSWER}},
        {"response_format": {"type": "json_schema", "json_schema": ANSWER}},
        {"response_format": {"type": "json_schema", "json_schema": ANSWER}},
    ),
    # Beam search is still a field, `best_of` is none any more (quirks 3).
    "beam search": (
        {"use_beam_search": True, "best_of": 4, "length_penalty": 1.0},
        {"use_beam_search": True, "length_penalty": 1.0},
        {"use_beam_search": True, "length_penalty": 1.0},
    ),
    "penalties": (
        {"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1},
        {"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1},
        {"presence_penalty": 0.5, "frequency_penalty": -0.5, "repetition_penalty": 1.1},
    ),
    "tokens": (
        {"min_tokens": 2, "skip_special_tokens": False, "stop_token_ids": [1, 2]},
        {"min_tokens": 2, "skip_special_tokens": False, "stop_token_ids": [1, 2]},
        {"min_tokens": 2, "skip_special_tokens": False, "stop_token_ids": [1, 2]},
    ),
    # The fields of reasoning (quirks 3).
    "reasoning": (
        {"reasoning_effort": "low", "include_reasoning": False, "thinking_token_budget": 64},
        {"reasoning_effort": "low", "include_reasoning": False, "thinking_token_budget": 64},
        {"reasoning_effort": "low", "include_reasoning": False, "thinking_token_budget": 64},
    ),
    "a field of tomorrow": (
        {"something_new": {"a": [1, None]}},
        {"something_new": {"a": [1, None]}},
        {"something_new": {"a": [1, None]}},
    ),
}
"""What somebody wrote, and what of it is sent to a newer and to an older server."""
