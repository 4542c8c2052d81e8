"""`EngineProber`: finds the engine at each address, and registers the adapter that fits it.

Engines need no configuration: a preset is offered when its engine answers. Probes carry no key.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from urllib.parse import urlsplit

import anyio

from ollm_tui.config.backends import (
    ALWAYS_THERE,
    BACKEND,
    FURTHER_ADDRESSES,
    LLAMACPP_ROUTER,
    OPENAI_COMPATIBLE,
    OWN_PROTOCOLS,
    PRESET_PRIORITY,
    PRESETS,
)
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import dotted
from ollm_tui.config.provider_settings import ModelSettings, ProviderSettings
from ollm_tui.config.urls import url_origin
from ollm_tui.dataclass import dataclass
from ollm_tui.models.capabilities import ModelOverrides, with_overrides
from ollm_tui.models.tool_check import ToolCheck, with_tool_check
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers import create_provider
from ollm_tui.providers.base_url import is_loopback, shown_address
from ollm_tui.providers.discovery import ConnectionOptions, Discovery, ProbeResult
from ollm_tui.providers.fingerprint import Engine
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.runtime.provider_set import has_key, is_service, provider_spec


@dataclass(frozen=True, slots=True)
class _Fit:
    kind: str
    backend: str | None


class EngineProber:
    """Decides for the catalog which providers to ask, and keeps the registry up to date.

    `on_created` gets every new adapter, to close it at the end. A stray is an engine that answers
    at the usual port of another one.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        registry: ProviderRegistry,
        discovery: Discovery,
        on_created: Callable[[ProviderAdapter], object],
    ) -> None:
        self.discovery = discovery
        self.tool_check: Callable[[str], ToolCheck | None] = lambda _address: None
        """Returns what was checked of a model, by its address."""
        self._providers: Mapping[str, ProviderSettings] = loaded.config.providers
        self._models: Mapping[str, ModelSettings] = loaded.config.models
        self._origins = loaded.origins
        self._registry = registry
        self._on_created = on_created
        self._fits: dict[str, _Fit] = {}
        self._settled: set[str] = set()
        self._unconfigured: dict[str, str] = {}

    async def is_there(self, name: str) -> bool:
        """Return whether a provider is worth asking for models; costs at most a second.

        A configured one always is, a preset if its engine answers, a service if it has a key.
        """
        if name in self._unconfigured:
            return await self._still_answers(name)
        settings = self._providers.get(name)
        if settings is None:
            return True
        if is_service(settings):
            return has_key(settings) or not settings.preset
        if not settings.preset or name in ALWAYS_THERE:
            await self.settle(name)
            return True
        return await self._is_at_its_port(name, settings)

    async def _is_at_its_port(self, name: str, settings: ProviderSettings) -> bool:
        if settings.base_url is None:
            return False
        engine = (await self.discovery.look(settings.base_url)).engine
        # Meanwhile the engine may have been found elsewhere and been given this name.
        if name in self._unconfigured:
            return True
        if engine is None or not _stands_for(name, settings, engine):
            return False
        self._fit_to(name, settings, engine)
        return True

    async def settle(self, name: str) -> None:
        """Set the adapter of the engine that answers, unless the settings name one."""
        settings = self._providers.get(name)
        if name in self._settled:
            return
        if self._has_to_be_found(name, settings):
            # At its usual port, then at those of others.
            if settings is not None and await self._is_at_its_port(name, settings):
                self._settled.add(name)
            else:
                await self.find_unconfigured()
            return
        if settings is None or not self._is_open(name, settings):
            return
        engine = await self._engine_at(settings)
        if engine is None or name in self._settled:
            return
        self._settled.add(name)
        self._fit_to(name, settings, engine)

    def _has_to_be_found(self, name: str, settings: ProviderSettings | None) -> bool:
        """Return whether only a look can tell where the engine of this name is."""
        if name in self._unconfigured:
            return False
        if settings is None:
            return self._registry.get(name) is None
        usual = settings.preset and settings.enabled and name not in ALWAYS_THERE
        return usual and not is_service(settings)

    def _fit_to(self, name: str, settings: ProviderSettings, engine: Engine) -> None:
        """Put the adapter for this engine in place, unless it is there already."""
        fit = _fit(settings, engine)
        is_stranger = engine.backend is None and not engine.speaks_openai
        if is_stranger or fit != self._fits.get(name, _Fit(settings.kind, settings.backend)):
            spec = replace(provider_spec(name, settings), kind=fit.kind, backend=fit.backend)
            if settings.label is None and name in PRESETS:
                label = shown_address(spec.base_url or "") if is_stranger else engine.label
                row = BACKEND.get(fit.backend or "")
                spec = replace(spec, label=row.label if row else label)
            self._put(spec, settings.priority)
            self._fits[name] = fit

    async def probe(self, name: str) -> ProbeResult | None:
        """Probe a provider; None without an address, an `AIError` for one that cannot be used."""
        address, settings = self.address_of(name), self._providers.get(name)
        return await self.discovery.look(address, _connection(settings)) if address else None

    async def probe_members(self, name: str) -> Mapping[str, ProbeResult]:
        """Ask who answers at each address of a pool; nothing for a single server."""
        settings = self._providers.get(name)
        is_pool = settings is not None and len(settings.addresses) > 1
        if settings is None or not is_pool or name in self._unconfigured:
            return {}
        return await self._look_at_all(settings)

    async def _look_at_all(self, settings: ProviderSettings) -> Mapping[str, ProbeResult]:
        results: dict[str, ProbeResult] = {}

        async def ask(address: str) -> None:
            with suppress(AIError):  # the adapter raises it when it is used
                results[address] = await self.discovery.look(address, _connection(settings))

        async with anyio.create_task_group() as group:
            for address in settings.addresses:
                group.start_soon(ask, address)
        return {one: results[one] for one in settings.addresses if one in results}

    async def _engine_at(self, settings: ProviderSettings) -> Engine | None:
        """Probe all addresses of a provider; of a pool, the first with a known backend decides."""
        results = await self._look_at_all(settings)
        engines = [one.engine for one in results.values() if one.engine is not None]
        return next((engine for engine in engines if engine.backend), next(iter(engines), None))

    async def find_unconfigured(self) -> Sequence[str]:
        """Probe all usual ports; return the names of engines that no provider stands for."""
        presets = {n: s for n, s in self._providers.items() if s.preset and s.enabled}
        usual = [
            settings.base_url
            for name, settings in presets.items()
            if settings.base_url and name != "local" and not is_service(settings)
        ]
        for name, addresses in FURTHER_ADDRESSES.items():
            usual += addresses if name in presets else ()
        async with anyio.create_task_group() as group:
            for address in usual:
                group.start_soon(self.discovery.look, address)
        names = [self._register_unconfigured(address) for address in dict.fromkeys(usual)]
        return [name for name in names if name is not None]

    def corrected(self, ref: ModelRef, info: ModelInfo) -> ModelInfo:
        """Apply the corrections of `[models."provider://name"]` to a model's facts."""
        info = with_tool_check(info, self.tool_check(str(ref)))
        override = self._models.get(str(ref)) or self._models.get(ref.model)
        if override is None:
            return info
        known = {one.name: getattr(override, one.name) for one in fields(ModelOverrides)}
        return with_overrides(info, ModelOverrides(**known))

    def forget(self) -> None:
        """Ask again who answers where."""
        self.discovery.forget()
        self._settled.clear()

    def address_of(self, name: str) -> str | None:
        """Return the address of a provider; None for one that has none."""
        settings = self._providers.get(name)
        return self._unconfigured.get(name) or next(
            iter(settings.addresses if settings else ()), None
        )

    def _is_open(self, name: str, settings: ProviderSettings) -> bool:
        """Return whether a probe may choose the adapter of a provider."""
        if settings.preset and name not in ALWAYS_THERE:
            return False
        if settings.problem is not None or not settings.addresses or is_service(settings):
            return False
        if settings.kind == OPENAI_COMPATIBLE:
            return not self._is_given(name, "backend")
        return settings.kind in OWN_PROTOCOLS and not self._is_given(name, "kind")

    def _is_given(self, name: str, key: str) -> bool:
        return dotted(("providers", name, key)) in self._origins

    async def _still_answers(self, name: str) -> bool:
        engine = (await self.discovery.look(self._unconfigured[name])).engine
        return engine is not None and self._fits.get(name) == _unconfigured_fit(engine)

    def _register_unconfigured(self, address: str) -> str | None:
        """Register the engine at an address unless a provider stands for it already."""
        result = self.discovery.known(address)
        engine = result.engine if result else None
        # Nothing shows that such a server has models: many programs use these ports.
        is_strange = engine is not None and (engine.wants_key or not engine.speaks_openai)
        if engine is None or (engine.backend is None and is_strange):
            return None
        if address in self._unconfigured.values() or self._is_claimed(address, engine):
            return None
        name, label = self._name_for(engine, address)
        fit = _unconfigured_fit(engine)
        kind, backend = fit.kind, fit.backend
        spec = ProviderSpec(name=name, kind=kind, backend=backend, label=label, base_url=address)
        if not self._put(spec, PRESET_PRIORITY):
            return None
        self._unconfigured[name] = address
        self._fits[name] = fit
        return name

    def _is_claimed(self, address: str, engine: Engine) -> bool:
        return any(
            _is_same_server(own, address)
            and (not settings.preset or _stands_for(name, settings, engine))
            for name, settings in self._providers.items()
            for own in settings.addresses
        )

    def _name_for(self, engine: Engine, address: str) -> tuple[str, str]:
        """Return the engine's usual name and label if they are free, else both with the port."""
        usual = _family(engine.backend) or OPENAI_COMPATIBLE
        settings = self._providers.get(usual)
        is_free = settings is not None and settings.preset and settings.enabled
        if is_free and usual not in self._unconfigured and not self._is_at_usual_port(usual):
            return usual, engine.label
        port = urlsplit(address).port or 80
        return f"{engine.backend or 'server'}-{port}", f"{engine.label} ({port})"

    def _is_at_usual_port(self, name: str) -> bool:
        settings = self._providers[name]
        here = self.discovery.known(settings.base_url) if settings.base_url else None
        engine = here.engine if here else None
        return engine is not None and _stands_for(name, settings, engine)

    def _put(self, spec: ProviderSpec, priority: int) -> bool:
        try:
            adapter = create_provider(spec)
        except AIError:  # the adapter in place says why
            return False
        self._on_created(adapter)
        self._registry.register(adapter, priority=priority)
        return True


