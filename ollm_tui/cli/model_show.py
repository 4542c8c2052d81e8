"""`ollm models show`: all that is known about one model."""

from dataclasses import replace
from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.model_runtime import PATIENCE_S, FoundModel, find_model, in_runtime
from ollm_tui.cli.output import OK, Output
from ollm_tui.models.capabilities import ABILITIES, capabilities_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import SupportsShow
from ollm_tui.providers.operations import shower
from ollm_tui.runtime.compose import Runtime

_FEATURES = {
    "tool_use": "tools",
    "thinking": "thinking",
    "infill": "infill",
    "json_mode": "JSON",
}
_YES_NO = {True: "yes", False: "no", None: ""}


def run_show(arguments: Arguments, output: Output) -> int:
    """Describe one model."""
    found, info = in_runtime(arguments, output, partial(_described, arguments.name))
    if arguments.as_json:
        output.json(info_to_json(found.ref, info), indent=2)
    else:
        rows = [(name, value) for name, value in _rows(found, info) if value]
        output.table(("MODEL", str(found.ref)), rows)
    return OK


async def _described(name: str, runtime: Runtime) -> tuple[FoundModel, ModelInfo]:
    """Ask for one model; a provider that describes none has at least its list."""
    found = await find_model(runtime, name)
    listed = found.info
    if not isinstance(found.adapter, SupportsShow):
        if listed is None:
            raise await _unlisted(found, runtime)
        return found, listed
    info = await shower(found.adapter).show_model(found.ref.model)
    size = info.size_bytes if listed is None else info.size_bytes or listed.size_bytes
    return found, runtime.scout.corrected(found.ref, replace(info, size_bytes=size))


async def _unlisted(found: FoundModel, runtime: Runtime) -> AIError:
    """Say why a list has no such model: it has none, or there is no list."""
    listing = await runtime.catalog.listing(found.adapter.name, within_s=PATIENCE_S)
    if listing.problem is not None:
        return listing.problem
    if listing.absent:
        hint = "Start the server, or choose another one with --host."
        return AIError(ErrorCode.SERVICE_UNAVAILABLE, f"{found.place} does not answer.", hint=hint)
    hint = "`ollm models list` shows what there is."
    message = f"{found.place} has no model named {found.ref.model!r}."
    return AIError(ErrorCode.MODEL_NOT_FOUND, message, hint=hint)


def info_to_json(ref: ModelRef, info: ModelInfo) -> JsonObject:
    """Give everything in the names of the vocabulary; what is unknown is null."""
    can = info.capability
    capability: JsonObject | None = None
    if can is not None:
        capability = {
            "input": [*sorted(can.input)],
            "output": [*sorted(can.output)],
            "features": [*sorted(can.features)],
        }
    return {
        "model": str(ref),
        "provider": ref.provider,
        "name": info.name,
        "label": info.label,
        "description": info.description,
        "size_bytes": info.size_bytes,
        "modified_at": info.modified_at,
        "capability": capability,
        "abilities": _abilities_json(info),
        "context": info.context,
        "loaded": info.loaded,
        "details": dict(info.details),
    }


def _rows(found: FoundModel, info: ModelInfo) -> list[tuple[str, str]]:
    can = info.capability
    rows = [
        ("LABEL", info.label or ""),
        ("DESCRIPTION", info.description or ""),
        ("PLACE", found.place),
        ("SIZE", size_text(info.size_bytes)),
        ("CONTEXT", str(info.context or "")),
        ("LOADED", _YES_NO[info.loaded]),
        ("TAKES", ", ".join(sorted(can.input)) if can else ""),
        ("GIVES", ", ".join(sorted(can.output)) if can else ""),
        ("CAN", ", ".join(word for key, word in _FEATURES.items() if can and key in can.features)),
        ("ABILITIES", _abilities(info)),
        ("MODIFIED", info.modified_at or ""),
    ]
    for key, value in info.details.items():
        name = key.replace("_", " ").upper()
        if isinstance(value, dict):
            rows += [(f"{name}: {inner}", _text(said)) for inner, said in value.items()]
        else:
            rows.append((name, _text(value)))
    return rows


def _abilities_json(info: ModelInfo) -> JsonObject:
    """Give each ability and how it is known: set, known or assumed; null while nobody knows."""
    held = capabilities_of(info)
    facts = {name: held.ability(name) for name in ABILITIES}
    return {name: {"value": fact.value, "source": fact.source} for name, fact in facts.items()}


def _abilities(info: ModelInfo) -> str:
    held = capabilities_of(info)
    parts = []
    for name in ABILITIES:
        fact = held.ability(name)
        if fact.value is not None:
            source = "" if fact.source == "known" else f" ({fact.source})"
            parts.append(f"{name} {_YES_NO[fact.value]}{source}")
    return ", ".join(parts)


def _text(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    return "" if value is None else str(value)
