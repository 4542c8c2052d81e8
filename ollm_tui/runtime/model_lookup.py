"""The model that a person means, and where it is."""

from dataclasses import dataclass

from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.urls import shown_url
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router, same_model
from ollm_tui.runtime.engines import EngineScout

PATIENCE_S = 5.0
"""How long a server may take to list its models, or to tell which are in memory."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model, and where it is."""

    adapter: ProviderAdapter
    ref: ModelRef
    info: ModelInfo | None
    """What its provider's list says; None for one that no list knows."""
    place: str
    """The server or folder as a question names it."""


class ModelLookup:
    """Finds models by what people call them, and names their places."""

    def __init__(
        self,
        loaded: LoadedConfig,
        registry: ProviderRegistry,
        catalog: ModelCatalog,
        router: Router,
        scout: EngineScout,
    ) -> None:
        self._config = loaded.config
        self._registry = registry
        self._catalog = catalog
        self._router = router
        self._scout = scout

    async def find(self, text: str) -> FoundModel:
        """Find a model by its name or address, with what its provider's list says of it.

        Raises:
            AIError: there is no such provider or model.
        """
        name, provider = text.strip(), self._config.provider
        address = name if "://" in name or not provider else f"{provider}://{name}"
        found = await self._router.resolve(address)
        return await self._listed(found.provider, found.ref, found.info)

    async def at(self, ref: ModelRef) -> FoundModel:
        """Find a model where its address says.

        Raises:
            AIError: there is no such provider.
        """
        adapter = await self._router.provider(ref.provider)
        direct = ModelRef(adapter.name, ref.model)
        return await self._listed(adapter, direct, self._catalog.find(direct))

    async def provider_for(self, text: str) -> tuple[ProviderAdapter, ModelRef]:
        """Give where a model that is not there yet belongs: the provider named, or the default.

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
        """Name a provider with its addresses, without what is secret in them."""
        settings = self._config.providers.get(adapter.name)
        at = self._scout.address_of(adapter.name)
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
