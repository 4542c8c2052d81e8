"""From a model's name to its provider."""

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef, from_alias
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

VISION = from_alias("vision")


def info(name: str, capability: ModelCapability | None = None) -> ModelInfo:
    return ModelInfo(name=name, capability=capability)


def refused() -> AIError:
    return AIError(ErrorCode.SERVICE_UNAVAILABLE, "Ollama does not answer.")


def router(*providers: ScriptedProvider) -> tuple[Router, ModelCatalog]:
    registry = ProviderRegistry()
    for provider in providers:
        registry.register(provider)
    catalog = ModelCatalog(registry)
    return Router(registry, catalog), catalog


async def test_an_address_goes_straight_to_its_provider_without_a_listing() -> None:
    provider = ScriptedProvider("vllm")
    found = await router(provider)[0].resolve("vllm://org/model")
    assert found.provider is provider
    assert found.ref == ModelRef("vllm", "org/model")
    assert provider.listed == 0


async def test_an_unknown_provider_is_named_with_the_known_ones() -> None:
    with pytest.raises(AIError, match=r"'nobody'.*vllm"):
        await router(ScriptedProvider("vllm"))[0].resolve("nobody://m")


async def test_a_bare_name_is_found_in_any_provider() -> None:
    first, second = (
        ScriptedProvider("a", models=[info("x")]),
        ScriptedProvider("b", models=[info("y")]),
    )
    found = await router(first, second)[0].resolve("y")
    assert found.ref == ModelRef("b", "y")


async def test_a_bare_name_means_the_tag_latest() -> None:
    found = await router(ScriptedProvider("local", models=[info("tiny:latest")]))[0].resolve("tiny")
    assert found.ref.model == "tiny:latest"


async def test_a_cached_listing_is_not_asked_again() -> None:
    provider = ScriptedProvider("a", models=[info("x")])
    route, _ = router(provider)
    await route.resolve("x")
    await route.resolve("x")
    assert provider.listed == 1


async def test_a_requirement_passes_over_models_that_cannot() -> None:
    blind = ScriptedProvider("a", models=[info("m", from_alias("chat"))])
    seeing = ScriptedProvider("b", models=[info("m", from_alias("vision"))])
    found = await router(blind, seeing)[0].resolve("m", VISION)
    assert found.ref.provider == "b"


async def test_a_model_that_cannot_do_it_is_distinguished_from_a_missing_one() -> None:
    blind = ScriptedProvider("a", models=[info("m", from_alias("chat"))])
    with pytest.raises(AIError, match="cannot do"):
        await router(blind)[0].resolve("m", VISION)


async def test_not_found_names_who_was_asked_who_was_silent_and_what_is_near() -> None:
    asked = ScriptedProvider("a", models=[info("qwen3:8b")])
    silent = ScriptedProvider("b", list_error=refused())
    with pytest.raises(AIError) as caught:
        await router(asked, silent)[0].resolve("qwen3:8")
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    assert "Asked: a." in str(caught.value)
    assert "No answer from: b." in str(caught.value)
    assert "Did you mean qwen3:8b?" in str(caught.value)


async def test_a_silent_server_costs_at_most_a_second() -> None:
    hanging = ScriptedProvider("slow", list_gate=anyio.Event())
    route, _ = router(hanging, ScriptedProvider("a", models=[info("x")]))
    with anyio.fail_after(5):
        started = anyio.current_time()
        assert (await route.resolve("x")).ref.provider == "a"
    assert anyio.current_time() - started < 4


async def test_local_prefers_ollama_when_it_has_the_model() -> None:
    ollama = ScriptedProvider("local", models=[info("m:latest")])
    embedded = ScriptedProvider("embedded", models=[info("m")])
    assert (await router(ollama, embedded)[0].resolve("local://m")).provider is ollama


async def test_local_falls_back_to_the_embedded_engine() -> None:
    ollama = ScriptedProvider("local", list_error=refused())
    embedded = ScriptedProvider("embedded", models=[info("m")])
    assert (await router(ollama, embedded)[0].resolve("local://m")).provider is embedded


