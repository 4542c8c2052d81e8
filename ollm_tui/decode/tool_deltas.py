"""Read the ``tool_calls`` arrays of chat completion and Ollama messages, whatever they hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ollm_tui.decode.json_guard import dump_or_reason
from ollm_tui.protocol.json_types import JsonObject, JsonValue

_OWN_KEYS = frozenset({"index", "id", "type", "function"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """One entry of a ``tool_calls`` array: a piece of a call, or a whole one.

    None, like an empty text or the text "null" as id or name, leaves a value as it was.
    ``arguments`` is a piece of JSON text, or the whole arguments as an object.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JsonObject | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)


def read_tool_call_deltas(value: JsonValue) -> list[ToolCallDelta]:
    """Return the entries of a wire value; what is no object is passed over."""
    entries = value if isinstance(value, list) else [value]
    return [_read_entry(entry) for entry in entries if isinstance(entry, dict)]


def _read_entry(entry: JsonObject) -> ToolCallDelta:
    function = entry.get("function")
    if not isinstance(function, dict):
        function = {}
    index = entry.get("index", function.get("index"))
    return ToolCallDelta(
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        id=_text_or_none(entry.get("id")),
        name=_text_or_none(function.get("name")),
        arguments=_read_arguments(function.get("arguments")),
        extra={key: part for key, part in entry.items() if key not in _OWN_KEYS},
    )


def _text_or_none(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _read_arguments(value: JsonValue) -> str | JsonObject | None:
    if value is None or isinstance(value, str | dict):
        return value
    # A list or a number is no arguments object: as text it is found damaged at the end.
    return dump_or_reason(value)
