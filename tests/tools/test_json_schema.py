"""Schemas that cannot be used are refused with one sentence, and no check takes long."""

import time
from uuid import UUID

import pytest
from hypothesis import given, settings

from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.tools.json_schema import MAX_DEPTH, BadSchema, SchemaChecker
from tests.support.strategies import JSON

HOSTILE = "(x+x+)+y"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def nested(levels: int) -> JsonObject:
    schema: JsonObject = {"type": "integer"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


def doubling(keyword: str) -> JsonObject:
    """A schema whose check takes two steps for each step of the one before."""
    definitions: JsonObject = {"d0": {"type": "object"}}
    for number in range(1, 40):
        before: JsonValue = {"$ref": f"#/$defs/d{number - 1}"}
        twice: JsonValue = {"a": before, "b": before} if keyword == "dependentSchemas" else None
        definitions[f"d{number}"] = {keyword: twice or [before, before]}
    return {"unevaluatedProperties": False, "$defs": definitions, "$ref": "#/$defs/d39"}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "int"}, 'type is not as JSON Schema has it: "int"'),
        ({"properties": {"age": {"type": 5}}}, "properties.age.type is not as JSON Schema has it"),
        ({"$ref": "https://example.org/s.json"}, "leads out of it, and is not followed"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "leads out of it"),
        ({"$ref": "#/$defs/nowhere"}, "leads to no schema"),
        ({"const": {"type": "string"}, "$ref": "#/const"}, "leads to no schema"),
        ({"$ref": "#"}, "leads to itself without end"),
        ({"allOf": [{"anyOf": [{"$ref": "#"}]}]}, "leads to itself without end"),
        ({"pattern": "("}, "pattern '(' is wrong"),
        ({"pattern": "a" * 3000}, "more than 2,000 characters"),
        ({"pattern": "a{1000000000}"}, "repeats too often"),
        ({"patternProperties": {"((a{1000}){1000}){1000}": {}}}, "repeats too often"),
        (
            {"properties": {f"k{n}": {"pattern": f"(a{{300}}){{30{n}}}"} for n in range(20)}},
            "repeats too often",
        ),
        (nested(MAX_DEPTH + 1), "more than 64 levels"),
        (nested(3000), "not JSON"),
        ({"title": "x" * 300_000}, "more than 128,000 characters"),
        ({"anyOf": [{}] * 3000}, "more than 2,000 schemas"),
        ({"minimum": float("nan")}, "not JSON"),
        ({"$schema": "https://example.org/own"}, "unknown version"),
        ({"items": {"$schema": DRAFT_7, "pattern": HOSTILE}}, "`$schema` or `$id` of its own"),
        ({"items": {"$id": "https://example.org/i"}}, "`$schema` or `$id` of its own"),
        (
            {"patternProperties": {"^a": {}}, "unevaluatedProperties": False},
            "both patternProperties and unevaluatedProperties",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(
    schema: JsonObject, reason: str
) -> None:
    with pytest.raises(BadSchema) as refused:
        SchemaChecker(schema)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": HOSTILE}, "x" * 5000),
        ({"items": {"pattern": HOSTILE}}, ["x" * 5000] * 100),
        ({"patternProperties": {HOSTILE: {}}}, {"x" * 5000: 1}),
        ({"patternProperties": {HOSTILE: {}}, "additionalProperties": False}, {"x" * 5000: 1}),
        ({"propertyNames": {"pattern": HOSTILE}}, {"x" * 5000: 1}),
        (doubling("dependentSchemas"), {"a": 1, "b": 1}),
        ({"items": {"anyOf": [{"items": {"type": "null"}}]}}, [["x"] * 400_000]),
    ],
    ids=["pattern", "items", "names", "others", "property names", "doubling", "faults"],
)
def test_no_check_takes_long(schema: JsonObject, value: JsonValue) -> None:
    checker = SchemaChecker(schema)
    begun = time.monotonic()
    with pytest.raises(BadSchema, match="takes too long"):
        checker.faults(value, within_s=0.3)
    assert time.monotonic() - begun < 3


def test_a_schema_that_is_a_bomb_by_itself_is_refused() -> None:
    with pytest.raises(BadSchema, match="takes too long"):
        SchemaChecker(doubling("allOf"))


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"uniqueItems": True}, [1, True, "1", [1], {"a": 1}], [1, 1.0]),
        ({"uniqueItems": True}, [{"a": [1]}, {"a": [2]}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]),
        ({"patternProperties": {"^n": {"type": "null"}}}, {"n": None, "x": 1}, {"name": 1}),
        (
            {"properties": {"a": {}}, "patternProperties": {"^b": {}},
             "additionalProperties": False},
            {"a": 1, "bc": 2},
            {"c": 1},
        ),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "x"}),
        ({"$defs": {"n": {"$anchor": "n", "type": "null"}}, "$ref": "#n"}, None, 1),
        (
            {"$schema": DRAFT_7, "$id": "https://example.org/s", "definitions": {"a/b": {}},
             "items": [{"$ref": "#/definitions/a~1b"}], "additionalItems": False},
            [1],
            [1, 2],
        ),
        ({"properties": {"$ref": {"type": "integer"}, "enum": {}}}, {"$ref": 1}, {"$ref": "#"}),
        ({"pattern": r"^\p{L}+$"}, "été", "1"),
        ({"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}, str(UUID(int=9)), "1"),
        (nested(2), [[1]], [["x"]]),
    ],
)  # fmt: skip
def test_values_are_checked(schema: JsonObject, right: JsonValue, wrong: JsonValue) -> None:
    checker = SchemaChecker(schema)
    assert checker.faults(right) == []
    assert checker.faults(wrong) != []


@settings(max_examples=30)
@given(value=JSON)
def test_every_value_matches_a_schema_without_rules(value: JsonValue) -> None:
    assert SchemaChecker({}).faults(value) == []


def test_the_schema_that_was_given_is_not_changed() -> None:
    schema: JsonObject = {"$schema": DRAFT_7, "$id": "https://example.org/s", "type": "null"}
    SchemaChecker(schema)
    assert schema == {"$schema": DRAFT_7, "$id": "https://example.org/s", "type": "null"}
