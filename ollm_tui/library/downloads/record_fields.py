"""Fields of a kept record; each reader raises ValueError for a value of another kind."""

from collections.abc import Mapping

from ollm_tui.protocol.json_types import JsonMapping, JsonValue


def mapping(value: JsonValue, what: str) -> JsonMapping:
    """Take a value that must be a mapping."""
    if not isinstance(value, Mapping):
        raise ValueError(f"no {what}")  # noqa: TRY004 -- one error for all that may be wrong
    return value


def text(record: JsonMapping, key: str) -> str:
    """Give a text."""
    value = record.get(key)
    if not isinstance(value, str):
        raise ValueError(f"no {key}")  # noqa: TRY004 -- as above
    return value


def text_or_none(record: JsonMapping, key: str) -> str | None:
    """Give a text that may be missing."""
    return None if record.get(key) is None else text(record, key)


def count_or_none(record: JsonMapping, key: str) -> int | None:
    """Give a number of bytes that may be missing."""
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"no {key}")
    return value


def seconds(record: JsonMapping, key: str) -> float:
    """Give a moment."""
    value = record.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"no {key}")  # noqa: TRY004 -- as above
    return float(value)
