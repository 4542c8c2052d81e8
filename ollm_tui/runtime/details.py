"""All that is known of one model, and the settings that count for it; pure.

A chat's own option counts first, then the settings, the model's file, the settings beside that
file, its family, the engine's default.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.library.fit import Fit
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import GenerationOptions

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge
    from ollm_tui.models.tasks import ModelTask

Layer: TypeAlias = Literal["chat", "settings", "provider", "model", "sidecar", "family", "engine"]
"""Where a value may come from, the most important first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One setting as it counts for a model."""

    name: str
    """`num_ctx`, `temperature`, ..."""
    value: str
    """Empty where none was chosen and the engine does not report its default."""
    source: str
    """Its origin: `the model file`, `config.toml:7, options.top_p`, `the engine's default`."""
    layer: Layer = "engine"
    beneath: tuple["EffectiveValue", ...] = ()
    """What would count without it, in the order of importance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFacts:
    """The windows of one model, in tokens; None where one is not known."""

    tokens: int
    """The one that counts for a chat."""
    source: str
    """Where it comes from: `[models] in the settings`, `as it is loaded`, `assumed`, ..."""
    trained: int | None = None
    """What the model was made for."""
    configured: int | None = None
    """What the settings or the model file ask for."""
    configured_by: str | None = None
    loaded: int | None = None
    """The window of the model as it is in memory now."""
    reported: int | None = None
    """What the engine reports, whether the model is loaded or not."""
    is_set: bool = False
    """Whether the settings give it for this model, which overrides everything else."""
    is_assumed: bool = False
    """Whether it is a guess; then a chat warns and blocks nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetails:
    """One model, described."""

    ref: ModelRef
    info: ModelInfo
    """Without its long texts, which are fields here."""
    place: str
    """The server or folder, as questions name it."""
    licence: str | None = None
    """The whole text, or its name if only that is known."""
    template: str | None = None
    template_facts: "TemplateFacts | None" = None
    """What the template supports; None without one, and where it could not be read."""
    system: str | None = None
    """The system prompt that the model brings along."""
    modelfile: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    """Values that the model brings along, by name; a name may come more than once."""
    settings: tuple[EffectiveValue, ...] = ()
    context: ContextFacts | None = None
    fit: Fit | None = None
    until: str | None = None
    """When a loaded model is unloaded, ISO 8601; None if that is not known."""
    gpu_share: float | None = None
    """The part of a loaded model that is in graphics memory, from 0 to 1."""
    path: str | None = None
    """The file, if it is on this machine."""
    loads_with_window: bool = False
    """Whether the engine loads it with the window that a request asks for."""
    known: "ModelKnowledge | None" = None
    """What its family and the settings beside its file say."""
    uses_family: bool = False
    """Whether these fill the gaps of a request; other servers have defaults of their own."""
    default_for: "Sequence[ModelTask]" = ()
    """The tasks beside chatting that it is used for by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFacts:
    """What a model's chat template supports."""

    format: str
    """Its language: `jinja2` or `Go`."""
    problem: str | None = None
    """Why it cannot be rendered, which is all that is known then."""
    abilities: tuple[tuple[str, bool], ...] = ()
    """What could be found out, in words: `tools`, `system role`, `parallel calls`."""
    differs: tuple[tuple[str, bool], ...] = ()
    """The abilities of which the engine says otherwise, and what it says."""


OPTIONS: tuple[str, ...] = tuple(
    option.name
    for option in fields(GenerationOptions)
    if option.name not in {"response_format", "extra_body"}
)
"""Those of `GenerationOptions` that the user sets, in the order in which they are shown."""
OLLAMA_NAMES: Mapping[str, str] = {"num_predict": "max_tokens"}
_BY: Mapping[str, str] = {"system_prompt": "/system in this chat"}
"""What changes a setting in a chat, where it is not `/set`."""
_MAX_LENGTH = 2000
"""Characters of one value that are shown: a stop sequence may be any text."""


