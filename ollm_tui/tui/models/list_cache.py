"""What is known of all models: lists as they were answered, what is in memory, what fits; pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.models.entry import ModelEntry

if TYPE_CHECKING:
    from ollm_tui.library.fit import Fit

Judge: TypeAlias = "Callable[[ModelRef, ModelInfo], Fit | None]"
"""Tells whether a model fits the machine that it would run on."""


class ModelListCache:
    """Keeps one list for each provider; entries are made anew only where something has changed."""

    def __init__(self) -> None:
        self._listings: dict[str, Listing] = {}
        self._had: dict[str, tuple[str, ...]] = {}
        """Names of the last list of each provider that was right."""
        self._entries: dict[str, list[ModelEntry]] = {}
        self._running: Mapping[ModelRef, ModelInfo] = {}
        self._judge: Judge | None = None

    def put(self, listing: Listing) -> list[ModelRef]:
        """Take a list, and give the models that the provider had and has no more."""
        self._listings[listing.provider] = listing
        self._entries.pop(listing.provider, None)
        if listing.problem is not None or listing.absent:
            return []  # whoever cannot be asked has lost nothing
        had = self._had.get(listing.provider, ())
        self._had[listing.provider] = tuple(info.name for info in listing.models)
        now = frozenset(self._had[listing.provider])
        return [ModelRef(listing.provider, name) for name in had if name not in now]

    def keep(self, providers: Iterable[str]) -> None:
        """Keep the lists of these providers, in their order, and no other."""
        self._listings = {one: self._listings[one] for one in providers if one in self._listings}

    def put_running(self, running: Mapping[ModelRef, ModelInfo]) -> None:
        """Take which models are in memory."""
        if running != self._running:
            self._running = running
            self._entries.clear()

    def put_judge(self, judge: Judge) -> None:
        """Take what tells whether a model fits."""
        self._judge = judge
        self._entries.clear()

    @property
    def listings(self) -> Sequence[Listing]:
        """The lists, in order."""
        return tuple(self._listings.values())

    @property
    def running(self) -> Mapping[ModelRef, ModelInfo]:
        """The models in memory."""
        return self._running

    @property
    def knows_fit(self) -> bool:
        """Whether anything is known of what fits."""
        return self._judge is not None

    def entries(self) -> list[ModelEntry]:
        """Give all models."""
        for provider, listing in self._listings.items():
            if provider not in self._entries:
                self._entries[provider] = [self._entry(listing, info) for info in listing.models]
        return [entry for provider in self._listings for entry in self._entries[provider]]

    def _entry(self, listing: Listing, info: ModelInfo) -> ModelEntry:
        ref = ModelRef(listing.provider, info.name)
        running = self._running.get(ref)
        # what is in memory takes the room that it would be measured against
        is_loaded = info.loaded or running is not None
        judge = None if is_loaded else self._judge
        return ModelEntry(ref, info, listing.label, running, judge(ref, info) if judge else None)
