"""Models by their names, where they are, and which are in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.urls import shown_url
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, SupportsRunning
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.operations import list_running
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router, same_model
from ollm_tui.runtime.engines import EngineProber

PATIENCE_S = 5.0
"""How long a server may take to list its models, or to tell which are in memory."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model, and where it is."""

    adapter: ProviderAdapter
    ref: ModelRef
    info: ModelInfo | None
    """Its entry in its provider's list; None if it is not listed."""
    place: str
    """The server or folder as a question names it."""


class ModelLookup:
    """Finds models by name, and describes where they are."""

    def __init__(
        self,
        loaded: LoadedConfig,
        registry: ProviderRegistry,
        catalog: ModelCatalog,
        router: Router,
        prober: EngineProber,
    ) -> None:
        self._config = loaded.config
        self._registry = registry
        self._catalog = catalog
        self._router = router
        self._prober = prober

    async def find(self, text: str) -> FoundModel:
        """Find a model by its name or address, with its entry in its provider's list.

        Raises:
            AIError: there is no such provider or model.
        """
        name, provider = text.strip(), self._config.provider
        address = name if "://" in name or not provider else f"{provider}://{name}"
        resolved = await self._router.resolve(address)
        return await self._listed(resolved.provider, resolved.ref, resolved.info)

    async def at(self, ref: ModelRef) -> FoundModel:
        """Find a model by its address.

        Raises:
            AIError: there is no such provider.
        """
        adapter = await self._router.provider(ref.provider)
        direct = ModelRef(adapter.name, ref.model)
        return await self._listed(adapter, direct, self._catalog.find(direct))

    async def provider_for(self, text: str) -> tuple[ProviderAdapter, ModelRef]:
        """Return the provider for a new model: the one named, or the default.

        Raises:
            AIError: there is no such provider.
        """
        ref = ModelRef.parse(text.strip())
        if ref is None:
            default = self._config.provider or self._registry.get_default().name
            adapter = await self._router.provider(default)
            return adapter, ModelRef(adapter.name, text.strip())
        named = await self._router.provider(ref.provider)
        return named, ModelRef(named.name, ref.model)

    def place_of(self, adapter: ProviderAdapter) -> str:
        """Return a provider's label with its addresses, without their secrets."""
        settings = self._config.providers.get(adapter.name)
        at = self._prober.address_of(adapter.name)
        own = settings.addresses if settings else ()
        # An engine that was found elsewhere is not where its settings say.
        addresses = [shown_url(address) for address in (own if at in own else (at,)) if address]
        return f"{adapter.label} at {' and '.join(addresses)}" if addresses else adapter.label

    async def _listed(
        self, adapter: ProviderAdapter, ref: ModelRef, info: ModelInfo | None
    ) -> FoundModel:
        if info is None:
            listing = await self._catalog.listing(adapter.name, within_s=PATIENCE_S)
            info = self._catalog.find(ref) or next(
                (one for one in listing.models if same_model(ref.model, one.name)), None
            )
            ref = ref if info is None else ModelRef(adapter.name, info.name)
        return FoundModel(adapter, ref, info, self.place_of(adapter))


Adapters = Callable[[str], ProviderAdapter | None]


@dataclass(frozen=True, slots=True)
class InMemory:
    """The loaded models in the order of their providers, and the providers that failed."""

    models: list[tuple[ModelRef, ModelInfo]] = field(default_factory=list)
    problems: list[AIError] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    """Labels of the providers whose protocol cannot list them."""


async def list_in_memory(
    catalog: ModelCatalog, adapters: Adapters, *, within_s: float = PATIENCE_S
) -> InMemory:
    """List the loaded models of all providers but services, each within a time limit."""
    listings = await catalog.refresh(within_s=within_s, services=False)
    answers: dict[str, list[ModelInfo]] = {}
    problems: dict[str, AIError] = {}
    unsupported: set[str] = set()

    async def ask(listing: Listing) -> None:
        adapter = adapters(listing.provider)
        # The list of one that cannot tell may say which models are loaded.
        models = [info for info in listing.models if info.loaded]
        if isinstance(adapter, SupportsRunning):
            try:
                with anyio.fail_after(within_s):
                    models = [*await list_running(adapter, catalog.redact)]
            except AIError as error:
                problems[listing.provider] = error
            except TimeoutError:
                problems[listing.provider] = _too_slow_to_list(listing, within_s)
        elif listing.models and all(info.loaded is None for info in listing.models):
            unsupported.add(listing.provider)
        answers[listing.provider] = models

    async with anyio.create_task_group() as group:
        for listing in listings:
            if listing.problem is not None:
                problems[listing.provider] = listing.problem
            elif not listing.absent:
                group.start_soon(ask, listing)
    return InMemory(
        [
            (ModelRef(listing.provider, info.name), info)
            for listing in listings
            for info in answers.get(listing.provider, ())
        ],
        [problems[one.provider] for one in listings if one.provider in problems],
        [one.label for one in listings if one.provider in unsupported],
    )


def gpu_share_of(info: ModelInfo) -> float | None:
    """Return the share of a loaded model that is in GPU memory, 0 to 1; None if unknown."""
    on_gpu, whole = info.details.get("size_vram"), memory_of(info)
    if not isinstance(on_gpu, int) or not whole or whole < 0:
        return None
    return min(1.0, max(0.0, on_gpu / whole))


def memory_of(info: ModelInfo) -> int | None:
    """Return the bytes that a loaded model takes; an entry of those in memory has no other size."""
    memory = info.details.get("memory_bytes")
    return memory if isinstance(memory, int) else info.size_bytes


def until_of(info: ModelInfo) -> str | None:
    """Return when a loaded model leaves memory, as its server wrote it."""
    until = info.details.get("expires_at")
    return until if isinstance(until, str) and until else None


def _too_slow_to_list(listing: Listing, within_s: float) -> AIError:
    return AIError(
        ErrorCode.TIMEOUT,
        f"{listing.label} did not list the loaded models within {within_s:g} s.",
        provider=listing.provider,
        retryable=True,
    )
