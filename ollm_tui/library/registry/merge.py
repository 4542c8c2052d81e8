"""One entry for each model, from all that is said of it; pure, and blind to the order it comes in.

A repository is the entry of the built-in list whose origin it is, else one of its own that takes
over what the list says of the same model. A model of an engine is found by the repository in its
name, then by its key (see `names`), then by its size where the name has no tag.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.facts import filled, hub_entry, installed_entry
from ollm_tui.library.registry.index import RegistryIndex
from ollm_tui.library.registry.known import HubFacts, Known, Opinions, Rating, Use, newest
from ollm_tui.library.registry.model_keys import model_key
from ollm_tui.protocol.model import ModelInfo, ModelRef

KeyOf: TypeAlias = Callable[[str], str]
_OwnerOf: TypeAlias = Callable[[str], str | None]


def merge(known: Known, key_of: KeyOf = model_key) -> tuple[RegistryEntry, ...]:
    """Put together what is known; each id comes once. `key_of` may remember what it gave."""
    entries, owner_of = _described(known, key_of)
    _add_ratings(entries, owner_of, known.opinions)
    _add_uses(entries, owner_of, known.opinions)
    return tuple(entries.values())


def rated_as(known: Known, entry_id: str, key_of: KeyOf = model_key) -> frozenset[str]:
    """Give the names under which one entry was rated: it may have had others before."""
    _, owner_of = _described(known, key_of)
    rated = known.opinions.ratings
    return frozenset(name for name in rated if (owner_of(name) or name) == entry_id)


def _described(known: Known, key_of: KeyOf) -> tuple[dict[str, RegistryEntry], _OwnerOf]:
    """Give the entries without what the person says, and what finds the entry of a name."""
    entries = {entry.id: entry for entry in known.curated}
    finder = RegistryIndex(known.curated, key_of)
    _add_hub(entries, finder, newest(known.hub))
    places = _add_installed(entries, finder, known.installed)
    return entries, partial(_owner, frozenset(entries), finder, places)


def _add_hub(
    entries: dict[str, RegistryEntry], finder: RegistryIndex, facts: Mapping[str, HubFacts]
) -> None:
    # The most downloaded comes first: a model of an engine that only shares its key goes there.
    ordered = sorted(facts.items(), key=lambda item: (-(item[1].model.downloads or 0), item[0]))
    for _, fact in ordered:
        told = hub_entry(fact)
        owners = finder.by_repo(fact.model.repo)
        for owner in owners:
            entries[owner] = filled(entries[owner], told, same_files=True)
        if not owners:
            relative = finder.relative(fact.model.repo)
            if relative is not None:
                told = filled(told, entries[relative], same_files=False)
            entries[told.id] = told
            finder.add_repo(told.id, fact.model.repo)


def _add_installed(
    entries: dict[str, RegistryEntry],
    finder: RegistryIndex,
    installed: Iterable[tuple[ModelRef, ModelInfo]],
) -> dict[str, str]:
    """Give the id of the entry at which each address is now."""
    places: dict[str, str] = {}
    for address, (ref, info) in sorted(_once(installed).items()):
        told = installed_entry(ref, info)
        owner = finder.by_name(ref.model, told.parameters)
        if owner is None:
            entries[told.id] = told
            finder.add_name(told.id, ref.model)
            owner = told.id
        else:
            only_here = not entries[owner].origins
            entry = filled(entries[owner], told, same_files=only_here)
            entries[owner] = replace(entry, installed=(*entry.installed, ref))
        places[address] = owner
    return places


def _once(
    installed: Iterable[tuple[ModelRef, ModelInfo]],
) -> dict[str, tuple[ModelRef, ModelInfo]]:
    kept: dict[str, tuple[ModelRef, ModelInfo]] = {}
    for ref, info in installed:
        known = kept.setdefault(str(ref), (ref, info))[1]
        if known is not info and repr(info) < repr(known):  # any rule, as long as it is one
            kept[str(ref)] = ref, info
    return kept


def _add_ratings(entries: dict[str, RegistryEntry], owner_of: _OwnerOf, said: Opinions) -> None:
    kept: dict[str, tuple[bool, float, int]] = {}
    for rated, rating in sorted(said.ratings.items()):
        owner = owner_of(rated)
        if owner is None:  # what a person said of it is shown, so that it can be taken back
            owner = rated
            entries[rated] = RegistryEntry(id=rated, name=_bare(rated), origins=_origin(rated))
        kept[owner] = max(kept.get(owner, (False, 0.0, 0)), _weight(rated == owner, rating))
    for owner, (_, _, stars) in kept.items():
        entries[owner] = replace(entries[owner], rating=stars)


def _add_uses(entries: dict[str, RegistryEntry], owner_of: _OwnerOf, said: Opinions) -> None:
    for address, use in sorted(said.uses.items()):
        owner = owner_of(address)
        if owner is not None:
            entries[owner] = _used(entries[owner], use)


def _used(entry: RegistryEntry, use: Use) -> RegistryEntry:
    last = max(use.last_at, entry.last_used_at or use.last_at)
    return replace(entry, uses=entry.uses + use.count, last_used_at=last)


def _weight(is_own: bool, rating: Rating) -> tuple[bool, float, int]:
    return is_own, rating.at, rating.stars


def _owner(
    ids: frozenset[str], finder: RegistryIndex, places: Mapping[str, str], name: str
) -> str | None:
    if name in ids:
        return name
    if name in places:
        return places[name]
    if name.startswith("hf:"):
        owners = finder.by_repo(name.removeprefix("hf:"))
        return owners[0] if owners else None
    ref = ModelRef.parse(name)
    return None if ref is None else finder.by_name(ref.model, None)


def _bare(rated: str) -> str:
    ref = ModelRef.parse(rated)
    return ref.model if ref is not None else rated.removeprefix("hf:")


def _origin(rated: str) -> dict[str, str]:
    return {"huggingface": rated.removeprefix("hf:")} if rated.startswith("hf:") else {}
