"""A runtime for one action on a model, and the model that is meant."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import Output, UsageError
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import stopping
from ollm_tui.config.hosts import shown_url
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.router import same_model
from ollm_tui.runtime.compose import Runtime, open_runtime

T = TypeVar("T")
Work = Callable[[Runtime], Awaitable[T]]
PATIENCE_S = 5.0
"""How long a server may take to list its models."""


class Stopped(Exception):
    """A signal ended the action; everything it had open is closed."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model, and where it is."""

    adapter: ProviderAdapter
    ref: ModelRef
    info: ModelInfo | None
    place: str
    """The server as a question names it."""


def in_runtime(arguments: Arguments, output: Output, work: Work[T]) -> T:
    """Do something with a runtime and close it.

    Raises:
        AIError: what the work raised.
        Stopped: a signal came first.
    """
    loaded = load_for(default_paths(), os.environ, arguments.flags, output)
    return anyio.run(partial(_in_runtime, loaded, work))


async def _in_runtime(loaded: LoadedConfig, work: Work[T]) -> T:
    failure: AIError | None = None
    results: list[T] = []
    with stopping() as stop:
        async with open_runtime(loaded, default_paths()) as runtime:
            try:
                results.append(await work(runtime))
            except AIError as error:  # as itself, not in a group of what closes here
                failure = error
    if failure is not None:
        raise failure
    if not results:
        raise Stopped(stop.exit_code)
    return results[0]  # done is done, whatever a signal cut short while all was closed


async def find_model(runtime: Runtime, text: str) -> FoundModel:
    """Find the model that a person means, with what its provider's list says of it.

    Raises:
        AIError: there is no such provider or model.
        UsageError: nothing was named.
    """
    name = _named(text)
    provider = runtime.config.provider
    address = name if "://" in name or not provider else f"{provider}://{name}"
    found = await runtime.router.resolve(address)
    adapter, ref = found.provider, found.ref
    info = found.info
    if info is None:
        listing = await runtime.catalog.listing(adapter.name, within_s=PATIENCE_S)
        info = runtime.catalog.find(ref) or next(
            (one for one in listing.models if same_model(ref.model, one.name)), None
        )
        ref = ref if info is None else ModelRef(adapter.name, info.name)
    return FoundModel(adapter, ref, info, place_of(runtime, adapter))


async def provider_for(runtime: Runtime, text: str) -> tuple[ProviderAdapter, ModelRef]:
    """Give where a model that is not there yet belongs: to the provider named, or the default.

    Raises:
        AIError: there is no such provider.
        UsageError: nothing was named.
    """
    name = _named(text)
    ref = ModelRef.parse(name)
    if ref is None:
        adapter = await runtime.router.provider(runtime.registry.get_default().name)
        return adapter, ModelRef(adapter.name, name)
    named = await runtime.router.provider(ref.provider)
    return named, ModelRef(named.name, ref.model)


def place_of(runtime: Runtime, adapter: ProviderAdapter) -> str:
    """Name a provider with its addresses, without what is secret in them."""
    settings = runtime.config.providers.get(adapter.name)
    at = runtime.scout.address_of(adapter.name)
    own = settings.addresses if settings else ()
    # An engine that was found elsewhere is not where its settings say.
    addresses = [shown_url(address) for address in (own if at in own else (at,)) if address]
    return f"{adapter.label} at {' and '.join(addresses)}" if addresses else adapter.label


def _named(text: str) -> str:
    if not text.strip():
        raise UsageError("The model's name is empty.")
    return text.strip()
