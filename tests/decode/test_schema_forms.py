"""A schema in the form that a service accepts: its values match the schema, or are checked."""

import pytest

from ollm_tui.decode.schema_forms import anthropic_form, grammar_form, strict_form
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.anthropic.to_wire import chat_body as anthropic_body
from ollm_tui.providers.anthropic.to_wire import with_accepted_schema
from ollm_tui.providers.ollama.to_wire import chat_body as ollama_body
from ollm_tui.providers.openai_compatible.to_wire import chat_body

OPEN: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
OUT = r'"\\\x00-\x1f'
"""What no text of JSON has as it is."""
CLOSED: JsonObject = OPEN | {"additionalProperties": False}


def asked(schema: JsonObject) -> Request:
    options = GenerationOptions(response_format=schema)
    return Request(model="m", messages=[Message("user", "hi")], options=options)


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (OPEN, CLOSED),
        (CLOSED | {"$schema": "https://json-schema.org/draft/2020-12/schema"}, CLOSED),
        (
            CLOSED | {"properties": {"a": {"type": "array", "items": OPEN}}},
            CLOSED | {"properties": {"a": {"type": "array", "items": CLOSED}}},
        ),
        (
            CLOSED | {"properties": {"a": {"enum": [OPEN]}}},
            CLOSED | {"properties": {"a": {"enum": [OPEN]}}},
        ),
        (OPEN | {"required": []}, None),
        (OPEN | {"additionalProperties": {"type": "string"}}, None),
        (CLOSED | {"properties": {"a": {"type": "string", "minLength": 1}}}, None),
        (CLOSED | {"properties": {"a": {"type": "object"}}}, None),
        (CLOSED | {"properties": {"a": {"type": ["object", "null"]}}}, None),
        ({"type": "array", "items": CLOSED}, None),
        (CLOSED | {"allOf": [{}]}, None),
        (CLOSED | {"properties": {"a": {"description": "Anything."}}}, None),
        (CLOSED | {"properties": {"a": {"$ref": "#", "type": "object"}}}, None),
        (
            CLOSED | {"properties": {"a": {"$ref": "#", "description": "More."}}},
            CLOSED | {"properties": {"a": {"$ref": "#"}}},
        ),
        (
            CLOSED | {"properties": {"a": {"type": "string", "format": "uri"}}},
            CLOSED,
        ),
        (
            CLOSED | {"properties": {"a": {"type": "string", "format": "date"}}},
            CLOSED | {"properties": {"a": {"type": "string", "format": "date"}}},
        ),
    ],
)
def test_openai_gets_what_its_strict_mode_takes_in_that_mode(
    schema: JsonObject, form: JsonObject | None
) -> None:
    assert strict_form(schema) == form
    named = chat_body(asked(schema), "openai")["response_format"]
    strict: JsonObject = {"name": "answer", "schema": form or schema}
    assert named == {
        "type": "json_schema",
        "json_schema": strict if form is None else strict | {"strict": True},
    }


def test_other_servers_get_the_schema_as_it_is() -> None:
    schema = OPEN | {"properties": {"a": {"pattern": r"\d"}}}
    assert chat_body(asked(schema), "vllm")["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema},
    }


def test_anthropic_gets_no_limits_that_it_refuses() -> None:
    inner: JsonObject = {"type": "integer", "minimum": 1, "multipleOf": 2}
    schema = OPEN | {
        "$id": "https://example.org/s",
        "properties": {"minimum": inner, "a": {"oneOf": [OPEN, {"pattern": "^a"}]}},
        "maxProperties": 3,
    }
    assert anthropic_form(schema) == CLOSED | {
        "properties": {
            "minimum": {"type": "integer"},
            "a": {"anyOf": [CLOSED, {"pattern": "^a"}]},
        }
    }
    body = with_accepted_schema(anthropic_body(asked(OPEN), "p://m"))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": CLOSED}}
    plain = anthropic_body(Request(model="m", messages=[Message("user", "hi")]), "p://m")
    assert with_accepted_schema(plain) is plain


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        ("^[a-z]+$", "^[a-z]+$"),
        (r"^\d{3}-\w\s$", "^[0-9]{3}-[A-Za-z0-9_][ ]$"),
        (r"^[\d.-]+$", "^[0-9.-]+$"),
        (r"^\D[\W]\\d$", rf"^[^0-9{OUT}][\W]\\d$"),
        ("^.[^a.]$", f"^[^{OUT}][^{OUT}a.]$"),
        (r"\d", "[0-9]"),
        ("^abc", f"^abc[^{OUT}]*$"),
        ("abc$", "abc$"),
        (r"^abc\$", rf"^abc\$[^{OUT}]*$"),
        ("^a|b$", "^a|b$"),
        ("^a|b", "^a|b"),
        ("^(a|b)", f"^(a|b)[^{OUT}]*$"),
        ("^[|]", f"^[|][^{OUT}]*$"),
    ],
)
def test_llamacpp_gets_patterns_that_its_grammars_know(pattern: str, form: str) -> None:
    schema: JsonObject = {"items": {"type": "string", "pattern": pattern}}
    wanted = {"items": {"type": "string", "pattern": form}}
    assert grammar_form(schema) == wanted
    named = chat_body(asked(schema), "embedded")["response_format"]
    assert named == {"type": "json_schema", "json_schema": {"name": "answer", "schema": wanted}}
    assert ollama_body(asked(schema))["format"] == wanted
