"""Entries of the registry as rows of a table, and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ollm_tui.cli.model_format import Address
from ollm_tui.cli.output import size_text
from ollm_tui.library.entry_fit import EntryFit
from ollm_tui.library.fit import fit_short
from ollm_tui.library.machine import Machine
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.json_types import JsonObject

DescribeFit: TypeAlias = Callable[[RegistryEntry], str]
"""Says in a word or two whether a model fits this machine."""
_LONGEST = 60
_MOST_SIZES = 2
_UNITS = (("B", 10**9), ("M", 10**6), ("k", 10**3))
_COLUMNS: Mapping[str, Callable[[RegistryEntry], str]] = {
    "PARAMETERS": lambda entry: count_text(entry.parameters),
    "LICENCE": lambda entry: entry.licence or "",
    "PURPOSES": lambda entry: " ".join(_in_order(entry)),
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
    filled = [(name, [_short(cell(entry)) for entry in entries]) for name, cell in columns.items()]
    known = [(name, cells) for name, cells in filled if any(cells)]
    return [name for name, _ in known], [*zip(*(cells for _, cells in known), strict=True)]


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


def entry_json(entry: RegistryEntry) -> JsonObject:
    """Return all that is known of an entry."""
    return {
        "id": entry.id,
        "name": entry.name,
        "family": entry.family,
        "description": entry.description,
        "parameters": entry.parameters,
        "active_parameters": entry.active_parameters,
        "context": entry.context,
        "licence": entry.licence,
        "purposes": [*sorted(entry.purposes)],
        "skills": dict(entry.skills),
        "sizes": dict(entry.sizes),
        "origins": dict(entry.origins),
        "sources": list(entry.sources),
        "downloads": entry.downloads,
        "likes": entry.likes,
        "modified_at": entry.modified_at,
        "facts_at": entry.facts_at,
        "rating": entry.rating,
        "uses": entry.uses,
        "last_used_at": entry.last_used_at,
        "installed": [str(ref) for ref in entry.installed],
    }


def _in_order(entry: RegistryEntry) -> Sequence[str]:
    """What it is best at comes first."""
    return sorted(entry.purposes, key=lambda purpose: (-entry.skills.get(purpose, 0), purpose))


def _sizes(entry: RegistryEntry) -> str:
    smallest = sorted(entry.sizes.items(), key=lambda one: one[1])[:_MOST_SIZES]
    return ", ".join(f"{name} {size_text(size)}" for name, size in smallest)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