async def test_local_with_neither_gives_the_connection_error() -> None:
    ollama = ScriptedProvider("local", list_error=refused())
    embedded = ScriptedProvider("embedded")
    with pytest.raises(AIError, match="Ollama does not answer"):
        await router(ollama, embedded)[0].resolve("local://m")


async def test_local_with_a_live_ollama_that_lacks_the_model_lets_ollama_say_so() -> None:
    ollama = ScriptedProvider("local", models=[info("other")])
    found = await router(ollama, ScriptedProvider("embedded"))[0].resolve("local://m")
    assert found.provider is ollama


async def test_local_with_an_ollama_too_busy_to_list_asks_it_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ollm_tui.providers.router.TIMEOUT_S", 0.01)
    ollama = ScriptedProvider("local", list_gate=anyio.Event())
    found = await router(ollama, ScriptedProvider("embedded"))[0].resolve("local://m")
    assert (found.provider, found.ref) == (ollama, ModelRef("local", "m"))


async def test_a_request_goes_to_the_provider_that_has_its_model() -> None:
    provider = ScriptedProvider("a", models=[info("m:latest")])
    route, _ = router(provider)
    answer = await route.invoke(Request(model="m", input="x"))
    assert not isinstance(answer, Response)
    async with answer as events:
        assert [event async for event in events]
    assert [request.model for request in provider.requests] == ["m:latest"]


async def test_an_input_becomes_what_its_model_makes_unless_the_request_says_what() -> None:
    embedder = ModelInfo(name="v", capability=from_alias("embedding"))
    provider = ScriptedProvider("a", models=[embedder, info("m")])
    route, _ = router(provider)
    for model, output in (("a://v", None), ("v", "text"), ("m", None)):
        async with await route.invoke(Request(model=model, input="x", output=output)):  # type: ignore[union-attr]
            pass
    assert [request.output for request in provider.requests] == ["embedding", "text", None]


async def test_a_bare_name_is_never_looked_for_at_a_service() -> None:
    service = ScriptedProvider("openai", models=[info("gpt-9")])
    server = ScriptedProvider("vllm", models=[info("other")])
    registry = ProviderRegistry()
    for provider in (service, server):
        registry.register(provider)
    catalog = ModelCatalog(registry, services={"openai"})
    found = Router(registry, catalog)
    with pytest.raises(AIError, match=r"Searched only by address: openai://gpt-9") as caught:
        await found.resolve("gpt-9")
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    assert (service.listed, server.listed) == (0, 1)
    assert (await found.resolve("openai://gpt-9")).provider is service
    assert service.listed == 0
    await catalog.refresh()  # as a person does who looks at the models
    assert service.listed == 1
    assert (await found.resolve("gpt-9")).ref == ModelRef("openai", "gpt-9")


async def test_services_that_were_listed_are_left_out_all_the_same() -> None:
    registry = ProviderRegistry()
    for name in ("openai", "vllm"):
        registry.register(ScriptedProvider(name, models=[info("x")]))
    catalog = ModelCatalog(registry, services={"openai"})
    assert {listing.provider for listing in await catalog.refresh()} == {"openai", "vllm"}
    [listing] = await catalog.refresh(services=False)
    assert listing.provider == "vllm"


async def test_not_found_names_providers_as_people_write_them() -> None:
    silent = ScriptedProvider("local", list_error=refused())
    registry = ProviderRegistry()
    registry.register(ScriptedProvider("embedded", models=[info("x")]))
    registry.register(silent)
    registry.register_alias("built-in", "embedded", is_shown=True)
    registry.register_alias("ollama", "local", is_shown=True)
    with pytest.raises(AIError) as caught:
        await Router(registry, ModelCatalog(registry)).resolve("nope")
    assert "Asked: built-in. No answer from: ollama." in str(caught.value)
