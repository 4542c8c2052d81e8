"""The types of JSON values, and a walk over the texts in one."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
JsonObject: TypeAlias = dict[str, JsonValue]
JsonMapping: TypeAlias = Mapping[str, JsonValue]


def with_texts(value: object, change: Callable[[str], str]) -> Any:
    """Return a value with every text in it changed, but no key."""
    match value:
        case str():
            return change(value)
        case list():
            return [with_texts(item, change) for item in value]
        case dict():
            return {key: with_texts(item, change) for key, item in value.items()}
        case _:
            return value
