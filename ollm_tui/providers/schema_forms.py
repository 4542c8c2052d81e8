"""JSON Schemas in the forms that services accept; pure.

A form may be narrower than the schema, so that its values match, or wider where the service knows
no such limit: the chat checks the answer in any case.
"""

from typing import Final

from ollm_tui.decode.schema_parts import LIMITS, closed, rewritten
from ollm_tui.protocol.json_types import JsonMapping, JsonObject

_STRICT: Final = frozenset(
    {
        *("type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs", "definitions"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("pattern", "format"),
    }
)
"""The keywords that OpenAI's strict mode accepts."""
_OF_THE_FILE: Final = frozenset({"$schema", "$id", "$comment"})
_KEPT_BY_ANTHROPIC: Final = frozenset({"pattern", "format"})


def strict_form(schema: JsonMapping) -> JsonObject | None:
    """Return the schema for OpenAI's strict mode; None if that does not accept it."""
    is_strict = True

    def check(one: JsonObject) -> JsonObject:
        nonlocal is_strict
        own = closed(_without(one, _OF_THE_FILE))
        is_strict = is_strict and _is_strict(own)
        return own

    form = rewritten(schema, check)
    return form if is_strict and form.get("type") == "object" and "anyOf" not in form else None


def _is_strict(schema: JsonObject) -> bool:
    if not schema.keys() <= _STRICT:
        return False
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        kind = schema.get("type")
        return kind != "object" and not (isinstance(kind, list) and "object" in kind)
    names = set(required) if isinstance(required, list) else set()
    return names == properties.keys() and schema.get("additionalProperties") is False


def anthropic_form(schema: JsonMapping) -> JsonObject:
    """Return the schema without the limits that Anthropic refuses, and with closed objects."""

    def change(one: JsonObject) -> JsonObject:
        own = closed(_without(one, _OF_THE_FILE | (LIMITS - _KEPT_BY_ANTHROPIC)))
        if "oneOf" in own and "anyOf" not in own:
            own["anyOf"] = own.pop("oneOf")
        return own

    return rewritten(schema, change)


def _without(schema: JsonObject, keys: frozenset[str]) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in keys}
