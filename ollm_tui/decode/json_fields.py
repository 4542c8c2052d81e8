"""Read fields of foreign JSON: a value of another type, or beyond all measure, counts as absent."""

from collections.abc import Mapping

from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue

LARGEST = 2**53
"""Beyond this no count, size or time is meant, and arithmetic would overflow."""


def as_object(value: JsonValue) -> JsonObject:
    """Give the object, or an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: JsonValue) -> list[JsonObject]:
    """Give the objects of a list, or none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: JsonValue) -> list[str]:
    """Give the strings of a list, or none."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def string(data: JsonMapping, key: str) -> str | None:
    """Give a field that is text, and not empty."""
    value = data.get(key)
    return value if isinstance(value, str) and value else None


def number(data: JsonMapping, key: str) -> float | None:
    """Give a field that is a number."""
    value = data.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) <= LARGEST else None


def integer(data: JsonMapping, key: str) -> int | None:
    """Give a field that is a whole number."""
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) <= LARGEST else None


def positive(data: JsonMapping, key: str) -> int | None:
    """Give a field that is a whole number above zero: a size or a window."""
    value = integer(data, key)
    return value if value is not None and value > 0 else None


def present(data: Mapping[str, JsonValue]) -> JsonObject:
    """Return the fields that are not None."""
    return {key: value for key, value in data.items() if value is not None}
