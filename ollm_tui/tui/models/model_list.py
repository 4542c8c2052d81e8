"""The models of all providers: their lists, which are loaded, and which fit this machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
from anyio import to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_fields import positive
from ollm_tui.lazy import lazy_re
from ollm_tui.library.fit import Fit
from ollm_tui.library.fitting import USUAL_CONTEXT, fit_of
from ollm_tui.library.machine import Machine
from ollm_tui.models.capabilities import is_described
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.base_url import is_loopback
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.router import EMBEDDED
from ollm_tui.runtime.model_fit import reported_shape
from ollm_tui.tui.models.entry import LIST_TIMEOUT_S, ModelEntry
from ollm_tui.tui.models.operations import ModelOperations

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.runtime.media.task_defaults import TaskDefaults

FitCheck: TypeAlias = "Callable[[ModelRef, ModelInfo], Fit | None]"
"""Returns whether a model fits the machine it would run on, or None if that is not known."""
GLANCE_S: Final = 0.2
"""A model that is marked for less is not described."""
_URL: Final = lazy_re(r"[a-z]+://\S+")


class ModelListCache:
    """The newest list of each provider; entries are rebuilt only when something has changed."""

    def __init__(self, defaults: "TaskDefaults") -> None:
        self._defaults = defaults
        self._listings: dict[str, Listing] = {}
        self._last_names: dict[str, tuple[str, ...]] = {}
        """The names of the last list that each provider answered with."""
        self._entries: dict[str, list[ModelEntry]] = {}
        self.running: Mapping[ModelRef, ModelInfo] = {}
        """The loaded models."""
        self._fit_check: FitCheck | None = None

    def put(self, listing: Listing) -> list[ModelRef]:
        """Store a list and return the models that it no longer has."""
        self._listings[listing.provider] = listing
        self._entries.pop(listing.provider, None)
        if listing.problem is not None or listing.absent:
            return []  # the models of a server that does not answer are not gone
        last_names = self._last_names.get(listing.provider, ())
        self._last_names[listing.provider] = tuple(info.name for info in listing.models)
        names = frozenset(self._last_names[listing.provider])
        return [ModelRef(listing.provider, name) for name in last_names if name not in names]

    def keep(self, providers: Iterable[str]) -> None:
        """Keep the lists of these providers, in their order, and discard the others."""
        self._listings = {one: self._listings[one] for one in providers if one in self._listings}

    def put_running(self, running: Mapping[ModelRef, ModelInfo]) -> None:
        """Store which models are loaded."""
        if running != self.running:
            self.running = running
            self._entries.clear()

    def put_fit_check(self, fit_check: FitCheck) -> None:
        """Store what checks whether a model fits."""
        self._fit_check = fit_check
        self._entries.clear()

    @property
    def listings(self) -> Sequence[Listing]:
        """The lists, in order."""
        return tuple(self._listings.values())

    @property
    def knows_fit(self) -> bool:
        """Whether entries can tell if they fit."""
        return self._fit_check is not None

    def entries(self) -> list[ModelEntry]:
        """Return all models, provider by provider."""
        for provider, listing in self._listings.items():
            if provider not in self._entries:
                self._entries[provider] = [self._entry(listing, info) for info in listing.models]
        return [entry for provider in self._listings for entry in self._entries[provider]]

    def _entry(self, listing: Listing, info: ModelInfo) -> ModelEntry:
        ref = ModelRef(listing.provider, info.name)
        running = self.running.get(ref)
        # a loaded model takes the memory that it would be checked against
        is_loaded = info.loaded or running is not None
        check = None if is_loaded else self._fit_check
        return ModelEntry(
            ref,
            info,
            listing.label,
            running,
            check(ref, info) if check else None,
            self._defaults.tasks_of(ref, info),
            self._defaults.defaults_of(ref),
        )


def fit_check_for(
    machine: Machine, place: Callable[[ModelRef], str | None], full_every: Mapping[str, int]
) -> FitCheck:
    """Return a check for models of this machine; `place` returns where one is, with addresses.

    `full_every` is what `KnownModels.full_attention` returns.
    """
    is_local: dict[str, bool] = {}

    def check(ref: ModelRef, info: ModelInfo) -> Fit | None:
        size = info.size_bytes
        if not size or size < 0:
            return None
        if ref.provider not in is_local:
            is_local[ref.provider] = is_here(place(ref))
        if not is_local[ref.provider]:
            return None
        used = machine.for_engine if ref.provider == EMBEDDED else machine
        shape = reported_shape(info, size, full_every)
        beside = positive(info.details, "loaded_with_bytes") or 0
        return fit_of(shape, used, context=_context(info), beside=beside)

    return check


def is_here(place: str | None) -> bool:
    """Return whether all addresses in a place are this machine's; also True if it has none."""
    return place is not None and all(map(is_loopback, _URL.findall(place)))


def _context(info: ModelInfo) -> int:
    trained = info.details.get("context_trained")
    most = trained if isinstance(trained, int) and trained > 0 else USUAL_CONTEXT
    return info.context or min(most, USUAL_CONTEXT)


@dataclass(slots=True)
class ModelListLoader:
    """Fills a cache as the answers arrive; old lists stay until new ones replace them."""

    runtime: "Runtime"
    cache: ModelListCache
    changed: Callable[[], None]
    operations: ModelOperations
    is_loading: bool = False
    other_folders: str = ""
    """Which models other programs have, in a sentence."""
    _described: set[ModelRef] = field(default_factory=set)

    def __post_init__(self) -> None:
        for listing in self.runtime.catalog.cached():
            self.cache.put(listing)

    async def load_lists(self, *, refresh: bool = False) -> None:
        """Load the list of every provider; `refresh` also looks for new engines."""
        if refresh:
            self.runtime.catalog.forget()
        self.is_loading = True
        self.changed()
        answered = []
        try:
            async with self.runtime.catalog.listings(within_s=LIST_TIMEOUT_S) as answers:
                async for listing in answers:
                    answered.append(listing.provider)
                    for ref in self.cache.put(listing):
                        self.operations.gone(ref, listing.label)
                    self.changed()
            in_order = [listing.provider for listing in self.runtime.catalog.cached()]
            kept = [name for name in in_order if name in answered]
            self.cache.keep(dict.fromkeys([*kept, *answered]))
        finally:
            self.is_loading = False
        self.changed()

    async def describe(self, entry: ModelEntry) -> None:
        """Load what a model can do if its list does not say; once for each model."""
        if is_described(entry.info) or entry.ref in self._described:
            return
        await anyio.sleep(GLANCE_S)
        self._described.add(entry.ref)
        await self.runtime.catalog.describe(entry.ref)
        for listing in self.runtime.catalog.cached():
            if listing.provider == entry.ref.provider:
                self.cache.put(listing)
        self.changed()

    async def check_machine(self) -> None:
        """Measure this machine, so that entries can tell if they fit."""
        machine = await self.runtime.machine()
        if machine.ram_free is not None or machine.gpus:
            full_every = await to_thread.run_sync(self.runtime.manager.known_models.full_attention)
            self.cache.put_fit_check(fit_check_for(machine, self.operations.place, full_every))
            self.changed()

    async def check_other_folders(self) -> None:
        """Look for models of other programs if there is none to show."""
        if not self.cache.entries():
            self.other_folders = (await self.runtime.other_folders()).words
            self.changed()

    async def load_running(self) -> None:
        """Load which models are in memory."""
        self.cache.put_running(dict(await self.runtime.manager.running()))
        self.changed()
