"""The settings that count for a model, and where each value came from; pure.

A chat's own option counts more than the settings, these more than what the model brings along,
and that more than the engine's default.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.runtime.details import EffectiveValue, ModelDetails

OPTIONS: tuple[str, ...] = (
    "temperature", "max_tokens", "top_p", "top_k", "min_p", "repeat_penalty", "seed", "stop",
    "num_ctx", "keep_alive",
)  # fmt: skip
"""Those of `GenerationOptions` that a person sets, in the order in which they are shown."""
OLLAMA_NAMES: Mapping[str, str] = MappingProxyType({"num_predict": "max_tokens"})
IN_CHAT = "/set in this chat"
_LONGEST = 2000
"""Characters of one value that are shown: a text to stop at may be anything."""


def stacked(values: Iterable[EffectiveValue], default: str) -> tuple[EffectiveValue, ...]:
    """Give one value for each name: the first said counts, the others stand beneath it.

    The usual options that nobody said are left to the engine, which `default` names.
    """
    by_name: dict[str, list[EffectiveValue]] = {name: [] for name in OPTIONS}
    for value in values:
        by_name.setdefault(value.name, []).append(value)
    found = []
    for name, said in by_name.items():
        if said:
            found.append(replace(said[0], beneath=tuple(said[1:])))
        else:
            found.append(EffectiveValue(name=name, value="", source=default))
    return tuple(found)


def option_values(options: GenerationOptions) -> dict[str, str]:
    """Give the options that are set, as text; those of `extra_body` under its name."""
    said: dict[str, str] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if value is not None and field.name in OPTIONS:
            said[field.name] = shown(list(value) if isinstance(value, tuple) else value)
    for key, value in (options.extra_body or {}).items():
        said[f"extra_body.{key}"] = shown(value)
    return said


def shown(value: JsonValue) -> str:
    """Write a value on one line: texts and numbers as they are, lists and tables as JSON."""
    if isinstance(value, str):
        text = value if value.isprintable() and value == value.strip() else json.dumps(value)
    elif isinstance(value, list | dict | bool) or value is None:
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def in_chat(details: ModelDetails, options: GenerationOptions) -> ModelDetails:
    """Give the details as they count in a chat with these options."""
    said = option_values(options)
    names = {value.name for value in details.settings}
    settings = [_as_chatted(value, said.get(value.name)) for value in details.settings]
    for name, text in said.items():
        if name not in names:
            settings.append(_chats(name, text))
    changed = replace(details, settings=tuple(value for value in settings if value is not None))
    return _with_window(changed, options.num_ctx) if details.loads_with_window else changed


def _as_chatted(value: EffectiveValue, said: str | None) -> EffectiveValue | None:
    if value.layer in ("chat", "settings"):
        if said == value.value:
            return value
        below = value.beneath
        if said is None:  # taken back in this chat
            return replace(below[0], beneath=below[1:]) if below else _unsaid(value)
    elif said is None:
        return value
    beneath: Sequence[EffectiveValue] = (replace(value, beneath=()), *value.beneath)
    return replace(_chats(value.name, said), beneath=tuple(v for v in beneath if v.value))


def _unsaid(value: EffectiveValue) -> EffectiveValue | None:
    if value.name not in OPTIONS:
        return None
    return EffectiveValue(name=value.name, value="", source="the engine's default")


def _chats(name: str, text: str) -> EffectiveValue:
    return EffectiveValue(name=name, value=text, source=IN_CHAT, layer="chat")


def _with_window(details: ModelDetails, num_ctx: int | None) -> ModelDetails:
    context = details.context
    row = next((value for value in details.settings if value.name == "num_ctx"), None)
    if context is None or context.is_set or row is None:
        return details
    if num_ctx is not None and num_ctx > 0:
        asked = replace(context, tokens=num_ctx, source=row.source, is_assumed=False)
        return replace(details, context=asked)
    return details
