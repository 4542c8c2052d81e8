"""JSON Schemas as people write them for answers, drawn by chance."""

import random
from collections.abc import Callable
from typing import TypeAlias

from ollm_tui.protocol.json_types import JsonObject, JsonValue

Draw: TypeAlias = Callable[[random.Random], JsonObject]
_WORDS = ("name", "age", "tags", "city", "price", "is_open", "größe", "a b", "type", "items")


def drawn_schema(chance: random.Random) -> JsonObject:
    """Draw the schema of an object; some have definitions that refer to themselves."""
    schema = _object(chance, 3)
    if chance.random() < 0.2:
        node: JsonObject = {
            "type": "object",
            "properties": {"value": _value(chance, 0), "next": {"anyOf": [
                {"$ref": "#/$defs/node"}, {"type": "null"}]}},
            "required": ["value", "next"],
        }  # fmt: skip
        schema["$defs"] = {"node": node}
        properties = schema["properties"]
        assert isinstance(properties, dict)
        properties["chain"] = {"$ref": "#/$defs/node"}
    return schema


def _object(chance: random.Random, levels: int) -> JsonObject:
    names = chance.sample(_WORDS, chance.randint(1, 4))
    required: list[JsonValue] = [name for name in names if chance.random() < 0.8]
    schema: JsonObject = {
        "type": "object",
        "properties": {name: _value(chance, levels - 1) for name in names},
        "required": required or [*names[:1]],
    }
    if chance.random() < 0.6:
        schema["additionalProperties"] = False
    return schema


def _value(chance: random.Random, levels: int) -> JsonObject:
    kinds: list[Draw] = [_string, _number, _choice, _string, _number]
    if levels > 0:
        kinds += [_object_below(levels), _list_below(levels), _union_below(levels)]
    return chance.choice(kinds)(chance)


def _string(chance: random.Random) -> JsonObject:
    limits: list[JsonObject] = [
        {},
        {},
        {"minLength": 2, "maxLength": chance.randint(2, 8)},
        {"pattern": chance.choice(["^[a-z]{3}$", "^(yes|no)$", r"^\d{2}-\d{2}$", "^A+B?$"])},
        {"format": chance.choice(["date", "time", "uuid"])},
    ]
    text: JsonObject = {"type": "string"}
    return text | chance.choice(limits)


def _number(chance: random.Random) -> JsonObject:
    low = chance.randint(-50, 50)
    kinds: list[JsonObject] = [
        {"type": "integer"},
        {"type": "integer", "minimum": low, "maximum": low + chance.randint(0, 90)},
        {"type": "number"},
        {"type": "boolean"},
        {"type": ["integer", "null"]},
        {"type": "null"},
    ]
    return chance.choice(kinds)


def _choice(chance: random.Random) -> JsonObject:
    if chance.random() < 0.3:
        return {"const": chance.choice([1, "x", True, None])}
    values: list[JsonValue] = ["red", "green", 1, 2.5, True, None, 'a "quoted" one']
    return {"enum": chance.sample(values, chance.randint(1, 4))}


def _object_below(levels: int) -> Draw:
    return lambda chance: _object(chance, levels)


def _list_below(levels: int) -> Draw:
    def draw(chance: random.Random) -> JsonObject:
        fewest = chance.randint(0, 2)
        limits: JsonObject = {"minItems": fewest, "maxItems": fewest + chance.randint(0, 2)}
        schema: JsonObject = {"type": "array", "items": _value(chance, levels - 1)}
        return schema | (limits if chance.random() < 0.5 else {})

    return draw


def _union_below(levels: int) -> Draw:
    def draw(chance: random.Random) -> JsonObject:
        key = chance.choice(["anyOf", "oneOf"])
        # Both would match null if the first one could, which `oneOf` does not allow.
        first = chance.choice([_string, _object_below(levels), _list_below(levels)])
        return {key: [first(chance), {"type": "null"}]}

    return draw
