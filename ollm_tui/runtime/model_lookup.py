"""Models by their names: where they are, which are in memory, and how they think."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ollm_tui.chat.thinking import FindThinking
from ollm_tui.config.foreign import Redact
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, SupportsRunning
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.operations import list_running
from ollm_tui.providers.router import EMBEDDED, same_model

if TYPE_CHECKING:
    from ollm_tui.models.known_models import KnownModels
    from ollm_tui.models.thinking import ThinkingSupport

TIMEOUT_S = 5.0
"""How long a server may take to list its models, or to tell which are in memory."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model, and where it is."""

    adapter: ProviderAdapter
    ref: ModelRef
    info: ModelInfo | None
    """Its entry in its provider's list; None if it is not listed."""
    place: str
    """The server or folder, as questions name it."""


Adapters = Callable[[str], ProviderAdapter | None]


@dataclass(frozen=True, slots=True)
class InMemory:
    """The loaded models in the order of their providers, and the providers that failed."""

    models: list[tuple[ModelRef, ModelInfo]] = field(default_factory=list)
    problems: list[AIError] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    """Labels of the providers whose protocol cannot list them."""


async def list_in_memory(
    catalog: ModelCatalog, adapters: Adapters, *, within_s: float = TIMEOUT_S
) -> InMemory:
    """List the loaded models of all providers but services, each within a time limit."""
    listings = await catalog.refresh(within_s=within_s, services=False)
    answers: dict[str, list[ModelInfo]] = {}
    problems = {one.provider: one.problem for one in listings if one.problem is not None}
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
                problems[listing.provider] = AIError(
                    ErrorCode.TIMEOUT,
                    f"{listing.label} did not list the loaded models within {within_s:g} s.",
                    provider=listing.provider,
                    retryable=True,
                )
        elif listing.models and all(info.loaded is None for info in listing.models):
            unsupported.add(listing.provider)
        answers[listing.provider] = models

    async with anyio.create_task_group() as group:
        for listing in listings:
            if listing.problem is None and not listing.absent:
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


async def running_info(
    find: Adapters,
    redact: Redact,
    ref: ModelRef,
    *,
    within_s: float,
) -> ModelInfo | None:
    """Return what a provider says of one model in memory, with `loaded` False if it is not there.

    None if the provider cannot tell, or not in time.
    """
    adapter = find(ref.provider)
    if not isinstance(adapter, SupportsRunning):
        return None
    try:
        with anyio.fail_after(within_s):
            models = await list_running(adapter, redact)
    except (AIError, TimeoutError):
        return None
    running = next((one for one in models if same_model(ref.model, one.name)), None)
    return replace(running, loaded=True) if running else ModelInfo(name=ref.model, loaded=False)


def gpu_share_of(info: ModelInfo) -> float | None:
    """Return the share of a loaded model that is in GPU memory, 0 to 1; None if unknown."""
    on_gpu, whole = info.details.get("size_vram"), memory_of(info)
    if not isinstance(on_gpu, int) or not whole or whole < 0:
        return None
    return min(1.0, max(0.0, on_gpu / whole))


def memory_of(info: ModelInfo) -> int | None:
    """Return the bytes that a loaded model takes in memory; None if its server does not say."""
    memory = info.details.get("memory_bytes")
    return memory if isinstance(memory, int) else None


def find_thinking(known_models: "KnownModels", services: Collection[str]) -> FindThinking:
    """Return what looks up how a model thinks; `services` know it of theirs themselves."""

    def find(ref: ModelRef, info: ModelInfo | None) -> "ThinkingSupport | None":
        if ref.provider in services:
            return None
        if info is not None and ref.provider != EMBEDDED:
            # A path that a server reports is none of this machine.
            details = {key: value for key, value in info.details.items() if key != "path"}
            info = replace(info, details=details)
        thinking = known_models.of_model(ref.model, info).thinking
        return thinking.support if thinking is not None else None

    return find
