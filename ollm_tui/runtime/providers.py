"""`Providers`: the adapters of a runtime, with what finds engines and models among them."""

from collections.abc import Iterable

from ollm_tui.config.backends import BUILT_IN_ALIASES
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.named import Named, named_by
from ollm_tui.config.schema import AppConfig
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.discovery import Discovery
from ollm_tui.providers.lifecycle import AdapterLifecycle
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import LOCAL, Router
from ollm_tui.runtime.engines import EngineProber
from ollm_tui.runtime.provider_set import LocalEngine, usable_services


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """The providers of a runtime, and what finds models among them."""

    registry: ProviderRegistry
    catalog: ModelCatalog
    prober: EngineProber
    router: Router
    named: Named
    """The provider and model that the command line, the environment and the settings name."""
    lifecycle: AdapterLifecycle
    """Initializes adapters before their first use and disposes of them."""
    engine: LocalEngine
    """What runs model files of this machine."""


def registry_of(
    config: AppConfig, adapters: Iterable[ProviderAdapter], lifecycle: AdapterLifecycle
) -> ProviderRegistry:
    """Register the adapters with their priorities and aliases, and choose the default."""
    registry = ProviderRegistry()
    for adapter in adapters:
        lifecycle.add(adapter)
        registry.register(adapter, priority=config.providers[adapter.name].priority)
    for alias, name in config.aliases.items():
        if alias not in registry.list():
            registry.register_alias(alias, name, is_shown=BUILT_IN_ALIASES.get(alias) == name)
    # An unknown name must not keep the program from opening: its first use raises.
    registry.set_default(named if registry.resolve(named := config.provider or LOCAL) else LOCAL)
    return registry


def providers_of(
    loaded: LoadedConfig,
    registry: ProviderRegistry,
    lifecycle: AdapterLifecycle,
    engine: LocalEngine,
) -> Providers:
    """Join the registry with what finds engines and models."""
    prober = EngineProber(loaded, registry, Discovery(), lifecycle.add)
    services = usable_services(loaded.config.providers)
    catalog = ModelCatalog(registry, gate=prober.is_there, prober=prober, services=services)
    catalog.initialize = lifecycle.initialize
    catalog.assume = engine.known_models.assume
    named = named_by(loaded)
    is_local_here = LOCAL not in named.moved
    router = Router(registry, catalog, named=named.providers, is_local_here=is_local_here)
    return Providers(
        registry=registry,
        catalog=catalog,
        prober=prober,
        router=router,
        named=named,
        lifecycle=lifecycle,
        engine=engine,
    )
