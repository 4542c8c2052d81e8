"""The models of all providers in one list, requested in parallel and cached."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol

import anyio
from anyio import to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream

from ollm_tui.config.foreign import Redact, without_secrets
from ollm_tui.dataclass import dataclass
from ollm_tui.models.capabilities import is_described, lacks_facts
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import LONG_DETAILS, ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, RemembersListError, SupportsList, SupportsShow
from ollm_tui.providers.operations import list_models, show_model
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.tasks import task_group

DESCRIBE_S = 1.5
"""Time limit for describing one model."""
Gate = Callable[[str], Awaitable[bool]]
"""Decides whether a provider is worth asking, which a preset with a silent port is not."""
Initialize = Callable[[ProviderAdapter], Awaitable[None]]
"""Makes an adapter ready for its first use; raises `AIError` if it fails."""
Assume = Callable[[Sequence[ModelInfo]], Sequence[ModelInfo]]
"""Adds what is assumed of abilities that no engine reports; blocks, and runs in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The models of one provider, or why there are none."""

    provider: str
    label: str
    models: tuple[ModelInfo, ...] = ()
    problem: AIError | None = None
    """Why there are no models; None if the listing succeeded."""
    absent: bool = False
    """Whether nothing answers at the default port of a preset."""
    taken_at: float = 0.0

    @property
    def has_answered(self) -> bool:
        """Whether the provider returned its list of models."""
        return self.problem is None and not self.absent


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One model and its address."""

    ref: ModelRef
    info: ModelInfo


async def _always(_name: str) -> bool:
    return True


async def _nothing(_adapter: ProviderAdapter) -> None:
    return None


class Prober(Protocol):
    """Finds out which engine answers where, and registers the adapter that fits.

    The runtime implements it: only the runtime knows the settings and makes adapters.
    """

    async def settle(self, name: str) -> None:
        """Make sure that a provider has the right adapter; takes a second at most."""
        ...

    async def find_unconfigured(self) -> Sequence[str]:
        """Register engines that nobody configured, and return their names."""
        ...

    def forget(self) -> None:
        """Probe all servers again when they are needed next."""
        ...

    def corrected(self, ref: ModelRef, info: ModelInfo) -> ModelInfo:
        """Return a server's description of a model with the corrections from the settings."""
        ...


