"""All that is known of a model as sections of a sheet; pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.models.capabilities import ABILITIES, Source, capabilities_of
from ollm_tui.tui.figures import size
from ollm_tui.tui.models.fit_words import fit_facts
from ollm_tui.tui.models.sheet_lines import Fact, SheetSection

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue
    from ollm_tui.runtime.details import ContextFacts, EffectiveValue, ModelDetails

_SOURCES: Final[Mapping[Source, str]] = {
    "known": "reported by the engine",
    "set": "set by you",
    "assumed": "assumed from its name",
}
_WORDS: Final[Mapping[str, str]] = {
    "family": "architecture",
    "quantization": "quantization",
    "parameter_size": "parameters",
    "parameter_count": "parameter count",
    "tokenizer": "tokenizer",
    "format": "format",
}
"""Facts that stand at the top, in this order, by their names in `details`."""
_ELSEWHERE: Final = frozenset(
    {"size_vram", "memory_bytes", "expires_at", "context_trained", "shape", *_WORDS}
)


def sections_of(details: "ModelDetails", now: datetime) -> list[SheetSection]:
    """Give what there is to show; a section that would be empty is not there."""
    modelfile = details.modelfile or ""
    found = [
        SheetSection(id="summary", title="Summary", facts=tuple(_summary(details, now))),
        SheetSection(id="capabilities", title="Capabilities", facts=tuple(_abilities(details))),
        SheetSection(id="context", title="Context", facts=tuple(_windows(details.context))),
        SheetSection(id="settings", title="Effective settings", facts=_settings(details.settings)),
        SheetSection(id="parameters", title="Model parameters", facts=_pairs(details.parameters)),
        SheetSection(id="fit", title="Memory on this machine", facts=tuple(fit_facts(details.fit))),
        SheetSection(id="system", title="Model system prompt", text=details.system or ""),
        SheetSection(id="template", title="Template", text=details.template or "", words=False),
        SheetSection(id="modelfile", title="Modelfile", text=modelfile, words=False),
        SheetSection(id="licence", title="Licence", text=details.licence or ""),
    ]
    return [section for section in found if section.facts or section.text.strip()]


def section_number(sections: Iterable[SheetSection], wanted: str | None) -> int | None:
    """Give the place of a section by its id; None where it is not there."""
    ids = [section.id for section in sections]
    return ids.index(wanted) if wanted in ids else None


def left_words(until: str | None, now: datetime) -> str:
    """Write how long a loaded model stays when nobody asks it; nothing where nobody tells."""
    if until is None:
        return ""
    try:
        left = (datetime.fromisoformat(until) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return ""
    if left > 10 * 365 * 86_400:
        return "stays until unloaded"
    if left <= 0:
        return "unloading"
    minutes = round(left / 60)
    return f"for {minutes} min more" if minutes < 120 else f"for {minutes // 60} h more"


def _summary(details: "ModelDetails", now: datetime) -> Iterator[Fact]:
    info = details.info
    told = info.details
    known = info.size_bytes
    rows: dict[str, str | None] = {
        "model": clean_name(details.ref.model),
        "label": clean_name(info.label) if info.label != info.name and info.label else None,
        "description": info.description,
        "place": clean_name(details.place),
        "file": clean_name(details.path) if details.path else None,
        "size": size(known) if known is not None and known >= 0 else None,
        **{word: _text(told[key]) for key, word in _WORDS.items() if told.get(key) is not None},
        "modified": (info.modified_at or "")[:10],
        "loaded": _loaded(details, now),
        **{k.replace("_", " "): _text(v) for k, v in told.items() if k not in _ELSEWHERE},
    }
    for name, value in rows.items():
        if value:
            yield Fact(name=name, value=value)


def _loaded(details: "ModelDetails", now: datetime) -> str | None:
    if not details.info.loaded:
        return None if details.info.loaded is None else "no"
    memory = details.info.details.get("memory_bytes")
    share = details.gpu_share
    parts = [
        "yes",
        size(memory) if isinstance(memory, int) and memory > 0 else "",
        "" if share is None else f"{round(100 * share)} % on the GPU",
        left_words(details.until, now),
    ]
    return ", ".join(part for part in parts if part)


def _abilities(details: "ModelDetails") -> Iterator[Fact]:
    """Give each ability that something is known of, and who says so."""
    info = details.info
    held = capabilities_of(info)
    for name in ABILITIES:
        fact = held.ability(name)
        if fact.value is not None:
            value = "yes" if fact.value else "no"
            yield Fact(name=name, value=value, note=_SOURCES[fact.source])
        else:
            yield Fact(name=name, value="unknown", note="not known")
    if info.capability is not None:
        for word, kinds in (("takes", info.capability.input), ("gives", info.capability.output)):
            if kinds:
                yield Fact(name=word, value=", ".join(sorted(kinds)))


def _windows(context: "ContextFacts | None") -> Iterator[Fact]:
    if context is None:
        return
    yield Fact(name="counts", value=_tokens(context.tokens), note=context.source)
    if context.loaded is not None:
        yield Fact(name="loaded", value=_tokens(context.loaded))
    if context.configured is not None:
        by = context.configured_by or ""
        yield Fact(name="configured", value=_tokens(context.configured), note=by)
    if context.trained is not None:
        yield Fact(name="trained", value=_tokens(context.trained))


def _settings(values: "Iterable[EffectiveValue]") -> tuple[Fact, ...]:
    """Give each setting with who said it, and what it stands instead of."""
    facts = []
    for value in values:
        below = value.beneath[0] if value.beneath else None
        instead = f", instead of {below.value} of {below.source}" if below else ""
        facts.append(
            Fact(name=value.name, value=value.value or "-", note=f"{value.source}{instead}")
        )
    return tuple(facts)


def _pairs(pairs: Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    return tuple(Fact(name=name, value=value) for name, value in pairs)


def _tokens(count: int) -> str:
    return counted(count, "token")


def _text(value: "JsonValue") -> str:
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)