def _fit(settings: ProviderSettings, engine: Engine) -> _Fit:
    """Choose the adapter for a configured provider."""
    if engine.backend is None:
        if engine.speaks_openai and settings.kind in OWN_PROTOCOLS:
            return _Fit(OPENAI_COMPATIBLE, None)
        return _Fit(settings.kind, settings.backend)
    kind = BACKEND[engine.backend].kind
    if kind != OPENAI_COMPATIBLE and settings.kind == OPENAI_COMPATIBLE:
        return _Fit(settings.kind, None)  # it was configured for the server's other protocol
    return _unconfigured_fit(engine)


def _family(backend: str | None) -> str | None:
    return "llamacpp" if backend == LLAMACPP_ROUTER else backend


def _stands_for(name: str, settings: ProviderSettings, engine: Engine) -> bool:
    backend = settings.backend or (PRESETS[name].name if name in PRESETS else None)
    return backend is not None and _family(engine.backend) == backend


def _connection(settings: ProviderSettings | None) -> ConnectionOptions | None:
    return ConnectionOptions(ca_file=settings.ca_file, proxy=settings.proxy) if settings else None


def _unconfigured_fit(engine: Engine) -> _Fit:
    kind = BACKEND[engine.backend].kind if engine.backend else OPENAI_COMPATIBLE
    return _Fit(kind, engine.backend if kind == OPENAI_COMPATIBLE else None)


def _is_same_server(one: str, other: str) -> bool:
    if is_loopback(one) and is_loopback(other):
        return urlsplit(one).port == urlsplit(other).port
    return url_origin(one) == url_origin(other)
