"""From what a person calls a model to the provider that has it.

`provider://model` goes straight to that provider. `local://model` means this machine: Ollama if
it has the model, else the built-in engine, and with neither the error of connecting to Ollama.
A bare name is looked for in the listings of all providers, by priority; services on the internet
are not asked for it.
"""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus

from ollm_tui.decode.counted import alternatives
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, ProviderStream
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry

LOCAL, EMBEDDED = "local", "embedded"
PATIENCE_S = 1.0
"""What a silent server may cost a look-up."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model, the adapter that serves it, and what its listing said."""

    provider: ProviderAdapter
    ref: ModelRef
    info: ModelInfo | None = None
    is_silent: bool = False
    """Whether its server was just asked in vain: what a prompt can do without is not asked."""


def _got_no_answer(problem: AIError | None) -> bool:
    """Whether a list failed because the server did not answer, not for what it answered."""
    if problem is None or problem.status is not None:
        return False
    return problem.code in {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.TIMEOUT}


def same_model(asked: str, listed: str) -> bool:
    """Whether two names mean one model: Ollama's `name` is `name:latest`."""
    return asked == listed or f"{asked}:latest" == listed or asked == f"{listed}:latest"


class Router:
    """Finds the provider for a model."""

    def __init__(
        self,
        registry: ProviderRegistry,
        catalog: ModelCatalog,
        *,
        named: Collection[str] = (),
        is_local_here: bool = True,
    ) -> None:
        """Route among these providers.

        A bare name is not looked for elsewhere while one of the `named` providers does not answer.
        `is_local_here` is False where a person gave `local` an address: then only that is meant.
        """
        self._registry = registry
        self._catalog = catalog
        self._named = frozenset(named)
        self._is_local_here = is_local_here

    async def resolve(
        self, model: str, requirement: ModelCapability | None = None
    ) -> ResolvedModel:
        """Find a model.

        Raises:
            AIError: BAD_REQUEST for an unknown provider; MODEL_NOT_FOUND, naming who was asked.
        """
        ref = ModelRef.parse(model)
        if ref is None:
            return await self._search(model.strip(), requirement)
        adapter = await self.provider(ref.provider)
        if ref.provider == LOCAL:
            return await self._on_this_machine(adapter, ref.model)
        return self._direct(adapter, ref.model)

    async def at(self, ref: ModelRef) -> ResolvedModel:
        """Give a model of exactly that provider: one that was shown is not replaced by another.

        Raises:
            AIError: BAD_REQUEST for an unknown provider.
        """
        return self._direct(await self.provider(ref.provider), ref.model)

    def known(self, ref: ModelRef) -> ResolvedModel | None:
        """Give a model with what is known of it by now; None for an unknown provider."""
        adapter = self._registry.resolve(ref.provider)
        return self._direct(adapter, ref.model) if adapter is not None else None

    async def informed(self, found: ResolvedModel) -> ResolvedModel:
        """Add what its provider's list says of a model that was named; a second at most."""
        if found.info is not None:
            return found
        listing = await self._catalog.listing(found.ref.provider, within_s=PATIENCE_S)
        for info in listing.models:
            if same_model(found.ref.model, info.name):
                return replace(found, ref=ModelRef(found.ref.provider, info.name), info=info)
        return replace(found, is_silent=listing.absent or _got_no_answer(listing.problem))

    async def find_in(self, provider: str, name: str) -> ResolvedModel:
        """Find a model by its bare name in the list of one provider.

        Raises:
            AIError: the provider does not answer; MODEL_NOT_FOUND when it has no such model.
        """
        adapter = await self.provider(provider)
        listing = await self._catalog.listing(adapter.name, within_s=PATIENCE_S)
        if found := self._in_listing(listing, name, None):
            return found
        if listing.has_answered:
            raise self._not_found(name, [listing], None)
        _raise_unless_askable(listing)
        return self._direct(adapter, name)

    def _direct(self, adapter: ProviderAdapter, model: str) -> ResolvedModel:
        ref = ModelRef(adapter.name, model)
        return ResolvedModel(adapter, ref, self._catalog.find(ref))

    async def provider(self, name: str) -> ProviderAdapter:
        """Find a provider; an engine that nobody configured is looked for, a second at most.

        Raises:
            AIError: BAD_REQUEST when there is none of this name.
        """
        known = self._registry.resolve(name)
        adapter = await self._catalog.adapter(known.name if known else name) or known
        if adapter is None:
            raise self._registry.unknown(name)
        return adapter

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Send a request to the provider that has its model.

        Raises:
            AIError: as `resolve` and the provider's own `invoke`.
        """
        found = await self.resolve(request.model)
        return await found.provider.invoke(replace(request, model=found.ref.model))

    async def _on_this_machine(self, ollama: ProviderAdapter, model: str) -> ResolvedModel:
        listing = await self._catalog.listing(ollama.name, within_s=PATIENCE_S)
        if found := self._in_listing(listing, model, None):
            return found
        if self._is_local_here and self._registry.get(EMBEDDED) is not None:
            library = await self._catalog.listing(EMBEDDED, within_s=PATIENCE_S)
            if found := self._in_listing(library, model, None):
                return found
        _raise_unless_askable(listing)
        return self._direct(ollama, model)

    async def _search(self, name: str, requirement: ModelCapability | None) -> ResolvedModel:
        known = self._catalog.cached()
        answered = {listing.provider for listing in known if listing.has_answered}
        if self._named <= answered and (found := self._first_in(known, name, requirement)):
            return found
        listings = await self._catalog.refresh(within_s=PATIENCE_S, services=False)
        for provider in self._named - {listing.provider for listing in listings}:
            if self._registry.get(provider) is not None:  # a service, but one that was named
                listing = await self._catalog.listing(provider, within_s=PATIENCE_S)
                listings = (*listings, listing)
        if found := self._first_in(listings, name, requirement):
            return found
        raise self._not_found(name, listings, requirement)

    def _first_in(
        self, listings: Sequence[Listing], name: str, requirement: ModelCapability | None
    ) -> ResolvedModel | None:
        """Give the first that has it, those that were named in front of all others.

        A named provider that does not answer might have it too.
        """
        silent = self._silent_in(listings)
        for listing in sorted(listings, key=lambda one: one.provider not in self._named):
            if found := self._in_listing(listing, name, requirement):
                if silent is not None and listing.provider not in self._named:
                    raise _might_have(silent, found.ref)
                return found
        return None

    def _silent_in(self, listings: Sequence[Listing]) -> Listing | None:
        """Give a named provider that did not say which models it has."""
        named = (one for one in listings if one.provider in self._named)
        return next((one for one in named if not one.has_answered), None)

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
        asked = [self._registry.shown_name(one.provider) for one in here if not one.problem]
        silent = [self._registry.shown_name(one.provider) for one in listings if one.problem]
        names = {info.name for listing in listings for info in listing.models}
        near = self._as_address(name) or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        message = f"There is no model named {name!r}"
        if requirement is not None and any(same_model(name, known) for known in names):
            message = f"The model {name!r} cannot do what is asked of it"
        hint = f"Asked: {', '.join(asked) or 'nobody'}."
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
        """Give the address that a name with its provider in front was meant as."""
        provider, mark, model = name.replace(":", "/", 1).partition("/")
        is_meant = mark and model and self._registry.resolve(provider) is not None
        return [f"{provider}://{model}"] if is_meant else []


def _raise_unless_askable(listing: Listing) -> None:
    """Raise why a provider has no list, unless it may answer all the same.

    A busy server is slow to list, and some fail over their list alone.
    """
    problem = listing.problem
    if problem is None or problem.code == ErrorCode.TIMEOUT:
        return
    if problem.status != HTTPStatus.INTERNAL_SERVER_ERROR:
        raise problem


def _might_have(silent: Listing, other: ModelRef) -> AIError:
    """Say that a server that was named does not answer, and who else has a model of this name."""
    problem = silent.problem
    return AIError(
        problem.code if problem else ErrorCode.SERVICE_UNAVAILABLE,
        problem.message if problem else f"{silent.label} does not answer.",
        hint=f"{other} has a model of this name: write it so to ask it.",
        provider=silent.provider,
    )


def _fits(info: ModelInfo, requirement: ModelCapability | None) -> bool:
    """Whether a model can do what is required; one of which nothing is known may."""
    return requirement is None or info.capability is None or info.capability.covers(requirement)
