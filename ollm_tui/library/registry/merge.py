"""Merge everything known about a model into one entry; pure, and independent of the input's order.

A repository belongs to the entry of the built-in list that names it as origin. Any other becomes an
entry of its own and inherits what the list says of the same model. A model of an engine is matched
by the repository in its name, then by its key (see `model_keys`), then, for a name without a tag,
by its size.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ollm_tui.library.registry.entry import RegistryEntry, purposes_of_capability, purposes_of_tags
from ollm_tui.library.registry.known import HubFacts, KnownModels, Opinions, Rating, Use, newest
from ollm_tui.library.registry.model_keys import (
    active_parameters_in,
    hub_repo_in,
    model_key,
    parameters_in,
    untagged,
)
from ollm_tui.protocol.model import ModelInfo, ModelRef


def hub_entry(facts: HubFacts) -> RegistryEntry:
    """Give the entry of a repository of which only the hub tells."""
    model = facts.model
    return RegistryEntry(
        id=f"hf:{model.repo}",
        name=model.repo,
        family=model.architecture,
        parameters=model.parameters,
        active_parameters=active_parameters_in(model.repo),
        context=model.context,
        licence=model.licence,
        purposes=purposes_of_tags(model.tags),
        origins={"huggingface": model.repo},
        downloads=model.downloads,
        likes=model.likes,
        modified_at=model.modified_at,
        facts_at=facts.at,
    )


def installed_entry(ref: ModelRef, info: ModelInfo) -> RegistryEntry:
    """Give the entry of a model of which only an engine tells."""
    trained = info.details.get("context_trained")
    quantization, size = _text(info.details.get("quantization")), info.size_bytes
    return RegistryEntry(
        id=str(ref),
        name=info.name,
        family=_text(info.details.get("family")),
        description=info.description,
        parameters=parameters_in(info.details.get("parameter_size")),
        active_parameters=active_parameters_in(info.name),
        context=trained if isinstance(trained, int) and trained > 1 else None,
        purposes=purposes_of_capability(info.capability),
        sizes={quantization: size} if quantization and size is not None else {},
        installed=(ref,),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def fill_gaps(entry: RegistryEntry, other: RegistryEntry, *, same_files: bool) -> RegistryEntry:
    """Fill what is not known of a model from what else is said of it.

    What a hub counts and where a model can be had belong to its files: they are taken over only
    between descriptions of the same ones.
    """
    shared = replace(
        entry,
        family=entry.family or other.family,
        description=entry.description or other.description,
        parameters=entry.parameters if entry.parameters is not None else other.parameters,
        active_parameters=entry.active_parameters or other.active_parameters,
        context=entry.context if entry.context is not None else other.context,
        licence=entry.licence or other.licence,
        purposes=entry.purposes or other.purposes,
        skills=entry.skills or other.skills,
        sources=entry.sources or other.sources,
    )
    if not same_files:
        return shared
    return replace(
        shared,
        sizes={**other.sizes, **entry.sizes},
        origins={**other.origins, **entry.origins},
        downloads=entry.downloads if entry.downloads is not None else other.downloads,
        likes=entry.likes if entry.likes is not None else other.likes,
        modified_at=entry.modified_at or other.modified_at,
        facts_at=entry.facts_at if entry.facts_at is not None else other.facts_at,
    )


_NEAR = 0.15
"""How far a size may be off: engines round, and some count the embeddings twice."""


class RegistryIndex:
    """The names of entries; of two with one name the first that was added has it."""

    def __init__(
        self, curated: Sequence[RegistryEntry], key_of: Callable[[str], str] = model_key
    ) -> None:
        self._key_of = key_of
        self._repos: dict[str, list[str]] = {}
        self._keys: dict[str, str] = {}
        self._relatives: dict[str, str] = {}
        self._stems: dict[str, list[tuple[int, str]]] = {}
        shared = _repos_of_many(curated)
        for entry in curated:
            repo, tagged = entry.origins.get("huggingface"), entry.origins.get("ollama")
            names = [entry.id, entry.name]
            if repo is not None:
                self._repos.setdefault(repo.casefold(), []).append(entry.id)
                names += [] if repo.casefold() in shared else [repo]
            # A hub's name without `Instruct` means the untuned model, an Ollama name does not:
            # repositories are related by names of the first kind only.
            for name in names:
                self._relatives.setdefault(self._key_of(name), entry.id)
            for name in [*names, tagged] if tagged else names:
                self._keys.setdefault(self._key_of(name), entry.id)
            if tagged and entry.parameters:
                stem = self._key_of(tagged.partition(":")[0])
                self._stems.setdefault(stem, []).append((entry.parameters, entry.id))

    def add_repo(self, entry_id: str, repo: str) -> None:
        """Enter a repository that is no origin of the built-in list."""
        self._repos.setdefault(repo.casefold(), []).append(entry_id)
        self._keys.setdefault(self._key_of(repo), entry_id)

    def add_name(self, entry_id: str, name: str) -> None:
        """Enter a model that only an engine knows."""
        self._keys.setdefault(self._key_of(name), entry_id)

    def by_repo(self, repo: str) -> Sequence[str]:
        """Give the entries whose files are in a repository."""
        return self._repos.get(repo.casefold(), ())

    def relative(self, repo: str) -> str | None:
        """Give the entry of the built-in list that a repository has other files of."""
        return self._relatives.get(self._key_of(repo))

    def by_name(self, name: str, parameters: int | None) -> str | None:
        """Give the entry of a model as an engine names it."""
        repo = hub_repo_in(name)
        owners = self.by_repo(repo) if repo else ()
        if len(owners) == 1:
            return owners[0]
        found = self._keys.get(self._key_of(name))
        return found if found is not None else self._by_size(name, parameters)

    def _by_size(self, name: str, parameters: int | None) -> str | None:
        stem = untagged(name)
        if stem is None or not parameters:
            return None
        off = [(abs(size - parameters), size, one) for size, one in self._stems.get(stem, ())]
        near = [(distance, one) for distance, size, one in off if distance <= _NEAR * size]
        return min(near)[1] if near else None


def _repos_of_many(curated: Sequence[RegistryEntry]) -> frozenset[str]:
    """Give repositories that hold several models: their name is none of them."""
    repos = [entry.origins.get("huggingface", "").casefold() for entry in curated]
    return frozenset(repo for repo in repos if repos.count(repo) > 1)


KeyOf: TypeAlias = Callable[[str], str]
_OwnerOf: TypeAlias = Callable[[str], str | None]


def merge(known: KnownModels, key_of: KeyOf = model_key) -> tuple[RegistryEntry, ...]:
    """Put together what is known; each id comes once. `key_of` may remember what it gave."""
    entries, owner_of = _described(known, key_of)
    _add_ratings(entries, owner_of, known.opinions)
    _add_uses(entries, owner_of, known.opinions)
    return tuple(entries.values())


def rating_names(known: KnownModels, entry_id: str, key_of: KeyOf = model_key) -> frozenset[str]:
    """Give the names under which one entry was rated: it may have had others before."""
    _, owner_of = _described(known, key_of)
    rated = known.opinions.ratings
    return frozenset(name for name in rated if (owner_of(name) or name) == entry_id)


def _described(known: KnownModels, key_of: KeyOf) -> tuple[dict[str, RegistryEntry], _OwnerOf]:
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
            entries[owner] = fill_gaps(entries[owner], told, same_files=True)
        if not owners:
            relative = finder.relative(fact.model.repo)
            if relative is not None:
                told = fill_gaps(told, entries[relative], same_files=False)
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
            entry = fill_gaps(entries[owner], told, same_files=only_here)
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