class ModelCatalog:
    """Listings of all providers, cached for `max_age_s` seconds.

    The `services` on the internet are asked only if the user wants to see everything, or names one.
    """

    def __init__(
        self,
        registry: ProviderRegistry,
        *,
        gate: Gate = _always,
        prober: Prober | None = None,
        services: Collection[str] = (),
        max_age_s: float = 30.0,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._registry = registry
        self.initialize: Initialize = _nothing
        """Awaited before each use of an adapter."""
        self.assume: Assume | None = None
        self._gate = gate
        self._prober = prober
        self.services = frozenset(services)
        self._max_age_s = max_age_s
        self._clock = clock
        self._listings: dict[str, Listing] = {}

    @property
    def redact(self) -> Redact:
        """Removes secrets from what adapters return."""
        return self._registry.redact

    def cached(self) -> tuple[Listing, ...]:
        """Return the cached listings, however old, in order of priority."""
        names = [adapter.name for adapter in self._registry.by_priority()]
        return tuple(self._listings[name] for name in names if name in self._listings)

    def shown_name(self, provider: str) -> str:
        """Return the name of a provider as people write it, such as `ollama`."""
        return self._registry.shown_name(provider)

    def shown_address(self, ref: ModelRef) -> str:
        """Return the address of a model as people write it, such as `ollama://qwen3:8b`."""
        return self._registry.shown_address(ref)

    def find(self, ref: ModelRef) -> ModelInfo | None:
        """Return what the last listing said about a model."""
        listing = self._listings.get(ref.provider)
        models = listing.models if listing else ()
        return next((info for info in models if info.name == ref.model), None)

    async def describe(self, ref: ModelRef, *, within_s: float = DESCRIBE_S) -> None:
        """Look up what a model can do if the listing does not say so; a failure changes nothing."""
        adapter, entry = self._registry.get(ref.provider), self.find(ref)
        if entry is None or is_described(entry) or not isinstance(adapter, SupportsShow):
            return
        with anyio.move_on_after(within_s), suppress(AIError):
            info = await show_model(adapter, ref.model, self.redact)
            self._learn(ref, *await self._assumed(ref.provider, [info]))

    def _learn(self, ref: ModelRef, info: ModelInfo) -> None:
        listing, entry = self._listings.get(ref.provider), self.find(ref)
        if listing is None or entry is None:
            return
        learned = {key: value for key, value in info.details.items() if key not in LONG_DETAILS}
        better = self._corrected(
            ref.provider,
            replace(
                entry,
                capability=info.capability or entry.capability,
                reported=info.reported if info.capability else entry.reported,
                context=entry.context or info.context,
                details={**entry.details, **learned},
                assumed=info.assumed or entry.assumed,
                assumed_context=info.assumed_context or entry.assumed_context,
            ),
        )
        models = tuple(better if one is entry else one for one in listing.models)
        self._listings[ref.provider] = replace(listing, models=models)

    def forget(self, provider: str | None = None) -> None:
        """Drop the cached listing of one provider, or all listings and probe results."""
        if provider is None:
            self._listings.clear()
            if self._prober is not None:
                self._prober.forget()
        else:
            self._listings.pop(provider, None)

    async def adapter(self, provider: str) -> ProviderAdapter | None:
        """Return the adapter for the engine that answers there; probes the server once.

        Raises:
            AIError: The adapter could not be initialized.
        """
        if self._prober is not None:
            await self._prober.settle(provider)
        adapter = self._registry.get(provider)
        if adapter is not None:
            await self.initialize(adapter)
        return adapter

    async def listing(self, provider: str, *, within_s: float | None = None) -> Listing:
        """Return the models of one provider, from the cache while that is fresh.

        A provider that takes longer than `within_s` is listed with a TIMEOUT problem.

        Raises:
            AIError: BAD_REQUEST if there is no such provider.
        """
        adapter = self._registry.get(provider)
        if adapter is None:
            raise self._registry.unknown(provider)
        cached = self._listings.get(provider)
        if cached and not cached.problem and self._clock() - cached.taken_at < self._max_age_s:
            return cached
        listing = await self._ask_within(adapter, within_s)
        self._listings[provider] = listing
        return listing

    @asynccontextmanager
    async def listings(
        self, *, within_s: float | None = None, services: bool = True
    ) -> AsyncIterator[ObjectReceiveStream[Listing]]:
        """Ask all providers at once, optionally the services too; listings come as they arrive."""
        left_out = frozenset() if services else self.services
        adapters = [a for a in self._registry.by_priority() if a.name not in left_out]
        send, receive = anyio.create_memory_object_stream[Listing](max(1, len(adapters)))
        async with task_group() as group, receive:
            async with send:
                for adapter in adapters:
                    group.start_soon(self._report, adapter.name, within_s, send.clone())
                if self._prober is not None:
                    group.start_soon(
                        self._report_unconfigured, self._prober, within_s, send.clone()
                    )
            yield receive
            group.cancel_scope.cancel()

    async def refresh(
        self, *, within_s: float | None = None, services: bool = True
    ) -> tuple[Listing, ...]:
        """Ask as `listings` does, and return their cached listings in order of priority."""
        async with self.listings(within_s=within_s, services=services) as answers:
            async for _listing in answers:
                pass
        left_out = frozenset() if services else self.services
        return tuple(listing for listing in self.cached() if listing.provider not in left_out)

    async def _report(
        self, provider: str, within_s: float | None, send: ObjectSendStream[Listing]
    ) -> None:
        async with send:
            await send.send(await self.listing(provider, within_s=within_s))

    async def _report_unconfigured(
        self, prober: Prober, within_s: float | None, send: ObjectSendStream[Listing]
    ) -> None:
        async with send:
            with anyio.move_on_after(within_s):
                for name in await prober.find_unconfigured():
                    self.forget(name)
                    await send.send(await self.listing(name))

    async def _ask_within(self, adapter: ProviderAdapter, within_s: float | None) -> Listing:
        models, problem = None, None
        with anyio.move_on_after(within_s) as clock:
            try:
                models = await self._ask(adapter)
            except AIError as error:
                problem = error
        if clock.cancelled_caught:
            problem = AIError(
                ErrorCode.TIMEOUT,
                f"{adapter.label} did not list its models within {within_s:g} s.",
                provider=adapter.name,
                retryable=True,
            )
        return Listing(
            provider=adapter.name,
            label=(self._registry.get(adapter.name) or adapter).label,
            models=models or (),
            problem=problem,
            absent=models is None and problem is None,
            taken_at=self._clock(),
        )

    async def _ask(self, adapter: ProviderAdapter) -> tuple[ModelInfo, ...] | None:
        """Return a provider's models, or None if it is not worth asking."""
        if not await self._gate(adapter.name):
            return None
        adapter = self._registry.get(adapter.name) or adapter
        if not isinstance(adapter, SupportsList):
            message = f"{adapter.label} cannot list its models."
            raise AIError(ErrorCode.UNSUPPORTED_FEATURE, message)
        await self.initialize(adapter)
        models = await list_models(adapter, self.redact)
        if isinstance(adapter, RemembersListError) and adapter.last_error is not None:
            # The adapter keeps it: a traceback would grow with each listing.
            raise without_secrets(adapter.last_error, self.redact).with_traceback(None)
        return tuple(
            self._corrected(adapter.name, info)
            for info in await self._assumed(adapter.name, models)
        )

    async def _assumed(self, provider: str, models: Sequence[ModelInfo]) -> Sequence[ModelInfo]:
        is_service = provider in self.services
        if self.assume is None or not (is_service or any(map(lacks_facts, models))):
            return models
        assumed = await to_thread.run_sync(self.assume, models)
        # A server may have loaded a model with a smaller window than it was made for.
        return assumed if is_service else [replace(one, assumed_context=None) for one in assumed]

    def _corrected(self, provider: str, info: ModelInfo) -> ModelInfo:
        if self._prober is None:
            return info
        return self._prober.corrected(ModelRef(provider, info.name), info)
