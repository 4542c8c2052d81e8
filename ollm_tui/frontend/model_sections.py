"""Everything known of a model as sections of a sheet; pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.frontend.model_facts import left_words
from ollm_tui.library.fit import IDLE_GPU, USE_GPU, fit_words
from ollm_tui.models.capabilities import ABILITIES, Source, capabilities_of
from ollm_tui.models.family_words import family_rows
from ollm_tui.models.tasks import task_list
from ollm_tui.models.tool_check import check_rows, tool_check_of

if TYPE_CHECKING:
    from ollm_tui.library.fit import Fit
    from ollm_tui.protocol.json_types import JsonValue
    from ollm_tui.runtime.details import (
        ContextFacts,
        EffectiveValue,
        ModelDetails,
        TemplateFacts,
    )


Role: TypeAlias = Literal["system", "user", "assistant", "tool", "frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name, its value and a note; cleaned when it is laid out."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetSection:
    """A heading, and facts or a text below it."""

    id: str
    title: str
    facts: tuple[Fact, ...] = ()
    text: str = ""
    """Shown unchanged, wrapped if it is too wide."""
    words: bool = True
    """Whether its lines break between words; code breaks anywhere."""
    role: Role | None = None
    """Whose text it is, in a prompt; the ends of its lines are marked."""

    @property
    def copied(self) -> str:
        """What a copy has: the text, or a line for each fact."""
        if self.text:
            return self.text
        rows = ((fact.name, fact.value, fact.note) for fact in self.facts)
        return "\n".join("\t".join(part for part in row if part) for row in rows)


def fit_facts(fit: "Fit | None") -> Iterator[Fact]:
    """Yield the verdict, what the model needs and what the machine has; nothing without a fit."""
    if fit is None:
        return
    about = "about " if fit.is_estimate else ""
    note = "estimated from its size" if fit.is_estimate else ""
    yield Fact(name="verdict", value=fit_words(fit), note=note)
    yield Fact(name="needs", value=f"{about}{size_text(fit.needed)}")
    yield Fact(name="  weights", value=size_text(fit.weights))
    cache = f"{fit.context:,} tokens as {fit.kv_type}"
    yield Fact(name="  context", value=size_text(fit.cache), note=cache)
    yield Fact(name="  working space", value=size_text(fit.overhead))
    if fit.beside:
        yield Fact(name="  with it", value=size_text(fit.beside), note="adapters, draft model")
    machine = fit.machine
    for gpu in machine.gpus:
        free = "" if gpu.free is None else f"{size_text(gpu.free)} free"
        yield Fact(name="GPU", value=f"{gpu.name}, {size_text(gpu.total)}", note=free)
    for gpu in machine.idle_gpus:
        yield Fact(name="GPU", value=f"{gpu.name}, not used", note=IDLE_GPU)
    if machine.idle_gpus:
        yield Fact(name="  to use it", value=USE_GPU)
    if machine.ram_total is not None:
        free = "" if machine.ram_free is None else f"{size_text(machine.ram_free)} free"
        shared = "shared with the graphics" if machine.unified else ""
        note = ", ".join(part for part in (free, shared) if part)
        yield Fact(name="memory", value=size_text(machine.ram_total), note=note)


_SOURCES: Final[Mapping[Source, str]] = {
    "known": "reported by the engine",
    "set": "set by you",
    "assumed": "assumed from its family",
}
_TOP_FACTS: Final[Mapping[str, str]] = {
    "family": "architecture",
    "quantization": "quantization",
    "parameter_size": "parameters",
    "parameter_count": "parameter count",
    "tokenizer": "tokenizer",
    "format": "format",
}
"""What the summary begins with: names in `ModelInfo.details` and their words."""
_NOT_LISTED: Final = frozenset(
    {
        *("size_vram", "memory_bytes", "expires_at", "context_trained", "shape"),
        *("loaded_with_bytes", *_TOP_FACTS),
    }
)


def sections_of(details: "ModelDetails", now: datetime) -> list[SheetSection]:
    """Return the sections of a model's details, without empty ones."""
    modelfile = details.modelfile or ""
    template_facts = tuple(_template(details.template_facts))
    parameters = tuple(Fact(name=name, value=value) for name, value in details.parameters)
    sections = [
        SheetSection(id="summary", title="Summary", facts=tuple(_summary(details, now))),
        SheetSection(id="capabilities", title="Capabilities", facts=tuple(_abilities(details))),
        SheetSection(id="context", title="Context", facts=tuple(_windows(details.context))),
        SheetSection(id="family", title="Family", facts=tuple(_family(details))),
        SheetSection(id="settings", title="Effective settings", facts=_settings(details.settings)),
        SheetSection(id="parameters", title="Model parameters", facts=parameters),
        SheetSection(id="fit", title="Memory on this machine", facts=tuple(fit_facts(details.fit))),
        SheetSection(id="system", title="Model system prompt", text=details.system or ""),
        SheetSection(id="supports", title="What the template supports", facts=template_facts),
        SheetSection(id="template", title="Template", text=details.template or "", words=False),
        SheetSection(id="modelfile", title="Modelfile", text=modelfile, words=False),
        SheetSection(id="licence", title="Licence", text=details.licence or ""),
    ]
    return [section for section in sections if section.facts or section.text.strip()]


