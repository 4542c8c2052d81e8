"""Models as cells of a table and as JSON, where unknown values are null."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TypeAlias

from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import time_left
from ollm_tui.library.fit import Fit, fit_words
from ollm_tui.models.capabilities import ABILITIES, capabilities_of, ranking_of
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import LONG_DETAILS, ModelInfo, ModelRef
from ollm_tui.runtime.details import EffectiveValue, ModelDetails, TemplateFacts

Address: TypeAlias = Callable[[ModelRef], str]
"""Writes the address of a model as people do."""
YES_NO: Mapping[bool | None, str] = {True: "yes", False: "no", None: ""}
_FOREVER_S = 10 * 365 * 86_400
_MAX_VALUE_LENGTH = 60
_KINDS = ("audio", "image", "video")


def abilities_text(info: ModelInfo) -> str:
    """Return each ability that something is known of, and how where it is not the engine's word."""
    abilities = capabilities_of(info)
    parts = []
    for name in ABILITIES:
        fact = abilities.ability(name)
        if fact.value is not None:
            source = "" if fact.source == "known" else f" ({fact.source})"
            parts.append(f"{name} {YES_NO[fact.value]}{source}")
    return ", ".join(parts)


def can_text(info: ModelInfo) -> str:
    """Return what a model can do in a few words: `?` is assumed, `!` is set by the user."""
    if info.details.get("problem"):
        return "unusable"
    abilities, can = capabilities_of(info), info.capability
    answers = can is not None and "text" in can.output and "text" in (can.input or {"text"})
    words = ["chat"] if answers else []
    facts = {name: abilities.ability(name) for name in ABILITIES} | {"rerank": ranking_of(info)}
    for name, fact in facts.items():
        if fact.value:
            words.append(name + {"known": "", "assumed": "?", "set": "!"}[fact.source])
    if can is not None:
        words += [kind for kind in _KINDS if kind in can.output]
        words += ["audio-input"] if "audio" in can.input else []
    return " ".join(words)


def modalities_text(kinds: Collection[str]) -> str:
    """Return what goes in or comes out."""
    return ", ".join(sorted(kinds))


def fit_text(fit: Fit | None) -> str:
    """Return the verdict with its numbers, and what takes the memory."""
    if fit is None:
        return ""
    parts = f"{size_text(fit.weights)} model, {size_text(fit.cache)} context of {fit.context}"
    more = f", {size_text(fit.beside)} beside it" if fit.beside else ""
    return f"{fit_words(fit)}; {parts} tokens{more}"


def share_text(share: float | None) -> str:
    """Write the share of a model in GPU memory, from 0 to 1, in percent; nothing if unknown."""
    return "" if share is None else f"{round(100 * share)} %"


def until_text(expires_at: object, now: datetime | None = None) -> str:
    """Return how long a model stays loaded without requests."""
    if not isinstance(expires_at, str):
        return ""
    try:
        left = (datetime.fromisoformat(expires_at) - (now or datetime.now(UTC))).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return ""
    if left > _FOREVER_S:
        return "forever"
    return f"in {time_left(left)}" if left > 0 else "now"


def info_to_json(ref: ModelRef, info: ModelInfo) -> JsonObject:
    """Return all of a model but its long texts."""
    can, sides = info.capability, ("input", "output", "features")
    return {
        "model": str(ref),
        "provider": ref.provider,
        "name": info.name,
        "label": info.label,
        "description": info.description,
        "size_bytes": info.size_bytes,
        "modified_at": info.modified_at,
        "quantization": info.details.get("quantization"),
        "capability": None if can is None else {side: sorted(getattr(can, side)) for side in sides},
        "abilities": _abilities_json(info),
        "context": info.context,
        "loaded": info.loaded,
        "details": {k: v for k, v in info.details.items() if k not in LONG_DETAILS},
    }


def template_text(facts: TemplateFacts) -> str:
    """Return what a chat template supports, and of what the engine says otherwise."""
    if facts.problem is not None:
        return f"unknown: {facts.problem}"
    differs = dict(facts.differs)
    has = [name for name, is_there in facts.abilities if is_there]
    says = ", ".join(f"{name} {YES_NO[value]}" for name, value in differs.items())
    return f"{', '.join(has) or 'nothing special'}{'; the engine reports: ' if says else ''}{says}"


def details_to_json(details: ModelDetails) -> JsonObject:
    """Return all that is known of one model."""
    info_json = info_to_json(details.ref, details.info)
    facts = details.template_facts
    inner: JsonObject = {**details.info.details}
    if names := dict(details.parameters):
        inner["parameters"] = {
            name: [value for other, value in details.parameters if other == name] for name in names
        }
    if details.path is not None:
        inner["path"] = details.path
    return info_json | {
        "details": inner,
        "place": details.place,
        "settings": [setting_json(value) for value in details.settings],
        "windows": None if details.context is None else asdict(details.context),
        "fit": None if details.fit is None else _fit_json(details.fit),
        "expires_at": details.until,
        "gpu_share": details.gpu_share,
        "licence": details.licence,
        "template": details.template,
        "template_supports": None if facts is None else dict(facts.abilities),
        "system": details.system,
        "modelfile": details.modelfile,
    }


def setting_row(value: EffectiveValue) -> tuple[str, str, str]:
    """Return the name of a setting, its value, and its source with what it replaced."""
    below = [(one.value, one.source) for one in value.beneath]
    return value.name, on_one_line(value.value), with_replaced(value.source, below)


def with_replaced(source: str, below: Iterable[tuple[str, str]]) -> str:
    """Return a source, and after it the values that count without it, each with its own."""
    replaced = "; ".join(f"{on_one_line(value)}, {origin}" for value, origin in below)
    return f"{source} (instead of {replaced})" if replaced else source


def on_one_line(text: str) -> str:
    """Return the beginning of a value, short enough for a column; a dash for none."""
    first = text[: _MAX_VALUE_LENGTH + 1].replace("\n", "\\n")
    return (first if len(first) <= _MAX_VALUE_LENGTH else f"{first[:_MAX_VALUE_LENGTH]}…") or "-"


def setting_json(value: EffectiveValue) -> JsonObject:
    """Return one setting; null stands for a value that only the engine knows."""
    setting: JsonObject = {"name": value.name, "value": value.value or None, "source": value.source}
    if value.beneath:
        setting["instead_of"] = [
            {"value": below.value or None, "source": below.source} for below in value.beneath
        ]
    return setting


def _fit_json(fit: Fit) -> JsonObject:
    return {
        "verdict": fit.verdict,
        "needed_bytes": fit.needed,
        "weights_bytes": fit.weights,
        "cache_bytes": fit.cache,
        "overhead_bytes": fit.overhead,
        "beside_bytes": fit.beside,
        "context": fit.context,
        "kv_type": fit.kv_type,
        "gpu_share": fit.gpu_share,
        "is_estimate": fit.is_estimate,
    }


def _abilities_json(info: ModelInfo) -> JsonObject:
    """Return each ability and its source: set, known or assumed; null if unknown."""
    abilities = capabilities_of(info)
    facts = {name: abilities.ability(name) for name in ABILITIES}
    return {name: {"value": fact.value, "source": fact.source} for name, fact in facts.items()}
