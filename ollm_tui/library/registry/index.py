"""Finds the entry that a name means, while entries are put together."""

from collections.abc import Callable, Sequence

from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.model_keys import hub_repo_in, model_key, untagged

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
