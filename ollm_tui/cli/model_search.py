"""`ollm models search` and `rate`: models of the registry, as rows of a table and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_format import Address
from ollm_tui.cli.model_runtime import in_runtime
from ollm_tui.cli.models_arguments import ModelOptions
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.config.checks import without_alias
from ollm_tui.decode.counted import size_text
from ollm_tui.library.fit import fit_short
from ollm_tui.library.fitting import EntryFit
from ollm_tui.library.machine import Machine
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import TIMEOUT_S

MAX_RESULTS = 50
"""Entries that are shown."""
_NAMED = 5
DescribeFit: TypeAlias = Callable[[RegistryEntry], str]
"""Returns a word or two on whether a model fits this machine."""
_MAX_LENGTH = 60
_MAX_SIZES = 2
_UNITS = (("B", 10**9), ("M", 10**6), ("k", 10**3))


def run_search(arguments: Arguments, output: Output) -> int:
    """List matching models, the best first."""
    entries, machine, address = in_runtime(
        arguments, output, partial(_search, arguments.models, output)
    )
    shown = entries[:MAX_RESULTS]
    if arguments.as_json:
        output.json([entry_json(entry) for entry in shown], indent=2)
    elif shown:
        output.table(*table_of(shown, address, fit_column(machine)))
    if not shown:
        output.note("No models found. Try fewer words.")
    elif len(entries) > MAX_RESULTS:
        output.note(f"These are the first {MAX_RESULTS}; add words to narrow the search.")
    return OK if shown else ERROR


def run_rate(arguments: Arguments, output: Output) -> int:
    """Save a rating."""
    entry = in_runtime(arguments, output, partial(_rate, arguments))
    if arguments.as_json:
        output.json(entry_json(entry), indent=2)
    else:
        stars = entry.rating
        output.line(f"{entry.name}: {'no rating' if stars is None else f'{stars} of 5'}")
    return OK


async def _search(
    options: ModelOptions, output: Output, runtime: Runtime
) -> tuple[Sequence[RegistryEntry], Machine, Address]:
    registry = runtime.model_registry
    beyond: list[RegistryEntry] = []
    machine = Machine()

    async def ask_hub() -> None:
        try:
            beyond.extend(await registry.search_hub(options.text))
        except AIError as error:
            output.error(error.message, error.hint)
            output.note("Searched the built-in list, the cache and the installed models.")

    async def look_at_machine() -> None:
        nonlocal machine
        machine = await runtime.machine()

    async with anyio.create_task_group() as group:
        group.start_soon(_note_installed, runtime.catalog, registry)
        group.start_soon(look_at_machine)
        if not options.offline:
            group.start_soon(ask_hub)
    entries = registry.search(options.text, purpose=options.purpose, limit=MAX_RESULTS + 1)
    # What the hub finds by words that are in none of its facts comes last.
    known = {entry.id for entry in entries}
    named = [registry.entry(entry.id) or entry for entry in beyond if entry.id not in known]
    fitting = [one for one in named if options.purpose in {None, *one.purposes}]
    return [*entries, *fitting], machine, runtime.catalog.shown_address


async def _rate(arguments: Arguments, runtime: Runtime) -> RegistryEntry:
    registry = runtime.model_registry
    await registry.prepare()
    name = without_alias(arguments.name, runtime.config.aliases)
    matches = registry.named(name)
    if not matches:  # it may be one that only an engine knows
        await _note_installed(runtime.catalog, registry)
        matches = registry.named(name)
    entry = _single_match(registry, name, matches, runtime.catalog.shown_address)
    return await registry.rate(entry.id, arguments.models.stars)


def _single_match(
    registry: ModelRegistry, name: str, matches: Sequence[RegistryEntry], address: Address
) -> RegistryEntry:
    if len(matches) > 1:
        ids = ", ".join(shown_id(entry, address) for entry in matches[:_NAMED])
        raise UsageError(f"{name!r} is the name of several models.", f"Use one of: {ids}")
    if matches:
        return matches[0]
    near = [shown_id(entry, address) for entry in registry.search(name, limit=_NAMED)]
    raise AIError(
        ErrorCode.MODEL_NOT_FOUND,
        f"The registry has no model named {name!r}.",
        hint=f"Similar names: {', '.join(near)}"
        if near
        else "`ollm models search` lists all models.",
    )


async def _note_installed(catalog: ModelCatalog, registry: ModelRegistry) -> None:
    """Mark installed models; a server that does not answer has none."""
    listings = await catalog.refresh(within_s=TIMEOUT_S, services=False)
    registry.note_installed(
        (ModelRef(listing.provider, info.name), info)
        for listing in listings
        for info in listing.models
    )


_COLUMNS: Mapping[str, Callable[[RegistryEntry], str]] = {
    "PARAMETERS": lambda entry: count_text(entry.parameters),
    "LICENCE": lambda entry: entry.licence or "",
    "PURPOSES": lambda entry: " ".join(
        sorted(entry.purposes, key=lambda purpose: (-entry.skills.get(purpose, 0), purpose))
    ),
    "SIZES": lambda entry: _sizes(entry),
    "OLLAMA": lambda entry: entry.origins.get("ollama", ""),
    "DOWNLOADS": lambda entry: count_text(entry.downloads),
    "RATING": lambda entry: "" if entry.rating is None else f"{entry.rating} of 5",
}


def table_of(
    entries: Sequence[RegistryEntry], address: Address, describe_fit: DescribeFit | None = None
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return head and rows; a column in which nothing is known is left out."""
    columns: dict[str, Callable[[RegistryEntry], str]] = {
        "MODEL": lambda entry: shown_id(entry, address),
        **_COLUMNS,
        "HERE": lambda entry: " ".join(map(address, entry.installed)),
    }
    if describe_fit is not None:
        columns["FITS"] = describe_fit
    filled = {name: [_short(cell(entry)) for entry in entries] for name, cell in columns.items()}
    known = {name: cells for name, cells in filled.items() if any(cells)}
    return [*known], [*zip(*known.values(), strict=True)]


