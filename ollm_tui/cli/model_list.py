"""`ollm models list`: every model of every provider that answers, or those that are looked for."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.model_cells import can_text
from ollm_tui.cli.model_json import info_to_json
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import stopping
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.compose import Runtime, load_runtime
from ollm_tui.runtime.model_lookup import PATIENCE_S

_HEAD = ("MODEL", "SIZE", "QUANT", "CONTEXT", "CAN", "LOADED", "MODIFIED")
Entry = tuple[ModelRef, ModelInfo]


def run_list(arguments: Arguments, output: Output) -> int:
    """List what there is."""
    load_for(default_paths(), os.environ, arguments.flags, output)
    return anyio.run(partial(_list, arguments, output))


async def _list(arguments: Arguments, output: Output) -> int:
    with stopping() as stop:
        async with load_runtime(arguments.flags, imports_tools=False)() as runtime:
            listings = await _asked(arguments, runtime)
        return _show(listings, output, arguments, runtime.catalog.shown_address)
    return stop.exit_code


async def _asked(arguments: Arguments, runtime: Runtime) -> Sequence[Listing]:
    """Ask everybody, or the one provider that was named."""
    if arguments.flags.provider is None:
        return await runtime.catalog.refresh(within_s=PATIENCE_S)
    adapter = await runtime.router.provider(arguments.flags.provider)
    return [await runtime.catalog.listing(adapter.name, within_s=PATIENCE_S)]


def _show(
    listings: Sequence[Listing],
    output: Output,
    arguments: Arguments,
    address: Callable[[ModelRef], str],
) -> int:
    found = [
        (ModelRef(listing.provider, info.name), info)
        for listing in listings
        for info in listing.models
    ]
    for listing in listings:
        if listing.problem is not None:
            output.error(listing.problem.message, listing.problem.hint)
    options = arguments.models
    shown = sorted_by(options.sort, [one for one in found if _fits(one, options.filter, address)])
    if arguments.as_json:
        output.json([info_to_json(ref, info) for ref, info in shown], indent=2)
    elif shown:
        output.table(_HEAD, [_row(address(ref), info) for ref, info in shown])
    if not shown:
        words = " ".join(options.filter)
        output.note(f"No model fits {words!r}." if found else "No models found.")
    return OK if shown else ERROR


def _fits(entry: Entry, words: Sequence[str], address: Callable[[ModelRef], str]) -> bool:
    """Whether all words stand in what is shown of a model."""
    ref, info = entry
    more = [info.details.get(key) for key in ("quantization", "family", "parameter_size")]
    known = [
        str(ref),
        address(ref),
        info.label,
        can_text(info),
        *(t for t in more if isinstance(t, str)),
    ]
    text = " ".join(part for part in known if part).casefold()
    return all(word.casefold() in text for word in words)


def sorted_by(column: str | None, found: Sequence[Entry]) -> list[Entry]:
    """Sort by a column, the unknown last; without one the order of the providers stays."""
    if column is None:
        return [*found]
    key, is_descending = _KEYS[column]
    known = [one for one in found if key(one) is not None]
    unknown = [one for one in found if key(one) is None]
    return [*sorted(known, key=key, reverse=is_descending), *unknown]


_KEYS: Mapping[str, tuple[Callable[[Entry], Any], bool]] = {
    "name": (lambda one: one[1].name.casefold(), False),
    "provider": (lambda one: (one[0].provider, one[1].name.casefold()), False),
    "size": (lambda one: one[1].size_bytes, True),
    "context": (lambda one: one[1].context, True),
    "modified": (lambda one: one[1].modified_at, True),
}


def _row(address: str, info: ModelInfo) -> tuple[str, ...]:
    quantization = info.details.get("quantization")
    return (
        address,
        size_text(info.size_bytes),
        quantization if isinstance(quantization, str) else "",
        str(info.context or ""),
        can_text(info),
        {True: "yes", False: "no", None: ""}[info.loaded],
        (info.modified_at or "")[:10],
    )
