"""`ModelRegistry`: the list built in, the hub, the engines and the user, as one catalogue."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import anyio.to_thread

from ollm_tui.library.hub.repo import Hub
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import HubFacts, RegistrySources, UserRecords, load_curated
from ollm_tui.library.registry.merge import merge, model_key, rating_names
from ollm_tui.library.registry.scoring import SearchEntry, search
from ollm_tui.library.registry.storage import (
    bounded,
    load_facts,
    load_user_records,
    save_facts,
    save_rating,
    save_use,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Stored: TypeAlias = tuple[Sequence[RegistryEntry], dict[str, HubFacts], UserRecords]

STARS = range(1, 6)
_KEYS = 10_000
"""Size of the cache of keys, which is kept between merges."""


class ModelRegistry:
    """All known models, installed or not; useful without a network.

    Files are read on first use: by `prepare` in a thread, else by the first search, which takes
    some milliseconds.
    """

    def __init__(
        self,
        *,
        opinions_file: Path,
        hub_file: Path,
        hub: Hub | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._opinions_file = opinions_file
        self._hub_file = hub_file
        self._hub = hub
        self._now = now
        self._key_of = lru_cache(_KEYS)(model_key)
        self._curated: Sequence[RegistryEntry] | None = None
        self._facts: dict[str, HubFacts] = {}
        self._user_records = UserRecords()
        self._installed: tuple[tuple[ModelRef, ModelInfo], ...] = ()
        self._merged: dict[str, SearchEntry] | None = None
        self._version = 0

    async def prepare(self) -> None:
        """Read and merge in a thread, so that searches are quick; a no-op if nothing is new."""
        if self._curated is None:
            read = await anyio.to_thread.run_sync(self._read)
            if self._curated is None:  # no other task was faster
                self._take(read)
        while self._merged is None:
            version, known = self._version, self._known()
            merged = await anyio.to_thread.run_sync(self._merge, known)
            if version == self._version:
                self._merged = merged

    def search(
        self, text: str = "", *, purpose: str | None = None, limit: int = 50
    ) -> Sequence[RegistryEntry]:
        """Search the known models: built-in, remembered from the hub, installed; no network."""
        known = self._entries().values()
        return search(known, text, purpose=purpose, now=self._now(), limit=limit)

    def entry(self, entry_id: str) -> RegistryEntry | None:
        """Return an entry by its id, or None if it does not exist."""
        searched = self._entries().get(entry_id)
        return None if searched is None else searched.entry

    def named(self, name: str) -> Sequence[RegistryEntry]:
        """Return the entries with exactly that id, name, origin or address."""
        known = self._entries()
        if name in known:
            return [known[name].entry]
        word = name.strip().casefold()
        return [one.entry for one in known.values() if one.is_called(word)]

    async def search_hub(self, text: str, *, limit: int = 30) -> Sequence[RegistryEntry]:
        """Search the hub too, save its results, and return all matches.

        Models that the hub found by words missing from its facts come last.

        Raises:
            AIError: the hub cannot be reached; `search` still works.
        """
        await self.prepare()
        if self._hub is None:
            raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "There is no hub to ask.")
        models = await self._hub.search(text, limit=limit)
        now = self._now()
        facts = [HubFacts(model, now) for model in models]
        self._facts = bounded([*self._facts.values(), *facts])
        self._changed()
        await self._write(partial(save_facts, self._hub_file, facts), "What the hub said")
        await self.prepare()
        matches = self.search(text, limit=limit + len(facts))
        shown = {entry.id for entry in matches}
        named = {model.repo.casefold() for model in models}
        new = [one for one in self._entries().values() if one.entry.id not in shown]
        others = [
            one for one in new if one.entry.origins.get("huggingface", "").casefold() in named
        ]
        return [*matches, *search(others, now=now)]

    def note_installed(self, models: Iterable[tuple[ModelRef, ModelInfo]]) -> None:
        """Replace the installed models with what the engines list now."""
        installed = tuple(models)
        if installed != self._installed:
            self._installed = installed
            self._changed()

    async def rate(self, entry_id: str, stars: int | None) -> RegistryEntry:
        """Store a rating, 1 to 5, or remove it with None.

        Raises:
            AIError: the entry does not exist, or the rating cannot be stored.
        """
        await self.prepare()
        entry = self.entry(entry_id)
        if entry is None:
            raise AIError(
                ErrorCode.MODEL_NOT_FOUND,
                f"The registry has no entry {entry_id!r}.",
                hint="`ollm models search` lists all models.",
            )
        if stars is not None and stars not in STARS:
            raise AIError(ErrorCode.BAD_REQUEST, "A rating is 1 to 5 stars.")
        over = rating_names(self._known(), entry_id, self._key_of)
        keep = partial(save_rating, self._opinions_file, entry_id, stars, self._now(), over=over)
        try:
            self._user_records = await anyio.to_thread.run_sync(keep)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise AIError(
                ErrorCode.INTERNAL_ERROR, f"The rating could not be kept: {reason}."
            ) from error
        self._changed()
        await self.prepare()
        return self.entry(entry_id) or entry

    async def note_use(self, ref: ModelRef) -> None:
        """Count a chat with a model; a failure to store it is logged."""
        await self.prepare()
        keep = partial(save_use, self._opinions_file, str(ref), self._now())
        opinions = await self._write(keep, "A use of a model")
        if opinions is not None:
            self._user_records = opinions
            self._changed()

    async def _write(self, keep: Callable[[], T], what: str) -> T | None:
        try:
            return await anyio.to_thread.run_sync(keep)
        except OSError as error:
            logger.warning("%s could not be kept: %s", what, error.strerror or error)
            return None

    def _read(self) -> _Stored:
        facts, opinions = load_facts(self._hub_file), load_user_records(self._opinions_file)
        return load_curated().entries, facts, opinions

    def _take(self, read: _Stored) -> None:
        self._curated, self._facts, self._user_records = read
        self._changed()

    def _entries(self) -> dict[str, SearchEntry]:
        if self._curated is None:
            self._take(self._read())
        if self._merged is None:
            self._merged = self._merge(self._known())
        return self._merged

    def _merge(self, known: RegistrySources) -> dict[str, SearchEntry]:
        return {entry.id: SearchEntry.of(entry) for entry in merge(known, self._key_of)}

    def _changed(self) -> None:
        self._merged = None
        self._version += 1

    def _known(self) -> RegistrySources:
        return RegistrySources(
            curated=self._curated or (),
            hub=tuple(self._facts.values()),
            installed=self._installed,
            opinions=self._user_records,
        )
