"""A conversation's options as JSON and back; what cannot be read gets its default."""

import json
from collections.abc import Sequence
from dataclasses import Field, fields
from typing import Any, Literal, TypeVar

from ollm_tui.decode.json_fields import as_object, strings
from ollm_tui.decode.json_guard import repaired
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.request import (
    GenerationOptions,
    ShouldThink,
    ThinkingConfig,
    ThinkingEffort,
    ThinkingMode,
)
from ollm_tui.store.rows import ConversationSettings, column

T = TypeVar("T", bound=str)
_MODES: tuple[ThinkingMode, ...] = ("off", "last", "first", "deep")
_EFFORTS: tuple[ThinkingEffort, ...] = ("low", "medium", "high")


def options_to_json(settings: ConversationSettings) -> str:
    """Return the settings without a column of their own; `{}` if JSON cannot hold them."""
    data: JsonObject = {
        "generation": _generation(settings.options),
        "should_think": _thinking(settings.should_think),
        "tools": list(settings.tools),
    }
    try:
        return repaired(json.dumps(data, ensure_ascii=False))
    except (RecursionError, TypeError, ValueError):
        return "{}"


def options_from_json(
    text: str,
) -> tuple[GenerationOptions, ShouldThink | None, tuple[str, ...]]:
    """Read generation options, thinking and tools."""
    data = _loaded(text) or {}
    tools = _strings(data.get("tools")) or ()
    generation = _read_generation(as_object(data.get("generation")))
    return generation, _read_thinking(data.get("should_think")), tools


def _loaded(text: str) -> JsonObject | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def settings_to_json(settings: ConversationSettings) -> str:
    """Return all settings, as a message keeps them for its branch."""
    data: JsonObject = {
        "model": column(settings.model),
        "system_prompt": column(settings.system_prompt),
        "options": options_to_json(settings),
    }
    return repaired(json.dumps(data, ensure_ascii=False))


def settings_from_json(text: str) -> ConversationSettings | None:
    """Read the settings of a branch, or None if they cannot be read."""
    data = _loaded(text)
    if data is None:
        return None
    model, system_prompt, options = (data.get(k) for k in ("model", "system_prompt", "options"))
    generation, should_think, tools = options_from_json(options if isinstance(options, str) else "")
    return ConversationSettings(
        model=model if isinstance(model, str) else None,
        system_prompt=system_prompt if isinstance(system_prompt, str) else None,
        options=generation,
        should_think=should_think,
        tools=tools,
    )


def _generation(options: GenerationOptions) -> JsonObject:
    values: dict[str, JsonValue | tuple[str, ...] | JsonMapping] = {
        field.name: getattr(options, field.name) for field in fields(options)
    }
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: JsonValue | tuple[str, ...] | JsonMapping) -> JsonValue:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bool | int | float | str | list | dict) or value is None:
        return value
    return dict(value)


def _read_generation(data: JsonMapping) -> GenerationOptions:
    values = {option.name: _read_option(option, data) for option in fields(GenerationOptions)}
    try:
        return GenerationOptions(**values)
    except AIError:  # an extra_body that this version refuses
        return GenerationOptions()


def _read_option(option: "Field[Any]", data: JsonMapping) -> Any:
    """Return the value of one option, None where it cannot be read."""
    value = data.get(option.name)
    match option.name:
        case "stop":
            return _strings(value)
        case "response_format":
            return _format(value)
        case "keep_alive" if isinstance(value, str):
            return value
        case "extra_body":
            return value if isinstance(value, dict) else None
        case _:
            return (_integer if option.type == int | None else _number)(value)


def _format(value: JsonValue) -> Literal["json"] | JsonObject | None:
    if isinstance(value, dict):
        return value
    return "json" if value == "json" else None


def _strings(value: JsonValue) -> tuple[str, ...] | None:
    return tuple(strings(value)) if isinstance(value, list) else None


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _thinking(value: ShouldThink | None) -> JsonValue:
    """Return the mode and its limits; tags and prompts belong to the model."""
    if not isinstance(value, ThinkingConfig):
        return value
    return {
        "mode": value.mode,
        "effort": value.effort,
        "visible": value.visible,
        "depth": value.depth,
        "steps": value.steps,
    }


def _read_thinking(value: JsonValue) -> ShouldThink | None:
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        return _one_of(value, _MODES)
    mode = _one_of(value.get("mode"), _MODES)
    if mode is None:
        return None
    visible = value.get("visible")
    return ThinkingConfig(
        mode=mode,
        effort=_one_of(value.get("effort"), _EFFORTS),
        visible=visible if isinstance(visible, bool) else None,
        depth=_integer(value.get("depth")),
        steps=_integer(value.get("steps")),
    )


def _one_of(value: JsonValue, known: Sequence[T]) -> T | None:
    return next((one for one in known if one == value), None)
