"""Where a JSON Schema holds further schemas, and changing all of them at once.

What is not known to be something else counts as a schema, so that new keywords are covered.
"""

from collections.abc import Callable
from typing import Final

from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

SCHEMA_MAPS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords that hold a schema by each name."""
NO_SCHEMAS: Final = frozenset({"const", "enum", "default", "examples", "required", "$vocabulary"})
"""Keywords whose value is no schema, whatever it looks like."""
LIMITS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    }
)
"""Keywords that only narrow what a value of its type may be."""


def rewritten(schema: JsonMapping, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Return a schema with a change made to it and to each schema in it, the inner ones first."""
    return change({key: _part(key, value, change) for key, value in schema.items()})


def _part(key: str, value: JsonValue, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    if key in NO_SCHEMAS:
        return value
    match value:
        case dict() if key in SCHEMA_MAPS:
            return {name: _inner(one, change) for name, one in value.items()}
        case list():
            return [_inner(one, change) for one in value]
        case _:
            return _inner(value, change)


def _inner(value: JsonValue, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    return rewritten(value, change) if isinstance(value, dict) else value


def closed(schema: JsonObject) -> JsonObject:
    """Return an object's schema that allows no other properties, where it does not say.

    Every value of the result matches the schema that was given. For `rewritten`.
    """
    if "properties" not in schema or "additionalProperties" in schema:
        return schema
    return schema | {"additionalProperties": False}
