"""Read fields of foreign JSON; a value of another type, or out of range, counts as absent."""

from collections.abc import Mapping

from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

MAX_EXACT_INTEGER = 2**53
"""A larger number is not a count, size or time, and arithmetic would overflow."""


def as_object(value: JsonValue) -> JsonObject:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects in a list; empty if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: JsonValue) -> list[str]:
    """Return the strings in a list; empty if it is not a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def string(data: JsonMapping, key: str) -> str | None:
    """Return a field that is a non-empty string, or None."""
    value = data.get(key)
    return value if isinstance(value, str) and value else None


def number(data: JsonMapping, key: str) -> float | None:
    """Return a field that is a number, or None."""
    value = data.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) <= MAX_EXACT_INTEGER else None


def integer(data: JsonMapping, key: str) -> int | None:
    """Return a field that is an integer, or None."""
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) <= MAX_EXACT_INTEGER else None


def positive(data: JsonMapping, key: str) -> int | None:
    """Return a field that is an integer above zero, or None."""
    value = integer(data, key)
    return value if value is not None and value > 0 else None


def present(data: Mapping[str, JsonValue]) -> JsonObject:
    """Return the fields that are not None."""
    return {key: value for key, value in data.items() if value is not None}