def section_number(sections: Iterable[SheetSection], wanted: str | None) -> int | None:
    """Return the index of a section by its id, or None if there is none."""
    ids = [section.id for section in sections]
    return ids.index(wanted) if wanted in ids else None


def _summary(details: "ModelDetails", now: datetime) -> Iterator[Fact]:
    info = details.info
    declared = info.details
    size_bytes = info.size_bytes
    rows: dict[str, str | None] = {
        "model": clean_name(details.ref.model),
        "label": clean_name(info.label) if info.label != info.name and info.label else None,
        "description": info.description,
        "place": clean_name(details.place),
        "file": clean_name(details.path) if details.path else None,
        "size": size_text(size_bytes) if size_bytes is not None and size_bytes >= 0 else None,
        **{
            word: _text(declared[key])
            for key, word in _TOP_FACTS.items()
            if declared.get(key) is not None
        },
        "modified": (info.modified_at or "")[:10],
        "loaded": _loaded(details, now),
        **{k.replace("_", " "): _text(v) for k, v in declared.items() if k not in _NOT_LISTED},
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
        size_text(memory) if isinstance(memory, int) and memory > 0 else "",
        "" if share is None else f"{round(100 * share)} % on the GPU",
        left_words(details.until, now),
    ]
    return ", ".join(part for part in parts if part)


def _abilities(details: "ModelDetails") -> Iterator[Fact]:
    info = details.info
    abilities = capabilities_of(info)
    for name in ABILITIES:
        fact = abilities.ability(name)
        value = "unknown" if fact.value is None else "yes" if fact.value else "no"
        note = "not known" if fact.value is None else _SOURCES[fact.source]
        yield Fact(name=name, value=value, note=note)
    if (check := tool_check_of(info)) is not None:
        *rows, day = check_rows(check)
        yield Fact(name="tool check", value=clean_name("; ".join(rows)), note=clean_name(day))
    if details.default_for:
        yield Fact(name="default for", value=task_list(details.default_for))
    if info.capability is not None:
        for word, kinds in (("takes", info.capability.input), ("gives", info.capability.output)):
            if kinds:
                yield Fact(name=word, value=", ".join(sorted(kinds)))


def _windows(context: "ContextFacts | None") -> Iterator[Fact]:
    if context is None:
        return
    windows = (
        ("counts", context.tokens, context.source),
        ("loaded", context.loaded, ""),
        ("configured", context.configured, context.configured_by or ""),
        ("trained", context.trained, ""),
    )
    for name, count, note in windows:
        if count is not None:
            yield Fact(name=name, value=counted(count, "token"), note=note)


def _template(facts: "TemplateFacts | None") -> Iterator[Fact]:
    if facts is None:
        return
    yield Fact(name="language", value=facts.format)
    if facts.problem is not None:
        yield Fact(name="problem", value=facts.problem)
    differs = dict(facts.differs)
    for name, has in facts.abilities:
        says = differs.get(name)
        note = "" if says is None else f"the engine says {_YES_NO[says]}"
        yield Fact(name=name, value=_YES_NO[has], note=note)


_YES_NO: Final[Mapping[bool, str]] = {True: "yes", False: "no"}


def _family(details: "ModelDetails") -> Iterator[Fact]:
    """Yield what is known of a model's family, with the values that are not sent."""
    known = details.known
    if known is None or known.family is None:
        return
    for name, value in family_rows(known):
        yield Fact(name=name, value=clean_name(value))
    for recommended in () if details.uses_family else known.parameters_in_use:
        note = f"not sent: {clean_name(details.place)} has defaults of its own"
        yield Fact(name=recommended.name, value=clean_name(_text(recommended.value)), note=note)


def _settings(values: "Iterable[EffectiveValue]") -> tuple[Fact, ...]:
    facts = []
    for value in values:
        below = value.beneath[0] if value.beneath else None
        instead = f", instead of {below.value} of {below.source}" if below else ""
        note = f"{value.source}{instead}"
        facts.append(Fact(name=value.name, value=value.value or "-", note=note))
    return tuple(facts)


def _text(value: "JsonValue") -> str:
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)
