"""`ollm models search` and `rate`: models that can be had, and what the person thinks of them."""

from collections.abc import Sequence
from functools import partial

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_format import Address
from ollm_tui.cli.model_runtime import in_runtime
from ollm_tui.cli.models_arguments import RegistryOptions
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.registry_rows import entry_json, fit_column, shown_id, table_of
from ollm_tui.config.checks import without_alias
from ollm_tui.library.machine import Machine
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import PATIENCE_S

MOST = 50
"""Entries that are shown."""
_NAMED = 5


def run_search(arguments: Arguments, output: Output) -> int:
    """List matching models, the best first."""
    entries, machine, address = in_runtime(
        arguments, output, partial(_search, arguments.registry, output)
    )
    shown = entries[:MOST]
    if arguments.as_json:
        output.json([entry_json(entry) for entry in shown], indent=2)
    elif shown:
        output.table(*table_of(shown, address, fit_column(machine)))
    if not shown:
        output.note("No models found. Try fewer words.")
    elif len(entries) > MOST:
        output.note(f"These are the first {MOST}; add words to narrow the search.")
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
    options: RegistryOptions, output: Output, runtime: Runtime
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
    entries = registry.search(options.text, purpose=options.purpose, limit=MOST + 1)
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
    return await registry.rate(entry.id, arguments.registry.stars)


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
    listings = await catalog.refresh(within_s=PATIENCE_S, services=False)
    registry.note_installed(
        (ModelRef(listing.provider, info.name), info)
        for listing in listings
        for info in listing.models
    )