def shown_id(entry: RegistryEntry, address: Address) -> str:
    """Return an entry's id; that of a model which only an engine knows is its address."""
    return next((address(ref) for ref in entry.installed if str(ref) == entry.id), entry.id)


def fit_column(machine: Machine) -> DescribeFit | None:
    """Return a function that names the best size of a model for this machine, and how it fits.

    None where nothing is known of the machine.
    """
    if machine.ram_free is None and not machine.gpus:
        return None
    fits = EntryFit(machine)

    def describe_fit(entry: RegistryEntry) -> str:
        best = fits.best_of(entry)
        if best is None or best.fit is None:
            return ""
        verdict = fit_short(best.fit)
        is_named = not best.is_estimate and best.fit.verdict != "no"
        return f"{best.quantization}: {verdict}" if is_named else verdict

    return describe_fit


def count_text(count: int | None) -> str:
    """Return a count in three digits at most: `8.2B`, `596M`; nothing for an unknown one."""
    if count is None or count < 0:
        return ""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0").rjust(1) + unit
    return str(count)


_FACTS = (
    *("id", "name", "family", "description", "parameters", "active_parameters", "context"),
    *("licence", "purposes", "skills", "sizes", "origins", "sources", "downloads", "likes"),
    *("modified_at", "facts_at", "rating", "uses", "last_used_at", "installed"),
)


def entry_json(entry: RegistryEntry) -> JsonObject:
    """Return all that is known of an entry."""
    shapes: dict[str, JsonValue] = {
        "purposes": [*sorted(entry.purposes)],
        "skills": dict(entry.skills),
        "sizes": dict(entry.sizes),
        "origins": dict(entry.origins),
        "sources": list(entry.sources),
        "installed": [str(ref) for ref in entry.installed],
    }
    return {name: shapes.get(name, getattr(entry, name)) for name in _FACTS}


def _sizes(entry: RegistryEntry) -> str:
    smallest = sorted(entry.sizes.items(), key=lambda one: one[1])[:_MAX_SIZES]
    return ", ".join(f"{name} {size_text(size)}" for name, size in smallest)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