def stacked(
    values: Iterable[EffectiveValue], default_of: Callable[[str], str]
) -> tuple[EffectiveValue, ...]:
    """Return one value for each name: the first one counts, the others are beneath it.

    The usual options without a value are left to the engine; `default_of` gives their source.
    """
    by_name: dict[str, list[EffectiveValue]] = {name: [] for name in OPTIONS}
    for value in values:
        by_name.setdefault(value.name, []).append(value)
    return tuple(
        replace(candidates[0], beneath=tuple(candidates[1:]))
        if candidates
        else EffectiveValue(name=name, value="", source=default_of(name))
        for name, candidates in by_name.items()
    )


def option_values(options: GenerationOptions) -> dict[str, str]:
    """Return the options that are set, as text; those of `extra_body` under its name."""
    texts: dict[str, str] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if value is not None and field.name in OPTIONS:
            texts[field.name] = shown(list(value) if isinstance(value, tuple) else value)
    for key, value in (options.extra_body or {}).items():
        texts[f"extra_body.{key}"] = shown(value)
    return texts


def chat_values(options: GenerationOptions, system_prompt: str | None) -> dict[str, str]:
    """Return what a chat or a profile sets, as text."""
    own = {"system_prompt": system_prompt} if system_prompt else {}
    return option_values(options) | own


def shown(value: JsonValue) -> str:
    """Write a value on one line: texts and numbers as they are, lists and tables as JSON."""
    if isinstance(value, str):
        text = value if value.isprintable() and value == value.strip() else json.dumps(value)
    elif isinstance(value, list | dict | bool) or value is None:
        text = json.dumps(value, ensure_ascii=False)
    else:
        text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"


def in_chat(
    details: ModelDetails,
    options: GenerationOptions,
    system_prompt: str | None,
    profile: tuple[str, Mapping[str, str]] | None = None,
) -> ModelDetails:
    """Return the details as they count in a chat with these options and this system prompt.

    `profile` is the name and the `chat_values` of the profile that the chat uses.
    """
    name, of_profile = profile or ("", {})
    chosen = {
        key: _chats(key, text, name if of_profile.get(key) == text else "")
        for key, text in chat_values(options, system_prompt).items()
    }
    names = {value.name for value in details.settings}
    settings = [_as_chatted(value, chosen.get(value.name)) for value in details.settings]
    settings += [value for key, value in chosen.items() if key not in names]
    changed = replace(details, settings=tuple(value for value in settings if value is not None))
    return _with_window(changed, options.num_ctx) if details.loads_with_window else changed


def _as_chatted(value: EffectiveValue, chosen: EffectiveValue | None) -> EffectiveValue | None:
    if value.layer in ("chat", "settings") and _is_of_chats(value.name):
        if chosen is not None and chosen.value == value.value:
            return value
        below = value.beneath
        if chosen is None and below:  # taken back in this chat
            return replace(below[0], beneath=below[1:])
        if chosen is None:
            unsaid = EffectiveValue(name=value.name, value="", source="the engine's default")
            return unsaid if value.name in OPTIONS else None
    elif chosen is None:
        return value
    beneath: Sequence[EffectiveValue] = (replace(value, beneath=()), *value.beneath)
    return replace(chosen, beneath=tuple(v for v in beneath if v.value))


def _is_of_chats(name: str) -> bool:
    """Whether a chat has a value of its own, which it had from the settings when it began."""
    return name in OPTIONS or name == "system_prompt" or name.startswith("extra_body.")


def _chats(name: str, text: str, profile: str) -> EffectiveValue:
    source = f"the profile {profile}" if profile else _BY.get(name, "/set in this chat")
    return EffectiveValue(name=name, value=text, source=source, layer="chat")


def _with_window(details: ModelDetails, num_ctx: int | None) -> ModelDetails:
    context = details.context
    row = next((value for value in details.settings if value.name == "num_ctx"), None)
    if context is None or context.is_set or row is None or num_ctx is None or num_ctx <= 0:
        return details
    changed = replace(context, tokens=num_ctx, source=row.source, is_assumed=False)
    return replace(details, context=changed)
