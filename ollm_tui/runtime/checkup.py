"""What there is to chat with, which servers answer, and what is missing, within a time limit."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio

from ollm_tui.config.provider_settings import ProviderSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.library.starter import starter_path
from ollm_tui.models.actions import ACTIONS
from ollm_tui.models.capabilities import ABILITIES, capabilities_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.base import UnusableProvider
from ollm_tui.providers.base_url import shown_address
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.discovery import ProbeResult
from ollm_tui.providers.http_errors import CHECK_KEY
from ollm_tui.providers.operations import has_method
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.runtime.engines import EngineProber
from ollm_tui.runtime.first_model import FirstModel, can_chat
from ollm_tui.runtime.media.engines_here import MediaEngine, media_engines
from ollm_tui.runtime.other_models import OtherFolders
from ollm_tui.runtime.provider_set import is_service

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime

TIMEOUT_S = 1.6
"""What all servers together may take to list their models."""
GRACE_S = 0.3
"""Extra time for listing the servers that did not answer."""
_SLOW = "It may be busy, or hang: check its log, or restart it."
State: TypeAlias = Literal["ok", "empty", "absent", "failed"]
"""With models to chat with, without any, not running and not configured, or failing."""
_OFFERS: Mapping[str, str] = {
    "list": "list_models",
    "show": "show_model",
    "pull": "pull_model",
    **{action: known.methods[0] for action, known in ACTIONS.items() if known.command},
    "running": "list_running",
    "count tokens": "count_tokens",
}
"""By the word for it, the method of an adapter that can do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCheck:
    """One provider."""

    name: str
    shown_name: str
    """Its name as people write it."""
    label: str
    state: State
    address: str | None = None
    """Host and port, without anything secret."""
    engine: str | None = None
    """The engine that answers there, as the probe found it."""
    version: str | None = None
    latency_ms: int | None = None
    has_key: bool = False
    models: int = 0
    chat_models: int = 0
    abilities: Mapping[str, tuple[int, int]]
    """For each ability how many models have it: for certain, and as assumed."""
    offers: tuple[str, ...] = ()
    """The operations that it supports."""
    answering: tuple[str, ...] = ()
    """Servers of a pool that answer."""
    silent: tuple[str, ...] = ()
    """Servers of a pool that do not answer."""
    problem: str | None = None
    advice: str | None = None
    is_own_advice: bool = False
    """Whether the advice holds nothing from settings, servers or the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """The whole result."""

    providers: tuple[ProviderCheck, ...]
    quiet: tuple[tuple[str, str], ...]
    """Engines that were neither configured nor found: label and address."""
    engine_installed: bool
    """Whether the built-in engine is installed."""
    engine_program: str | None
    """The llama-server that is used in place of the installed package."""
    starter_fetched: bool
    others: OtherFolders
    """Folders of other programs with models."""
    media: tuple[MediaEngine, ...]
    """What transcribes, speaks, draws, records and plays here."""
    model: str | None
    """The model of a new chat; without one you cannot chat."""
    shown_model: str | None
    """Its address as people write it."""
    reason: str
    """Why this model, or why none."""
    advice: str | None
    is_own_advice: bool
    """Whether it holds nothing from settings, servers or the environment."""


async def check_up(runtime: "Runtime", *, within_s: float = TIMEOUT_S) -> Checkup:
    """Query all servers, and return what is known of each."""
    registry, providers = runtime.registry, runtime.config.providers
    others, media = OtherFolders(), tuple[MediaEngine, ...]()

    async def look_at_folders() -> None:
        nonlocal others
        others = await runtime.other_folders()

    async def look_at_media() -> None:
        nonlocal media
        media = await media_engines(runtime.engine.espeak, runtime.config.sound)

    async with anyio.create_task_group() as group:
        group.start_soon(look_at_folders)
        group.start_soon(look_at_media)
        probes, pools = await _probe(runtime.catalog, runtime.prober, registry, providers, within_s)
    listings = _listings(runtime.catalog, registry)
    starter = await anyio.to_thread.run_sync(starter_path, runtime.paths.models_dir)
    program = runtime.engine.program
    ref, reason, advice, is_own_advice = await _first(runtime.first_model, listings)
    return Checkup(
        providers=tuple(
            _check(
                registry,
                providers.get(listing.provider),
                runtime.prober.address_of(listing.provider),
                listing,
                probes.get(listing.provider),
                pools.get(listing.provider, {}),
            )
            for listing in listings
            if not listing.absent
        ),
        quiet=tuple(
            (one.label, shown_address(address))
            for one in listings
            if one.absent and (address := runtime.prober.address_of(one.provider))
            if not is_service(providers[one.provider])
        ),
        engine_installed=runtime.engine.problem is None,
        engine_program=None if program is None else str(program),
        starter_fetched=starter is not None,
        others=others,
        media=media,
        model=str(ref) if ref else None,
        shown_model=runtime.catalog.shown_address(ref) if ref else None,
        reason=reason,
        advice=advice,
        is_own_advice=is_own_advice,
    )


async def _probe(
    catalog: ModelCatalog,
    prober: EngineProber,
    registry: ProviderRegistry,
    providers: Mapping[str, ProviderSettings],
    within_s: float,
) -> tuple[Mapping[str, ProbeResult], Mapping[str, Mapping[str, ProbeResult]]]:
    """List all models; return the probe of each provider, and of each address of a pool."""
    probes: dict[str, ProbeResult] = {}
    pools: dict[str, Mapping[str, ProbeResult]] = {}

    async def refresh() -> None:
        await catalog.refresh(within_s=within_s)

    async def probe(name: str) -> None:
        with suppress(AIError):  # the listing has the error
            result = await prober.probe(name)
            if result is not None:
                probes[name] = result

    async def probe_pool(name: str) -> None:
        pools[name] = await prober.probe_members(name)

    with anyio.move_on_after(within_s + GRACE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(refresh)
            for name in registry.list():
                settings = providers.get(name)
                if settings is not None and not is_service(settings):
                    group.start_soon(probe, name)
                    group.start_soon(probe_pool, name)
    for name in registry.list():  # some were found elsewhere only now
        address = prober.address_of(name)
        known = prober.discovery.known(address) if address else None
        if known is not None:
            probes[name] = known
    return probes, pools


def _listings(catalog: ModelCatalog, registry: ProviderRegistry) -> list[Listing]:
    known = {listing.provider: listing for listing in catalog.cached()}
    return [
        known.get(adapter.name)
        or Listing(
            provider=adapter.name,
            label=adapter.label,
            problem=AIError(ErrorCode.TIMEOUT, f"{adapter.label} does not answer in time."),
        )
        for adapter in registry.by_priority()
    ]


async def _first(
    first_model: Callable[[Sequence[Listing]], Awaitable[FirstModel]], listings: Sequence[Listing]
) -> tuple[ModelRef | None, str, str | None, bool]:
    """Return the first model, the reason, the advice, and whether that is our own."""
    try:
        with anyio.fail_after(1):
            first = await first_model(listings)
    except AIError as error:
        return None, error.message, error.hint, False
    except TimeoutError:
        return None, "The default provider does not answer in time.", None, True
    return first.ref, first.reason, first.advice, True


def _check(
    registry: ProviderRegistry,
    settings: ProviderSettings | None,
    address: str | None,
    listing: Listing,
    probe: ProbeResult | None,
    members: Mapping[str, ProbeResult],
) -> ProviderCheck:
    adapter = registry.get(listing.provider)
    answering = {at: result for at, result in members.items() if result.engine is not None}
    if answering:  # the first that answers speaks for a pool
        address, probe = next(iter(answering.items()))
    chats = [info for info in listing.models if can_chat(info)]
    engine = probe.engine if probe else None
    latency_s = probe.latency_s if probe else None
    check = ProviderCheck(
        name=listing.provider,
        shown_name=registry.shown_name(listing.provider),
        label=listing.label,
        state=_state(listing, settings, probe, has_models=bool(chats)),
        address=shown_address(address) if address else None,
        engine=engine.label if engine else None,
        version=engine.version if engine else None,
        latency_ms=None if latency_s is None else max(1, round(latency_s * 1000)),
        has_key=settings is not None and settings.api_key is not None,
        models=len(listing.models),
        chat_models=len(chats),
        abilities=_abilities(chats),
        offers=_offers(adapter),
        problem=listing.problem.message if listing.problem else None,
        answering=tuple(shown_address(one) for one in answering),
        silent=tuple(shown_address(one) for one in members if one not in answering),
    )
    advice = _advice(check, listing, settings, probe)
    return replace(check, advice=advice, is_own_advice=_is_start_hint(advice, listing.problem))


def _is_start_hint(advice: str | None, problem: AIError | None) -> bool:
    """Return whether an advice is how to start one server, a fixed sentence of the program."""
    if problem is None or "tried" in problem.details:  # a pool names itself
        return False
    return problem.details.get("fault") == "refused" and advice == problem.hint


def _state(
    listing: Listing,
    settings: ProviderSettings | None,
    probe: ProbeResult | None,
    *,
    has_models: bool,
) -> State:
    if listing.problem is None:
        return "ok" if has_models else "empty"
    is_unasked = settings is not None and settings.preset
    return "absent" if is_unasked and probe and probe.engine is None else "failed"


def _abilities(models: Sequence[ModelInfo]) -> dict[str, tuple[int, int]]:
    held = [capabilities_of(info) for info in models]
    counted: dict[str, tuple[int, int]] = {}
    for name in ABILITIES:
        having = [fact for one in held if (fact := one.ability(name)).value]
        assumed = sum(fact.source == "assumed" for fact in having)
        if having:
            counted[name] = (len(having) - assumed, assumed)
    return counted


def _offers(adapter: ProviderAdapter | None) -> tuple[str, ...]:
    if adapter is None or isinstance(adapter, UnusableProvider):
        return ()
    return ("chat", *(word for word, method in _OFFERS.items() if has_method(adapter, method)))


def _advice(
    check: ProviderCheck,
    listing: Listing,
    settings: ProviderSettings | None,
    probe: ProbeResult | None,
) -> str | None:
    """Return what to do next about a provider; None if nothing is wrong."""
    problem = listing.problem
    engine = probe.engine if probe else None
    if problem is not None and problem.code == ErrorCode.AUTH_FAILED and not check.has_key:
        own = problem.hint if problem.hint != CHECK_KEY else None  # there is none to check
        return own or f"Set api_key_env below [providers.{check.name}]."
    if check.state != "ok" and engine is not None and not engine.speaks_openai:
        return (
            f"Another program answers at {check.address}: correct base_url below "
            f"[providers.{check.name}], or start the server there."
        )
    if settings is not None and settings.backend and engine is not None and engine.backend:
        configured = {settings.backend, settings.kind}
        if engine.backend not in configured and listing.label != engine.label:
            return (
                f"The settings say {settings.backend}, and {engine.label} answers: "
                f"take `backend` out of [providers.{check.name}]."
            )
    if problem is not None:
        return problem.hint or (_SLOW if problem.code == ErrorCode.TIMEOUT else None)
    if check.silent:
        return f"Start it, or take it out of base_urls below [providers.{check.name}]."
    return _advice_when_empty(check) if check.state == "empty" else None


def _advice_when_empty(check: ProviderCheck) -> str | None:
    match check.engine or check.label:
        case "Ollama":
            pull = f"ollm models pull {check.shown_name}://qwen3:4b"
            return f"It has no model to chat with: `{pull}` downloads one."
        case "Built-in":
            return None  # the engine and its starter model have lines of their own
        case _:
            return "It has no model to chat with: load one there."
