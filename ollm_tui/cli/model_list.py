"""`ollm models list` and `ollm models ps`: the models there are, and those in memory."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_format import (
    YES_NO,
    Address,
    can_text,
    info_to_json,
    share_text,
    until_text,
)
from ollm_tui.cli.model_runtime import in_runtime
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.decode.counted import size_text
from ollm_tui.decode.json_fields import string
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import TIMEOUT_S, gpu_share_of, memory_of

_LIST_HEAD = ("MODEL", "SIZE", "QUANT", "CONTEXT", "CAN", "LOADED", "MODIFIED")
Entry = tuple[ModelRef, ModelInfo]
_KEYS: Mapping[str, tuple[Callable[[Entry], Any], bool]] = {
    "name": (lambda one: one[1].name.casefold(), False),
    "provider": (lambda one: (one[0].provider, one[1].name.casefold()), False),
    "size": (lambda one: one[1].size_bytes, True),
    "context": (lambda one: one[1].context, True),
    "modified": (lambda one: one[1].modified_at, True),
}
_PS_HEAD = ("MODEL", "MEMORY", "ON GPU", "CONTEXT", "UNTIL", "PLACE")
_Loaded = list[tuple[ModelRef, ModelInfo, str]]


def run_list(arguments: Arguments, output: Output) -> int:
    """List the models."""
    listings, address = in_runtime(arguments, output, partial(_listings, arguments.flags.provider))
    entries = [
        (ModelRef(listing.provider, info.name), info)
        for listing in listings
        for info in listing.models
    ]
    for listing in listings:
        if listing.problem is not None:
            output.error(listing.problem.message, listing.problem.hint)
    options = arguments.models
    shown = sorted_by(options.sort, [one for one in entries if _fits(one, options.filter, address)])
    if arguments.as_json:
        output.json([info_to_json(ref, info) for ref, info in shown], indent=2)
    elif shown:
        output.table(_LIST_HEAD, [_list_row(address(ref), info) for ref, info in shown])
    if not shown:
        words = " ".join(options.filter)
        output.note(f"No model fits {words!r}." if entries else "No models found.")
    return OK if shown else ERROR


async def _listings(provider: str | None, runtime: Runtime) -> tuple[Sequence[Listing], Address]:
    catalog = runtime.catalog
    if provider is None:
        return await catalog.refresh(within_s=TIMEOUT_S), catalog.shown_address
    adapter = await runtime.router.provider(provider)
    return [await catalog.listing(adapter.name, within_s=TIMEOUT_S)], catalog.shown_address


def _fits(entry: Entry, words: Sequence[str], address: Address) -> bool:
    ref, info = entry
    more = (string(info.details, key) for key in ("quantization", "family", "parameter_size"))
    known = (str(ref), address(ref), info.label, can_text(info), *more)
    text = " ".join(part for part in known if part).casefold()
    return all(word.casefold() in text for word in words)


def sorted_by(column: str | None, entries: Sequence[Entry]) -> list[Entry]:
    """Sort by a column, the unknown last; without one the order of the providers stays."""
    if column is None:
        return [*entries]
    key, is_descending = _KEYS[column]
    known = sorted((e for e in entries if key(e) is not None), key=key, reverse=is_descending)
    return [*known, *(e for e in entries if key(e) is None)]


def _list_row(address: str, info: ModelInfo) -> tuple[str, ...]:
    return (
        address,
        size_text(info.size_bytes),
        string(info.details, "quantization") or "",
        str(info.context or ""),
        can_text(info),
        YES_NO[info.loaded],
        (info.modified_at or "")[:10],
    )


def run_ps(arguments: Arguments, output: Output) -> int:
    """List the models in memory."""
    loaded, unsupported, addresses = in_runtime(arguments, output, partial(_loaded, output))
    now = datetime.now(UTC)
    if arguments.as_json:
        output.json([_as_json(*one) for one in loaded], indent=2)
    elif loaded:
        output.table(
            _PS_HEAD, [_ps_row(addresses[ref], info, place, now) for ref, info, place in loaded]
        )
    for label in () if loaded else unsupported:
        output.note(f"{label} does not list its loaded models.")
    if not loaded and not unsupported:
        output.note("No model is loaded.")
    return OK


async def _loaded(
    output: Output, runtime: Runtime
) -> tuple[_Loaded, list[str], dict[ModelRef, str]]:
    """List the loaded models of all providers, each with its place as `models rm` names it."""
    manager = runtime.manager
    in_memory = await manager.in_memory()
    for problem in in_memory.problems:
        output.error(problem.message, problem.hint)
    addresses = {ref: runtime.catalog.shown_address(ref) for ref, _ in in_memory.models}
    loaded = [(ref, info, manager.place(ref)) for ref, info in in_memory.models]
    return loaded, in_memory.unsupported, addresses


def _as_json(ref: ModelRef, info: ModelInfo, place: str) -> JsonObject:
    return {
        "model": str(ref),
        "provider": ref.provider,
        "name": info.name,
        "place": place,
        "memory_bytes": memory_of(info),
        "gpu_share": gpu_share_of(info),
        "gpu_bytes": info.details.get("size_vram"),
        "context": info.context,
        "expires_at": info.details.get("expires_at"),
    }


def _ps_row(address: str, info: ModelInfo, place: str, now: datetime) -> tuple[str, ...]:
    return (
        address,
        size_text(memory_of(info)),
        share_text(gpu_share_of(info)),
        str(info.context or ""),
        until_text(info.details.get("expires_at"), now),
        place,
    )
