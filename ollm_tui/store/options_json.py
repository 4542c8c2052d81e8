"""A conversation's options as JSON and back; what cannot be read gets its default."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from typing import Any, TypeVar

from ollm_tui.decode.json_fields import as_object, present, string, strings
from ollm_tui.decode.json_guard import repaired
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.keep_alive import parse_keep_alive
from ollm_tui.protocol.message import JINJA
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
    try:
        return repaired(json.dumps(_options(settings), ensure_ascii=False))
    except (RecursionError, TypeError, ValueError):
        return "{}"


def _options(settings: ConversationSettings) -> JsonObject:
    data: JsonObject = {
        "generation": _generation(settings.options),
        "should_think": _thinking(settings.should_think),
        "tools": list(settings.tools),
        "profile": settings.profile,
    }
    if settings.system_prompt_format is not None:  # few chats have one
        data["system_prompt_format"] = settings.system_prompt_format
    return data


def settings_to_object(settings: ConversationSettings) -> JsonObject:
    """Return all settings as one object, as an export has them."""
    named: JsonObject = {"model": settings.model, "system_prompt": settings.system_prompt}
    return present(named | _options(settings))


def settings_from_object(data: JsonMapping) -> ConversationSettings:
    """Read settings; what cannot be read gets its default."""
    model, system_prompt = data.get("model"), data.get("system_prompt")
    return _settings(
        model if isinstance(model, str) else None,
        system_prompt if isinstance(system_prompt, str) else None,
        data,
    )


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
    return settings_of(
        model if isinstance(model, str) else None,
        system_prompt if isinstance(system_prompt, str) else None,
        options if isinstance(options, str) else "",
    )


def settings_of(model: str | None, system_prompt: str | None, options: str) -> ConversationSettings:
    """Return settings from columns; `options` is JSON, and may be unreadable."""
    return _settings(model, system_prompt, _loaded(options) or {})


def _settings(
    model: str | None, system_prompt: str | None, data: JsonMapping
) -> ConversationSettings:
    return ConversationSettings(
        profile=string(data, "profile"),
        model=model,
        system_prompt=system_prompt,
        system_prompt_format=_one_of(data.get("system_prompt_format"), JINJA),
        options=_read_generation(as_object(data.get("generation"))),
        should_think=_read_thinking(data.get("should_think")),
        tools=tuple(strings(data.get("tools"))),
    )


def _generation(options: GenerationOptions) -> JsonObject:
    return present({one.name: _plain(getattr(options, one.name)) for one in fields(options)})


def _plain(value: JsonValue | tuple[str, ...] | JsonMapping) -> JsonValue:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


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
            return tuple(strings(value)) if isinstance(value, list) else None
        case "response_format":
            return value if value == "json" or isinstance(value, dict) else None
        case "keep_alive":
            return _keep_alive(value)
        case "extra_body":
            return value if isinstance(value, dict) else None
        case _:
            return (_integer if option.type == int | None else _number)(value)


def _keep_alive(value: JsonValue) -> str | float | None:
    try:
        return parse_keep_alive(value)
    except ValueError:
        return None


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _thinking(value: ShouldThink | None) -> JsonValue:
    """Return the mode and its limits; tags and prompts belong to the model."""
    if not isinstance(value, ThinkingConfig):
        return value
    kept = ("mode", "effort", "visible", "depth", "steps")
    return {name: getattr(value, name) for name in kept}


def _read_thinking(value: JsonValue) -> ShouldThink | None:
    if isinstance(value, bool):
        return value
    if not isinstance(value, dict):
        return _one_of(value, _MODES)
    mode, effort = _one_of(value.get("mode"), _MODES), _one_of(value.get("effort"), _EFFORTS)
    if mode is None and effort is None:
        return None
    if mode == "last" and effort is not None:
        mode = None  # earlier versions wrote it for an effort in any mode
    visible = value.get("visible")
    return ThinkingConfig(
        mode=mode,
        effort=effort,
        visible=visible if isinstance(visible, bool) else None,
        depth=_integer(value.get("depth")),
        steps=_integer(value.get("steps")),
    )


def _one_of(value: JsonValue, known: Sequence[T]) -> T | None:
    return next((one for one in known if one == value), None)
