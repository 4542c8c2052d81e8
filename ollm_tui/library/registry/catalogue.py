"""`ModelRegistry`: the list built in, the hub, the engines and the person, as one catalogue."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import anyio.to_thread

from ollm_tui.library.hub.repo import Hub
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import HubFacts, KnownModels, Opinions, load_curated
from ollm_tui.library.registry.merge import merge, rating_names
from ollm_tui.library.registry.model_keys import model_key
from ollm_tui.library.registry.scoring import SearchEntry, search
from ollm_tui.library.registry.storage import (
    bounded,
    load_facts,
    load_opinions,
    save_facts,
    save_rating,
    save_use,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Kept: TypeAlias = tuple[Sequence[RegistryEntry], dict[str, HubFacts], Opinions]

STARS = range(1, 6)
_KEYS = 10_000
"""Names whose keys are remembered between two merges."""


class ModelRegistry:
    """All models that are known; see `registry.ports.Registry`.

    Nothing is read before something is asked: `prepare` reads in a thread, and a search that comes
    first reads at once, some milliseconds.
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
        self._opinions = Opinions()
        self._installed: tuple[tuple[ModelRef, ModelInfo], ...] = ()
        self._merged: dict[str, SearchEntry] | None = None
        self._version = 0

    async def prepare(self) -> None:
        """Read and put together in a thread, so that the next search only has to look.

        It may be called at any time; where nothing is new it does nothing.
        """
        if self._curated is None:
            read = await anyio.to_thread.run_sync(self._read)
            if self._curated is None:  # nobody was faster
                self._take(read)
        while self._merged is None:
            version, known = self._version, self._known()
            merged = await anyio.to_thread.run_sync(self._put_together, known)
            if version == self._version:
                self._merged = merged

    def search(
        self, text: str = "", *, purpose: str | None = None, limit: int = 50
    ) -> Sequence[RegistryEntry]:
        """Find among what is known: built in, remembered of the hub, installed; asks nobody."""
        known = self._entries().values()
        return search(known, text, purpose=purpose, now=self._now(), limit=limit)

    def entry(self, entry_id: str) -> RegistryEntry | None:
        """Give one entry by its id."""
        found = self._entries().get(entry_id)
        return None if found is None else found.entry

    def named(self, name: str) -> Sequence[RegistryEntry]:
        """Give the entries of exactly that id, name, origin or address; an id is only one's."""
        known = self._entries()
        if name in known:
            return [known[name].entry]
        word = name.strip().casefold()
        return [one.entry for one in known.values() if one.is_called(word)]

    async def search_hub(self, text: str, *, limit: int = 30) -> Sequence[RegistryEntry]:
        """Ask the hub too, remember what it says, and give all that fits.

        What the hub finds by words that are in none of its facts comes last.

        Raises:
            AIError: the hub cannot be asked; `search` still answers.
        """
        await self.prepare()
        if self._hub is None:
            raise AIError(ErrorCode.UNSUPPORTED_FEATURE, "There is no hub to ask.")
        models = await self._hub.search(text, limit=limit)
        now = self._now()
        said = [HubFacts(model, now) for model in models]
        self._facts = bounded([*self._facts.values(), *said])
        self._changed()
        await self._write(partial(save_facts, self._hub_file, said), "What the hub said")
        await self.prepare()
        fitting = self.search(text, limit=limit + len(said))
        shown = {entry.id for entry in fitting}
        named = {model.repo.casefold() for model in models}
        others = [
            one
            for one in self._entries().values()
            if one.entry.origins.get("huggingface", "").casefold() in named
            and one.entry.id not in shown
        ]
        return [*fitting, *search(others, now=now)]

    def note_installed(self, models: Iterable[tuple[ModelRef, ModelInfo]]) -> None:
        """Take what the engines list, in place of what they listed before."""
        installed = tuple(models)
        if installed != self._installed:
            self._installed = installed
            self._changed()

    async def rate(self, entry_id: str, stars: int | None) -> RegistryEntry:
        """Keep the person's rating, 1 to 5; None takes it back.

        Raises:
            AIError: there is no such entry, or it cannot be written.
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
            self._opinions = await anyio.to_thread.run_sync(keep)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise AIError(
                ErrorCode.INTERNAL_ERROR, f"The rating could not be kept: {reason}."
            ) from error
        self._changed()
        await self.prepare()
        return self.entry(entry_id) or entry

    async def note_use(self, ref: ModelRef) -> None:
        """Count a chat with a model; a failure to write is logged, not raised."""
        await self.prepare()
        keep = partial(save_use, self._opinions_file, str(ref), self._now())
        opinions = await self._write(keep, "A use of a model")
        if opinions is not None:
            self._opinions = opinions
            self._changed()

    async def _write(self, keep: Callable[[], T], what: str) -> T | None:
        try:
            return await anyio.to_thread.run_sync(keep)
        except OSError as error:
            logger.warning("%s could not be kept: %s", what, error.strerror or error)
            return None

    def _read(self) -> _Kept:
        return (
            load_curated().entries,
            load_facts(self._hub_file),
            load_opinions(self._opinions_file),
        )

    def _take(self, read: _Kept) -> None:
        self._curated, self._facts, self._opinions = read
        self._changed()

    def _entries(self) -> dict[str, SearchEntry]:
        if self._curated is None:
            self._take(self._read())
        if self._merged is None:
            self._merged = self._put_together(self._known())
        return self._merged

    def _put_together(self, known: KnownModels) -> dict[str, SearchEntry]:
        return {entry.id: SearchEntry.of(entry) for entry in merge(known, self._key_of)}

    def _changed(self) -> None:
        self._merged = None
        self._version += 1

    def _known(self) -> KnownModels:
        return KnownModels(
            curated=self._curated or (),
            hub=tuple(self._facts.values()),
            installed=self._installed,
            opinions=self._opinions,
        )
