"""Python types as JSON Schema, and JSON values as those types.

A type without a schema is refused where the tool is defined, not when a model calls it.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Literal, Union, get_args, get_origin

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.json_types import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class JsonType:
    """The type of a parameter, in JSON and in Python."""

    schema: JsonObject
    accepts: Callable[[JsonValue], bool]
    """Whether a JSON value is of this type, by the rules of JSON Schema."""
    convert: Callable[[JsonValue], object]
    """Converts an accepted JSON value to its Python value."""


def json_type_of(annotation: object) -> JsonType:
    """Return the JSON type of an annotation; a `TypeError` if it has no schema."""
    if annotation is object:
        return JsonType({}, lambda _value: True, _same)
    kind = type(None) if annotation is None else annotation
    if isinstance(kind, type) and kind in _SIMPLE:
        return _SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice([to_json(member.value) for member in kind], list(kind))
    return _generic(annotation, get_origin(annotation), get_args(annotation))


def _generic(annotation: object, origin: object, arguments: Sequence[object]) -> JsonType:
    if origin is Literal:
        return _choice([to_json(value) for value in arguments], arguments)
    if origin is Union or origin is types.UnionType:
        return _union(arguments)
    if origin is list:
        return _list(arguments[0])
    if origin is dict and arguments[0] is str:
        return _dict(arguments[1])
    spelled = annotation.__name__ if isinstance(annotation, type) else annotation
    raise TypeError(f"{spelled} cannot be said in a tool's schema")


def to_json(value: object) -> JsonValue:
    """Return a default value as JSON; a `TypeError` if JSON cannot represent it."""
    match value:
        case Enum():
            return to_json(value.value)
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [to_json(item) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {str(key): to_json(item) for key, item in value.items()}
        case _:
            raise TypeError(f"{value!r} cannot be said in JSON")


def _same(value: JsonValue) -> object:
    return value


def _is_integer(value: JsonValue) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _to_int(value: JsonValue) -> object:
    # 5.0 is an integer in JSON Schema, and some models write it so.
    return int(value) if isinstance(value, float) else value


_SIMPLE: Mapping[type, JsonType] = {
    str: JsonType({"type": "string"}, lambda value: isinstance(value, str), _same),
    bool: JsonType({"type": "boolean"}, lambda value: isinstance(value, bool), _same),
    int: JsonType({"type": "integer"}, _is_integer, _to_int),
    float: JsonType({"type": "number"}, _is_number, _same),
    type(None): JsonType({"type": "null"}, lambda value: value is None, _same),
}


def _equal(one: object, other: object) -> bool:
    """Compare as JSON does, where `true` is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _choice(values: Sequence[JsonValue], results: Sequence[object]) -> JsonType:
    if not values or not all(isinstance(v, str | int | None) for v in values):
        raise TypeError("choices must be strings, whole numbers, true, false or null")

    def find(value: JsonValue) -> object:
        return next(
            result for known, result in zip(values, results, strict=True) if _equal(known, value)
        )

    schema: JsonObject = {"enum": list(values)}
    if all(isinstance(value, str) for value in values):
        schema = {"type": "string", **schema}
    return JsonType(schema, lambda value: any(_equal(known, value) for known in values), find)


def _union(arguments: Sequence[object]) -> JsonType:
    members = [json_type_of(argument) for argument in arguments]

    def convert(value: JsonValue) -> object:
        return next(member.convert(value) for member in members if member.accepts(value))

    return JsonType(
        {"anyOf": [member.schema for member in members]},
        lambda value: any(member.accepts(value) for member in members),
        convert,
    )


def _list(argument: object) -> JsonType:
    item = json_type_of(argument)

    def accepts(value: JsonValue) -> bool:
        return isinstance(value, list) and all(item.accepts(each) for each in value)

    def convert(value: JsonValue) -> object:
        return [item.convert(each) for each in value] if isinstance(value, list) else value

    return JsonType({"type": "array", "items": item.schema}, accepts, convert)


def _dict(argument: object) -> JsonType:
    item = json_type_of(argument)

    def accepts(value: JsonValue) -> bool:
        return isinstance(value, dict) and all(item.accepts(each) for each in value.values())

    def convert(value: JsonValue) -> object:
        if not isinstance(value, dict):
            return value
        return {key: item.convert(each) for key, each in value.items()}

    return JsonType({"type": "object", "additionalProperties": item.schema}, accepts, convert)
