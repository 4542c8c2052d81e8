"""Merge everything known about a model into one entry; pure, and independent of the input's order.

A repository belongs to the entry of the built-in list that names it as origin. Any other becomes an
entry of its own and inherits what the list says of the same model. A model of an engine is matched
by the repository in its name, then by its key, then, for a name without a tag, by its size.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from ollm_tui.lazy import lazy_re
from ollm_tui.library.file_names import SUFFIX, shard_of
from ollm_tui.library.registry.entry import RegistryEntry, purposes_of_capability, purposes_of_tags
from ollm_tui.library.registry.known import HubFacts, RegistrySources, UserRecords, newest
from ollm_tui.protocol.model import ModelInfo, ModelRef

MAX_NAME_CHARS: Final = 300
"""The rest of a longer name is ignored."""
_QUANTIZATION: Final = lazy_re(
    r"(?<![a-z0-9])(?:ud[-_])?"
    r"(?:i?q[1-8](?:_[a-z0-9]{1,4}){0,3}|b?f16|bf16|fp16|f32|fp32|mxfp4(?:_moe)?|tq[12]_0)"
    r"(?![a-z0-9])"
)
_PUBLISHER: Final = lazy_re(
    r"^(?:qwen|google|microsoft|mistralai|meta-llama|deepseek-ai|openai|nvidia|ibm-granite"
    r"|huggingfacetb|allenai|coherelabs|cohereforai|utter-project|zai-org|thudm|moonshotai"
    r"|baidu|tencent|bytedance-seed|internlm|nousresearch|arcee-ai|liquidai|tiiuae)_"
)
_SEPARATORS: Final = lazy_re(r"[\s:/_-]+")
_JOINTS: Final = lazy_re(r"(?<=[a-z]{2})(?=\d)|(?<=\d)(?=[a-z]{2})")
_NOISE: Final = frozenset({"gguf", "latest", "imat", "imatrix", "i1", "meta", "ggml"})
_HUB_HOSTS: Final = ("hf.co/", "huggingface.co/")
_SIZE: Final = lazy_re(r"^\s*(\d{1,6}(?:\.\d{1,6})?)\s*([kmbt])", re.IGNORECASE)
_ACTIVE: Final = lazy_re(r"(?<![a-z0-9.])a(\d{1,3}(?:\.\d{1,3})?)b(?![a-z0-9])", re.IGNORECASE)
_UNITS: Final = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_NEAR = 0.15
"""Relative tolerance of sizes: engines round, and some count the embeddings twice."""
_OF_THE_MODEL: Final = (
    "family", "description", "parameters", "active_parameters", "context", "licence", "purposes",
    "skills", "sources",
)  # fmt: skip
_OF_THE_FILES: Final = ("downloads", "likes", "modified_at", "facts_at")
KeyOf: TypeAlias = Callable[[str], str]
_OwnerOf: TypeAlias = Callable[[str], str | None]


def model_key(name: str) -> str:
    """Return the key of a name; spellings of the same model share it.

    `bartowski/Qwen_Qwen3-8B-GGUF`, `Qwen3-8B-Q4_K_M.gguf` and `qwen3:8b` have the key `qwen-3-8b`.
    Words that name another model stay: `Instruct`, `Base`, `2507`, `Coder`.
    """
    full = name[:MAX_NAME_CHARS].casefold().strip()
    text = full.rpartition("/")[2] or full
    text = text.removesuffix(SUFFIX)
    shard = shard_of(text)
    text = shard.name if shard else text
    text = _PUBLISHER.sub("", _QUANTIZATION.sub("", text))
    words = [word.strip(".") for word in _SEPARATORS.split(_JOINTS.sub("-", text))]
    return "-".join([word for word in words if word and word not in _NOISE]) or full


def hub_repo_in(name: str) -> str | None:
    """Return the repository in a name like `hf.co/owner/name:Q4_K_M`, in lower case."""
    text = name[:MAX_NAME_CHARS].casefold()
    host = next((host for host in _HUB_HOSTS if text.startswith(host)), "")
    repo = text.removeprefix(host).partition(":")[0]
    owner, mark, leaf = repo.partition("/")
    return repo if mark and owner and leaf and "/" not in leaf else None


def untagged(name: str) -> str | None:
    """Return the key of a name without its tag, if that has no size: `llama3.2:latest`."""
    stem, _, tag = name[:MAX_NAME_CHARS].partition(":")
    return model_key(stem) if tag in {"", "latest"} else None


def parameters_in(text: object) -> int | None:
    """Parse a parameter count as engines write it: `8.2B`, `137M`."""
    match = _SIZE.match(text[:32]) if isinstance(text, str) else None
    return round(float(match[1]) * _UNITS[match[2].lower()]) if match else None


def active_parameters_in(name: str) -> int | None:
    """Parse the active parameters in a name like `Qwen3-30B-A3B`."""
    match = _ACTIVE.search(name[:MAX_NAME_CHARS])
    return round(float(match[1]) * _UNITS["b"]) or None if match else None


def hub_entry(facts: HubFacts) -> RegistryEntry:
    """Return the entry of a repository that only the hub knows."""
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
    """Return the entry of a model that only an engine knows."""
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
    """Fill the gaps of an entry from another description of the same model.

    Origins, sizes and the hub's counts belong to files: they are only taken from descriptions of
    the same files.
    """
    filled = replace(entry, **_gaps(entry, other, _OF_THE_MODEL))
    if not same_files:
        return filled
    return replace(
        filled,
        sizes={**other.sizes, **entry.sizes},
        origins={**other.origins, **entry.origins},
        **_gaps(entry, other, _OF_THE_FILES),
    )


def _gaps(entry: RegistryEntry, other: RegistryEntry, names: Iterable[str]) -> dict[str, Any]:
    """Return what another description says of the fields that are empty; 0 is not empty."""
    gaps = {}
    for name in names:
        known = getattr(entry, name)
        if not known and known != 0:
            gaps[name] = getattr(other, name)
    return gaps


class RegistryIndex:
    """Entries by name; of two with one name, the first one added has it."""

    def __init__(
        self, curated: Sequence[RegistryEntry], key_of: Callable[[str], str] = model_key
    ) -> None:
        self._key_of = key_of
        self._repos: dict[str, list[str]] = {}
        self._keys: dict[str, str] = {}
        self._relatives: dict[str, str] = {}
        self._stems: dict[str, list[tuple[int, str]]] = {}
        # The name of a repository with several models means none of them.
        repos = Counter(entry.origins.get("huggingface", "").casefold() for entry in curated)
        for entry in curated:
            repo, tagged = entry.origins.get("huggingface"), entry.origins.get("ollama")
            names = [entry.id, entry.name]
            if repo is not None:
                self._repos.setdefault(repo.casefold(), []).append(entry.id)
                names += [] if repos[repo.casefold()] > 1 else [repo]
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
        """Add a repository that is no origin in the built-in list."""
        self._repos.setdefault(repo.casefold(), []).append(entry_id)
        self._keys.setdefault(self._key_of(repo), entry_id)

    def add_name(self, entry_id: str, name: str) -> None:
        """Add a model that only an engine knows."""
        self._keys.setdefault(self._key_of(name), entry_id)

    def by_repo(self, repo: str) -> Sequence[str]:
        """Return the ids of entries whose files are in a repository."""
        return self._repos.get(repo.casefold(), ())

    def relative(self, repo: str) -> str | None:
        """Return the id in the built-in list of the model that a repository has other files of."""
        return self._relatives.get(self._key_of(repo))

    def by_name(self, name: str, parameters: int | None) -> str | None:
        """Return the id of a model by its name in an engine."""
        repo = hub_repo_in(name)
        owners = self.by_repo(repo) if repo else ()
        if len(owners) == 1:
            return owners[0]
        entry_id = self._keys.get(self._key_of(name))
        return entry_id if entry_id is not None else self._by_size(name, parameters)

    def _by_size(self, name: str, parameters: int | None) -> str | None:
        stem = untagged(name)
        if stem is None or not parameters:
            return None
        off = [(abs(size - parameters), size, one) for size, one in self._stems.get(stem, ())]
        near = [(distance, one) for distance, size, one in off if distance <= _NEAR * size]
        return min(near)[1] if near else None


def merge(known: RegistrySources, key_of: KeyOf = model_key) -> tuple[RegistryEntry, ...]:
    """Return the merged entries, one for each id; `key_of` may cache."""
    entries, owner_of = _merged(known, key_of)
    _add_ratings(entries, owner_of, known.opinions)
    _add_uses(entries, owner_of, known.opinions)
    return tuple(entries.values())


def rating_names(
    known: RegistrySources, entry_id: str, key_of: KeyOf = model_key
) -> frozenset[str]:
    """Return the ids under which an entry was rated: it may have had others before."""
    _, owner_of = _merged(known, key_of)
    rated = known.opinions.ratings
    return frozenset(name for name in rated if (owner_of(name) or name) == entry_id)


def _merged(known: RegistrySources, key_of: KeyOf) -> tuple[dict[str, RegistryEntry], _OwnerOf]:
    """Return the entries without ratings and uses, and a function from names to ids."""
    entries = {entry.id: entry for entry in known.curated}
    index = RegistryIndex(known.curated, key_of)
    _add_hub(entries, index, newest(known.hub))
    owners_of = _add_installed(entries, index, known.installed)
    return entries, partial(_owner, frozenset(entries), index, owners_of)


def _add_hub(
    entries: dict[str, RegistryEntry], index: RegistryIndex, facts: Mapping[str, HubFacts]
) -> None:
    # The most downloaded first: it gets the models of engines that only share its key.
    ordered = sorted(facts.items(), key=lambda item: (-(item[1].model.downloads or 0), item[0]))
    for _, fact in ordered:
        entry = hub_entry(fact)
        owners = index.by_repo(fact.model.repo)
        for owner in owners:
            entries[owner] = fill_gaps(entries[owner], entry, same_files=True)
        if not owners:
            relative = index.relative(fact.model.repo)
            if relative is not None:
                entry = fill_gaps(entry, entries[relative], same_files=False)
            entries[entry.id] = entry
            index.add_repo(entry.id, fact.model.repo)


def _add_installed(
    entries: dict[str, RegistryEntry],
    index: RegistryIndex,
    installed: Iterable[tuple[ModelRef, ModelInfo]],
) -> dict[str, str]:
    """Add the installed models; return the entry id of each address."""
    owners_of: dict[str, str] = {}
    for address, (ref, info) in sorted(_once(installed).items()):
        installed_as = installed_entry(ref, info)
        owner = index.by_name(ref.model, installed_as.parameters)
        if owner is None:
            entries[installed_as.id] = installed_as
            index.add_name(installed_as.id, ref.model)
            owner = installed_as.id
        else:
            only_here = not entries[owner].origins
            entry = fill_gaps(entries[owner], installed_as, same_files=only_here)
            entries[owner] = replace(entry, installed=(*entry.installed, ref))
        owners_of[address] = owner
    return owners_of


def _once(installed: Iterable[tuple[ModelRef, ModelInfo]]) -> dict[str, tuple[ModelRef, ModelInfo]]:
    kept: dict[str, tuple[ModelRef, ModelInfo]] = {}
    for ref, info in installed:
        known = kept.setdefault(str(ref), (ref, info))[1]
        if known is not info and repr(info) < repr(known):  # any rule, as long as it is stable
            kept[str(ref)] = ref, info
    return kept


def _add_ratings(
    entries: dict[str, RegistryEntry], owner_of: _OwnerOf, opinions: UserRecords
) -> None:
    kept: dict[str, tuple[bool, float, int]] = {}
    for rated, rating in sorted(opinions.ratings.items()):
        owner = owner_of(rated)
        if owner is None:  # shown all the same, so that the rating can be removed
            owner = rated
            entries[rated] = RegistryEntry(id=rated, name=_bare(rated), origins=_origin(rated))
        weight = (rated == owner, rating.at, rating.stars)
        kept[owner] = max(kept.get(owner, weight), weight)
    for owner, (_, _, stars) in kept.items():
        entries[owner] = replace(entries[owner], rating=stars)


def _add_uses(entries: dict[str, RegistryEntry], owner_of: _OwnerOf, opinions: UserRecords) -> None:
    for address, use in sorted(opinions.uses.items()):
        owner = owner_of(address)
        if owner is not None:
            entry = entries[owner]
            last = max(use.last_at, entry.last_used_at or use.last_at)
            entries[owner] = replace(entry, uses=entry.uses + use.count, last_used_at=last)


def _owner(
    ids: frozenset[str], index: RegistryIndex, owners_of: Mapping[str, str], name: str
) -> str | None:
    if name in ids:
        return name
    if name in owners_of:
        return owners_of[name]
    if name.startswith("hf:"):
        owners = index.by_repo(name.removeprefix("hf:"))
        return owners[0] if owners else None
    ref = ModelRef.parse(name)
    return None if ref is None else index.by_name(ref.model, None)


def _bare(rated: str) -> str:
    ref = ModelRef.parse(rated)
    return ref.model if ref is not None else rated.removeprefix("hf:")


def _origin(rated: str) -> dict[str, str]:
    return {"huggingface": rated.removeprefix("hf:")} if rated.startswith("hf:") else {}
