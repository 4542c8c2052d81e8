"""What is in memory, at every provider that can tell."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, SupportsRunning
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.operations import list_running
from ollm_tui.runtime.model_lookup import PATIENCE_S

Adapters = Callable[[str], ProviderAdapter | None]


@dataclass(frozen=True, slots=True)
class InMemory:
    """The loaded models, in the order of their providers, and who could not tell theirs."""

    models: list[tuple[ModelRef, ModelInfo]] = field(default_factory=list)
    problems: list[AIError] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    """Labels of those whose protocol has no way to say it."""


async def ask_all(
    catalog: ModelCatalog, adapters: Adapters, *, within_s: float = PATIENCE_S
) -> InMemory:
    """Ask all providers side by side, each within a time; services on the internet have none."""
    listings = await catalog.refresh(within_s=within_s, services=False)
    answers: dict[str, list[ModelInfo]] = {}
    problems: dict[str, AIError] = {}
    untold: set[str] = set()

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
                problems[listing.provider] = _too_slow(listing, within_s)
        elif listing.models and all(info.loaded is None for info in listing.models):
            untold.add(listing.provider)
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
        [one.label for one in listings if one.provider in untold],
    )


def gpu_share_of(info: ModelInfo) -> float | None:
    """Give the part of a loaded model that is in graphics memory, 0 to 1; None if nobody says."""
    on_gpu, whole = info.details.get("size_vram"), memory_of(info)
    if not isinstance(on_gpu, int) or not whole or whole < 0:
        return None
    return min(1.0, max(0.0, on_gpu / whole))


def memory_of(info: ModelInfo) -> int | None:
    """Give the bytes that a loaded model takes; an entry of those in memory has no other size."""
    memory = info.details.get("memory_bytes")
    return memory if isinstance(memory, int) else info.size_bytes


def until_of(info: ModelInfo) -> str | None:
    """Give when a loaded model leaves memory, as its server wrote it."""
    until = info.details.get("expires_at")
    return until if isinstance(until, str) and until else None


def _too_slow(listing: Listing, within_s: float) -> AIError:
    return AIError(
        ErrorCode.TIMEOUT,
        f"{listing.label} did not list the loaded models within {within_s:g} s.",
        provider=listing.provider,
        retryable=True,
    )
