"""Which field a server refuses, told from all the ways in which servers say so."""

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.refusals import refused_fields, without_field

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

ENDPOINT = Endpoint("p", "P", "http://x", "")
BODY: "JsonObject" = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi", "name": "ann"}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.5,
    "top_k": 40,
    "min_p": 0.1,
    "presence_penalty": 1.0,
    "chat_template_kwargs": {"enable_thinking": False, "effort": 1},
    "reasoning_effort": "high",
}


def refusal_of(message: object, **more: object) -> object:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def extra(*places: list[object]) -> list[object]:
    return [
        {"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted"}
        for place in places
    ]


REFUSED: dict[str, tuple[int, object, list[tuple[str, ...]]]] = {
    "openai, by its code": (
        400,
        refusal_of(
            "Unsupported parameter: 'top_k' is not supported with this model.",
            param="top_k",
            code="unsupported_parameter",
        ),
        [("top_k",)],
    ),
    "openai, an argument": (
        400,
        refusal_of("Unrecognized request argument supplied: top_k"),
        [("top_k",)],
    ),
    "openai, several arguments": (
        400,
        refusal_of("Unrecognized request arguments supplied: min_p, top_k"),
        [("min_p",), ("top_k",)],
    ),
    "openai, a parameter": (400, refusal_of("Unknown parameter: 'top_k'."), [("top_k",)]),
    "openai, a value of sampling": (
        400,
        refusal_of(
            "Unsupported value: 'temperature' does not support 0.5 with this model.",
            param="temperature",
            code="unsupported_value",
        ),
        [("temperature",)],
    ),
    "fastapi": (422, {"detail": extra(["body", "top_k"])}, [("top_k",)]),
    "fastapi, two at once": (
        422,
        {"detail": extra(["body", "top_k"], ["body", "min_p"])},
        [("top_k",), ("min_p",)],
    ),
    "fastapi with pydantic 1": (
        422,
        {"detail": [{"loc": ["body", "top_k"], "type": "value_error.extra", "msg": "no"}]},
        [("top_k",)],
    ),
    "mistral, the message an object": (
        422,
        {"object": "error", "message": {"detail": extra(["body", "min_p"])}},
        [("min_p",)],
    ),
    "mistral, the message a text of JSON": (
        422,
        {"object": "error", "message": json.dumps({"detail": extra(["body", "min_p"])})},
        [("min_p",)],
    ),
    "azure, inside": (
        400,
        {"error": {"message": "Extra inputs are not permitted, field: 'min_p', value: 0.1"}},
        [("min_p",)],
    ),
    "transformers serve, a set of them": (
        422,
        {"detail": "Unexpected fields in the request: {'top_k', 'min_p'}"},
        [("top_k",), ("min_p",)],
    ),
    "groq": (400, refusal_of("property 'top_k' is unsupported"), [("top_k",)]),
    "a property of the body": (
        400,
        refusal_of("body.top_k: property 'body.top_k' is unsupported"),
        [("top_k",)],
    ),
    "gemini, line by line": (
        400,
        [
            refusal_of(
                'Invalid JSON payload received. Unknown name "top_k": Cannot find field.\n'
                'Invalid JSON payload received. Unknown name "min_p": Cannot find field.'
            )
        ],
        [("top_k",), ("min_p",)],
    ),
    "xai, in camel case": (
        400,
        {"code": "x", "error": "Argument not supported on this model: presencePenalty"},
        [("presence_penalty",)],
    ),
    "go": (400, {"error": 'json: unknown field "top_k"'}, [("top_k",)]),
    "serde": (
        422,
        {"message": "unknown field `top_k`, expected one of `model`, `messages`"},
        [("top_k",)],
    ),
    "python": (
        400,
        refusal_of("create() got an unexpected keyword argument 'top_k'"),
        [("top_k",)],
    ),
    "json schema": (
        400,
        refusal_of("Additional properties are not allowed ('min_p', 'top_k' were unexpected)"),
        [("min_p",), ("top_k",)],
    ),
    "dynamo": (
        400,
        refusal_of("Unsupported parameter(s): `min_p`, `top_k`"),
        [("min_p",), ("top_k",)],
    ),
    "anthropic": (400, refusal_of("top_k: Extra inputs are not permitted"), [("top_k",)]),
    "pydantic in plain words": (
        400,
        refusal_of("1 validation error for Body\ntop_k\n  Extra inputs are not permitted"),
        [("top_k",)],
    ),
    "a field in a field": (
        422,
        {"detail": extra(["body", "chat_template_kwargs", "effort"])},
        [("chat_template_kwargs", "effort")],
    ),
    "a field of a message": (
        422,
        {"detail": extra(["body", "messages", 0, "user", "name"])},
        [("messages", "name")],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_field_is_found(case: str) -> None:
    status, body, found = REFUSED[case]
    error = http_error(Head(status), json.dumps(body).encode(), ENDPOINT)
    assert refused_fields(BODY, error) == found


NO_REFUSALS: dict[str, tuple[int, object]] = {
    "a field that is missing": (
        422,
        {"detail": [{"type": "missing", "loc": ["body", "top_k"], "msg": "Field required"}]},
    ),
    "a value of the wrong type": (
        422,
        {"detail": [{"type": "int_parsing", "loc": ["body", "top_k"], "msg": "no integer"}]},
    ),
    "a value out of range": (400, refusal_of("top_k must be at least 1, got 40.", param="top_k")),
    "a level that the model lacks": (
        400,
        refusal_of(
            "Unsupported value: 'reasoning_effort' does not support 'high' with this model.",
            param="reasoning_effort",
            code="unsupported_value",
        ),
    ),
    "a field that was not sent": (400, refusal_of("Unknown parameter: 'quality'.")),
    "a field inside that was not sent": (
        422,
        {"detail": extra(["body", "chat_template_kwargs", "other"])},
    ),
    "another status": (500, refusal_of("Unknown parameter: 'top_k'.")),
    "prose about the field": (400, refusal_of("The top_k of this model is fixed.")),
}


@pytest.mark.parametrize("case", NO_REFUSALS)
def test_other_complaints_refuse_no_field(case: str) -> None:
    status, body = NO_REFUSALS[case]
    error = http_error(Head(status), json.dumps(body).encode(), ENDPOINT)
    assert refused_fields(BODY, error) == []


def test_an_object_that_is_empty_without_the_field_goes_with_it() -> None:
    inside = ("stream_options", "include_usage")
    assert "stream_options" not in without_field(BODY, inside)
    kept = without_field(BODY, ("chat_template_kwargs", "effort"))
    assert kept["chat_template_kwargs"] == {"enable_thinking": False}
    assert without_field(BODY, ("messages", "name"))["messages"] == [
        {"role": "user", "content": "hi"}
    ]
    assert without_field(BODY, ("nothing",)) == BODY


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,15}", fullmatch=True)
SENTENCES = st.sampled_from(
    [
        "Unrecognized request argument supplied: {}",
        "Unknown parameter: '{}'.",
        "property '{}' is unsupported",
        'json: unknown field "{}"',
        "{}: Extra inputs are not permitted",
        "`{}` is not supported with this model.",
    ]
)


# Feature: stage-11-vllm-openai, Property 23: Graceful Feature Degradation
@settings(max_examples=100)
@given(name=NAMES, others=st.dictionaries(NAMES, st.integers(), max_size=4), sentence=SENTENCES)
def test_any_field_that_is_sent_and_refused_is_found_and_no_other(
    name: str, others: dict[str, int], sentence: str
) -> None:
    body: JsonObject = {**others, name: 1}
    error = http_error(Head(400), json.dumps(refusal_of(sentence.format(name))).encode(), ENDPOINT)
    assert refused_fields(body, error) == [(name,)]
    assert without_field(body, (name,)) == {
        key: value for key, value in others.items() if key != name
    }


@given(st.text(max_size=200), st.integers(400, 499))
def test_whatever_a_server_says_only_what_was_sent_is_found(words: str, status: int) -> None:
    error = http_error(Head(status), json.dumps(refusal_of(words)).encode(), ENDPOINT)
    assert {path[0] for path in refused_fields(BODY, error)} <= set(BODY)


@pytest.mark.parametrize("piece", ["x", "unknown field ", "a.", "'", "unsupported field 'x', "])
def test_long_complaints_are_read_at_once(piece: str) -> None:
    error = http_error(Head(400), json.dumps(refusal_of(piece * 100_000)).encode(), ENDPOINT)
    before = time.process_time()
    refused_fields(BODY, error)
    assert time.process_time() - before < 1
