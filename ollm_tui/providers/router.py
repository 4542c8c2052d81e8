"""Finds the provider for a model name or address."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import alternatives
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, ProviderStream
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.media.answer import output_of
from ollm_tui.providers.registry import ProviderRegistry

RenderRequest: TypeAlias = Callable[[Request, ModelInfo | None], Awaitable[Request]]
"""Returns a request for a model with its templates rendered."""
LOCAL, EMBEDDED = "local", "embedded"
TIMEOUT_S = 1.0
"""How long a lookup waits for a silent server, in seconds."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model, the adapter that serves it, and its entry in the listing."""

    provider: ProviderAdapter
    ref: ModelRef
    info: ModelInfo | None = None
    is_silent: bool = False
    """Whether its server just failed to answer; optional requests to it are skipped."""


def _got_no_answer(problem: AIError | None) -> bool:
    """Whether a listing failed because the server did not answer, rather than for its answer."""
    if problem is None or problem.status is not None:
        return False
    return problem.code in {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT}


def same_model(name: str, listed: str) -> bool:
    """Whether two names mean the same model: in Ollama, `name` is `name:latest`."""
    return name == listed or f"{name}:latest" == listed or name == f"{listed}:latest"


class Router:
    """Finds the provider for a model.

    `provider://model` goes straight to that provider; `local://model` to Ollama, or the built-in
    engine if only that has the model. A bare name is searched for in the listings of all
    providers, by priority, except for services on the internet.
    """

    def __init__(
        self,
        registry: ProviderRegistry,
        catalog: ModelCatalog,
        *,
        named: Collection[str] = (),
        is_local_here: bool = True,
    ) -> None:
        """Route among these providers.

        A bare name is not searched for elsewhere while one of the `named` providers is silent.
        `is_local_here` is False if the user gave `local` an address: then only that server counts.
        """
        self._registry = registry
        self._catalog = catalog
        self._named = frozenset(named)
        self._is_local_here = is_local_here
        self.render: RenderRequest | None = None
        """Renders messages that are templates; without it, adapters refuse them."""

    async def resolve(
        self, model: str, requirement: ModelCapability | None = None
    ) -> ResolvedModel:
        """Find a model by name or address.

        Raises:
            AIError: BAD_REQUEST for an unknown provider; MODEL_NOT_FOUND, with the providers asked.
        """
        ref = ModelRef.parse(model)
        if ref is None:
            return await self._search(model.strip(), requirement)
        adapter = await self.provider(ref.provider)
        if ref.provider == LOCAL:
            return await self._on_this_machine(adapter, ref.model)
        return self._direct(adapter, ref.model)

    async def at(self, ref: ModelRef) -> ResolvedModel:
        """Return a model of exactly that provider, never another provider's in its place.

        Raises:
            AIError: BAD_REQUEST for an unknown provider.
        """
        return self._direct(await self.provider(ref.provider), ref.model)

    def known(self, ref: ModelRef) -> ResolvedModel | None:
        """Return a model with what is known so far, or None for an unknown provider."""
        adapter = self._registry.resolve(ref.provider)
        return self._direct(adapter, ref.model) if adapter is not None else None

    async def informed(self, resolved: ResolvedModel) -> ResolvedModel:
        """Add the listing entry of an addressed model; takes a second at most."""
        if resolved.info is not None:
            return resolved
        listing = await self._catalog.listing(resolved.ref.provider, within_s=TIMEOUT_S)
        for info in listing.models:
            if same_model(resolved.ref.model, info.name):
                return replace(resolved, ref=ModelRef(resolved.ref.provider, info.name), info=info)
        return replace(resolved, is_silent=listing.absent or _got_no_answer(listing.problem))

    async def find_in(self, provider: str, name: str) -> ResolvedModel:
        """Find a model by its bare name in the listing of one provider.

        Raises:
            AIError: The provider does not answer, or MODEL_NOT_FOUND.
        """
        adapter = await self.provider(provider)
        listing = await self._catalog.listing(adapter.name, within_s=TIMEOUT_S)
        if resolved := self._in_listing(listing, name, None):
            return resolved
        if listing.has_answered:
            raise self._not_found(name, [listing], None)
        _raise_unless_askable(listing)
        return self._direct(adapter, name)

    def _direct(self, adapter: ProviderAdapter, model: str) -> ResolvedModel:
        ref = ModelRef(adapter.name, model)
        return ResolvedModel(adapter, ref, self._catalog.find(ref))

    async def provider(self, name: str) -> ProviderAdapter:
        """Return a provider, probing for an engine that nobody configured; takes a second at most.

        Raises:
            AIError: BAD_REQUEST if there is no provider of this name.
        """
        known = self._registry.resolve(name)
        adapter = await self._catalog.adapter(known.name if known else name) or known
        if adapter is None:
            raise self._registry.unknown(name)
        return adapter

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Send a request to the provider that has its model.

        Its templates are rendered before. If a request with an input does not say what to make,
        that is what the model makes.

        Raises:
            AIError: As `resolve` and the provider's own `invoke`.
        """
        resolved = await self.resolve(request.model)
        if request.input is not None and request.output is None and request.suffix is None:
            resolved = await self.informed(resolved)
            request = replace(request, output=output_of(resolved.info))
        request = replace(request, model=resolved.ref.model)
        if self.render is not None and request.messages is not None and request.names_templates:
            request = await self.render(request, resolved.info)
        return await resolved.provider.invoke(request)

    async def _on_this_machine(self, ollama: ProviderAdapter, model: str) -> ResolvedModel:
        listing = await self._catalog.listing(ollama.name, within_s=TIMEOUT_S)
        if resolved := self._in_listing(listing, model, None):
            return resolved
        if self._is_local_here and self._registry.get(EMBEDDED) is not None:
            library = await self._catalog.listing(EMBEDDED, within_s=TIMEOUT_S)
            if resolved := self._in_listing(library, model, None):
                return resolved
        _raise_unless_askable(listing)
        return self._direct(ollama, model)

    async def _search(self, name: str, requirement: ModelCapability | None) -> ResolvedModel:
        cached = self._catalog.cached()
        answered = {listing.provider for listing in cached if listing.has_answered}
        if self._named <= answered and (resolved := self._first_in(cached, name, requirement)):
            return resolved
        listings = await self._catalog.refresh(within_s=TIMEOUT_S, services=False)
        for provider in self._named - {listing.provider for listing in listings}:
            if self._registry.get(provider) is not None:  # a service, but one that was named
                listing = await self._catalog.listing(provider, within_s=TIMEOUT_S)
                listings = (*listings, listing)
        if resolved := self._first_in(listings, name, requirement):
            return resolved
        raise self._not_found(name, listings, requirement)

    def _first_in(
        self, listings: Sequence[Listing], name: str, requirement: ModelCapability | None
    ) -> ResolvedModel | None:
        """Return the first entry for a model; a silent provider that was named might have it."""
        named = (one for one in listings if one.provider in self._named)
        silent = next((one for one in named if not one.has_answered), None)
        for listing in sorted(listings, key=lambda one: one.provider not in self._named):
            if resolved := self._in_listing(listing, name, requirement):
                if silent is not None and listing.provider not in self._named:
                    raise _might_have(silent, resolved.ref)
                return resolved
        return None

    def _in_listing(
        self, listing: Listing, name: str, requirement: ModelCapability | None
    ) -> ResolvedModel | None:
        adapter = self._registry.get(listing.provider)
        for info in listing.models:
            if adapter and same_model(name, info.name) and _fits(info, requirement):
                return ResolvedModel(adapter, ModelRef(listing.provider, info.name), info)
        return None

    def _not_found(
        self, name: str, listings: Sequence[Listing], requirement: ModelCapability | None
    ) -> AIError:
        here = [entry for entry in listings if not entry.absent]
        searched = [self._registry.shown_name(one.provider) for one in here if not one.problem]
        silent = [self._registry.shown_name(one.provider) for one in listings if one.problem]
        names = {info.name for listing in listings for info in listing.models}
        # Loaded only for a name that is not known.
        import difflib

        near = self._as_address(name) or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        message = f"There is no model named {name!r}"
        if requirement is not None and any(same_model(name, listed) for listed in names):
            message = f"The model {name!r} cannot do what is asked of it"
        hint = f"Asked: {', '.join(searched) or 'no provider'}."
        if silent:
            hint += f" No answer from: {', '.join(silent)}."
        asked_by_name = [p for p in self._registry.list() if p in self._catalog.services]
        if asked_by_name:
            hint += (
                f" Searched only by address: {', '.join(f'{p}://{name}' for p in asked_by_name)}."
            )
        if near:
            hint += f" Did you mean {alternatives(near)}?"
        return AIError(ErrorCode.MODEL_NOT_FOUND, f"{message}.", hint=hint)

    def _as_address(self, name: str) -> list[str]:
        """Return the address that was meant by a name with a provider in front."""
        provider, mark, model = name.replace(":", "/", 1).partition("/")
        is_meant = mark and model and self._registry.resolve(provider) is not None
        return [f"{provider}://{model}"] if is_meant else []


def _raise_unless_askable(listing: Listing) -> None:
    """Raise why a provider has no listing, unless it may be slow or fail at listing only."""
    problem = listing.problem
    if problem is None or problem.code == ErrorCode.TIMEOUT:
        return
    if problem.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        raise problem


def _might_have(silent: Listing, other: ModelRef) -> AIError:
    """Make the error for a named server that does not answer although another one has the model."""
    problem = silent.problem
    return AIError(
        problem.code if problem else ErrorCode.SERVICE_UNAVAILABLE,
        problem.message if problem else f"{silent.label} does not answer.",
        hint=f"{other} has a model of this name: write it so to ask it.",
        provider=silent.provider,
    )


def _fits(info: ModelInfo, requirement: ModelCapability | None) -> bool:
    return requirement is None or info.capability is None or info.capability.covers(requirement)
