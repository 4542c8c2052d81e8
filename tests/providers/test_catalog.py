"""Listing all providers at once."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from traceback import walk_tb

import anyio
import pytest

from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing, ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from tests.support.providers import ScriptedProvider


def registry_of(*providers: ScriptedProvider) -> ProviderRegistry:
    registry = ProviderRegistry()
    for provider in providers:
        registry.register(provider)
    return registry


async def test_listings_come_as_they_are_answered() -> None:
    gate = anyio.Event()
    slow = ScriptedProvider("slow", list_gate=gate)
    quick = ScriptedProvider("quick", models=[ModelInfo(name="m")])
    seen = []
    async with ModelCatalog(registry_of(slow, quick)).listings() as answers:
        async for listing in answers:
            seen.append(listing.provider)
            gate.set()
    assert seen == ["quick", "slow"]


async def test_leaving_early_stops_asking() -> None:
    slow = ScriptedProvider("slow", list_gate=anyio.Event())
    async with ModelCatalog(registry_of(slow)).listings():
        pass


async def test_a_failure_is_one_listing_and_is_asked_again() -> None:
    broken = ScriptedProvider("a", list_error=AIError(ErrorCode.AUTH_FAILED, "Wrong key."))
    catalog = ModelCatalog(registry_of(broken, ScriptedProvider("b", models=[ModelInfo(name="m")])))
    first, second = await catalog.refresh()
    assert first.problem == AIError(ErrorCode.AUTH_FAILED, "Wrong key.")
    assert [m.name for m in second.models] == ["m"]
    broken.list_error = None
    assert (await catalog.listing("a")).problem is None


async def test_what_no_engine_reports_is_assumed_in_a_thread_for_the_whole_list() -> None:
    text, thinks = frozenset({"text"}), frozenset({"thinking", "tool_use"})
    asked: list[list[str]] = []

    def assume(models: Sequence[ModelInfo]) -> list[ModelInfo]:
        assert threading.current_thread() is not threading.main_thread()
        asked.append([info.name for info in models])
        return [replace(info, assumed=ModelCapability(text, text, thinks)) for info in models]

    full = ModelInfo(name="full", capability=ModelCapability(text, text, thinks))
    some = ScriptedProvider("a", models=[full, ModelInfo(name="m")])
    catalog = ModelCatalog(registry_of(some, ScriptedProvider("b", models=[full])))
    catalog.assume = assume
    first, second = await catalog.refresh()
    assert asked == [["full", "m"]]
    assert [capabilities_of(info).thinking.source for info in first.models] == ["known", "assumed"]
    assert second.models == (full,)


async def test_the_window_of_a_family_counts_for_services_alone() -> None:
    """A server may have loaded the model with a smaller one."""
    models = [ModelInfo(name="m")]
    registry = registry_of(*(ScriptedProvider(name, models=models) for name in ("cloud", "own")))
    catalog = ModelCatalog(registry, services=["cloud"])
    catalog.assume = lambda them: [replace(info, assumed_context=400_000) for info in them]
    windows = {one.provider: one.models[0].assumed_context for one in await catalog.refresh()}
    assert windows == {"cloud": 400_000, "own": None}


async def test_a_slow_provider_is_listed_with_the_time_it_was_given() -> None:
    catalog = ModelCatalog(registry_of(ScriptedProvider("a", list_gate=anyio.Event())))
    listing = await catalog.listing("a", within_s=0.01)
    assert listing.problem is not None
    assert "0.01 s" in listing.problem.message


@pytest.mark.parametrize("within_s", [None, 60])
async def test_a_time_limit_of_somebody_else_is_not_the_one_of_the_listing(
    within_s: float | None,
) -> None:
    async def initialize(_adapter: object) -> None:
        raise TimeoutError("of its own")

    catalog = ModelCatalog(registry_of(ScriptedProvider("a")))
    catalog.initialize = initialize
    with pytest.raises(TimeoutError, match="of its own"):
        await catalog.listing("a", within_s=within_s)


async def test_a_listing_is_asked_for_again_when_it_is_old() -> None:
    now = [0.0]
    provider = ScriptedProvider("a")
    catalog = ModelCatalog(registry_of(provider), max_age_s=30, clock=lambda: now[0])
    await catalog.listing("a")
    now[0] = 29
    await catalog.listing("a")
    assert provider.listed == 1
    now[0] = 31
    await catalog.listing("a")
    assert provider.listed == 2


async def test_a_forgotten_listing_is_asked_for_again() -> None:
    provider = ScriptedProvider("a")
    catalog = ModelCatalog(registry_of(provider))
    await catalog.refresh()
    catalog.forget("a")
    await catalog.refresh()
    catalog.forget()
    await catalog.refresh()
    assert provider.listed == 3


async def test_a_gate_keeps_a_preset_without_a_server_out() -> None:
    provider = ScriptedProvider("lmstudio")

    async def no_provider(_name: str) -> bool:
        return False

    listing = await ModelCatalog(registry_of(provider), gate=no_provider).listing("lmstudio")
    assert listing.absent
    assert provider.listed == 0


async def test_a_model_is_found_in_what_was_listed() -> None:
    catalog = ModelCatalog(registry_of(ScriptedProvider("a", models=[ModelInfo(name="m")])))
    ref = ModelRef("a", "m")
    assert catalog.find(ref) is None
    await catalog.refresh()
    assert catalog.find(ref) == ModelInfo(name="m")


async def test_an_empty_listing_with_a_remembered_error_is_a_problem() -> None:
    class Remembering(ScriptedProvider):
        last_error = AIError(ErrorCode.SERVICE_UNAVAILABLE, "Nobody there.")

    catalog = ModelCatalog(registry_of(Remembering("a")))
    depths = []
    for _ in range(2):
        listing: Listing = await catalog.listing("a")
        assert listing.problem == Remembering.last_error
        depths.append(len(list(walk_tb(Remembering.last_error.__traceback__))))
    assert depths[0] == depths[1], "the traceback of a kept error does not grow"


async def test_an_error_of_the_one_who_reads_the_listings_leaves_as_itself() -> None:
    catalog = ModelCatalog(registry_of(ScriptedProvider("a"), ScriptedProvider("b")))
    with pytest.raises(ZeroDivisionError):
        async with catalog.listings():
            raise ZeroDivisionError
