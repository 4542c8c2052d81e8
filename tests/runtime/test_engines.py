"""Who answers where decides which adapter a provider gets; over real servers on loopback."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.config import backends
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.models.capabilities import Fact, capabilities_of
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import SupportsTokenCount
from ollm_tui.providers.fingerprint import PATHS
from ollm_tui.providers.ollama.provider import OllamaProvider
from ollm_tui.providers.openai_compatible import (
    LlamaCppProvider,
    OpenAICompatibleProvider,
    VllmProvider,
)
from ollm_tui.providers.openai_compatible.llamacpp import LlamaCppRouterProvider
from ollm_tui.runtime.checkup import check_up
from ollm_tui.runtime.compose import Runtime, load_runtime
from tests.providers.engines import SHAPES
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, serve

LLAMACPP = "llama.cpp, which imitates ollama"


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))


@contextmanager
def usual_addresses(
    monkeypatch: pytest.MonkeyPatch, addresses: Mapping[str, str]
) -> Iterator[None]:
    """Let presets be looked for at other ports than those this machine may use."""
    dead_address = "http://127.0.0.1:9"
    moved = {
        name: dict(values)
        | ({"base_url": addresses.get(name, dead_address)} if "base_url" in values else {})
        for name, values in backends.BUILT_IN_PROVIDERS.items()
    }
    with monkeypatch.context() as patch:
        patch.setattr(backends, "BUILT_IN_PROVIDERS", moved)
        yield


@asynccontextmanager
async def running(
    paths: AppPaths, environ: Mapping[str, str], text: str = ""
) -> AsyncIterator[Runtime]:
    paths.config_dir.mkdir(exist_ok=True)
    paths.config_file.write_text(f"[chat]\nsave = false\n{text}")
    async with load_runtime(Flags(), environ, paths)() as runtime:
        yield runtime


def both(known_by: str, chats: Handler) -> Handler:
    """Make a server that is known as one engine and answers questions as a fake does."""

    async def answer(request: Received, reply: Reply) -> None:
        probed = request.method == "GET" and request.path in SHAPES[known_by].bodies
        await (SHAPES[known_by] if probed else chats)(request, reply)

    return answer


@pytest.mark.parametrize(
    ("variable", "provider"),
    [
        ("OPENAI_COMPATIBLE_HOST", "openai-compatible"),
        ("VLLM_HOST", "vllm"),
        ("OLLAMA_HOST", "local"),
    ],
)
async def test_a_server_named_by_the_environment_gets_the_adapter_of_its_engine(
    paths: AppPaths, variable: str, provider: str
) -> None:
    async with (
        serve(SHAPES[LLAMACPP]) as server,
        running(paths, {variable: server.url}) as runtime,
    ):
        listing = await runtime.catalog.listing(provider)
        assert (listing.label, listing.problem) == ("llama.cpp", None)
        assert [info.name for info in listing.models] == ["m0"]
        assert isinstance(runtime.registry.get(provider), LlamaCppProvider)


async def test_a_model_named_before_any_listing_is_asked_through_the_right_adapter(
    paths: AppPaths,
) -> None:
    async with (
        serve(both("vllm", FakeOpenAI())) as server,
        running(paths, {"OPENAI_COMPATIBLE_HOST": server.url}) as runtime,
    ):
        found = await runtime.router.resolve("openai-compatible://tiny")
        assert isinstance(found.provider, VllmProvider)
        assert isinstance(found.provider, SupportsTokenCount)
        asked = len(server.received)
        assert asked == len(PATHS)
        await runtime.router.resolve("openai-compatible://tiny")
        assert len(server.received) == asked


async def test_what_a_person_says_of_a_server_is_not_questioned(paths: AppPaths) -> None:
    async with serve(SHAPES[LLAMACPP]) as server:
        text = f'[providers.box]\nbase_url = "{server.url}"\nbackend = "vllm"\n'
        text += f'[providers.other]\nkind = "ollama"\nbase_url = "{server.url}"\n'
        async with running(paths, {}, text) as runtime:
            assert isinstance((await runtime.router.resolve("box://m")).provider, VllmProvider)
            other = await runtime.router.resolve("other://m")
            assert isinstance(other.provider, OllamaProvider)
    assert server.received == []


async def test_a_key_is_not_sent_with_a_probe(paths: AppPaths) -> None:
    async with serve(SHAPES["vllm with a key"]) as server:
        text = f'[providers.box]\nbase_url = "{server.url}"\napi_key = "sk-planted"\n'
        text += '[providers.box.headers]\nx-team = "planted-too"\n'
        async with running(paths, {}, text) as runtime:
            await runtime.catalog.adapter("box")
            assert len(server.received) == len(PATHS)
            assert "planted" not in str([request.headers for request in server.received])
            await runtime.catalog.listing("box")
    assert server.received[-1].headers["authorization"] == "Bearer sk-planted"


async def test_a_pool_gets_the_adapters_of_the_engine_that_its_servers_are(
    paths: AppPaths,
) -> None:
    shape = SHAPES["vllm"]
    async with serve(shape) as one, serve(shape) as other:
        text = f'[providers.box]\nbase_urls = ["{one.url}", "http://127.0.0.1:9", "{other.url}"]\n'
        async with running(paths, {}, text) as runtime:
            before = runtime.registry.get("box")
            assert not isinstance(before, SupportsTokenCount)
            assert isinstance(await runtime.catalog.adapter("box"), SupportsTokenCount)
            listing = await runtime.catalog.listing("box")
    assert (listing.label, len(listing.models)) == ("box", 2)


async def test_a_server_that_is_another_after_looking_again_gets_another_adapter(
    paths: AppPaths,
) -> None:
    now = ["vllm"]

    async def changing(request: Received, reply: Reply) -> None:
        await SHAPES[now[0]](request, reply)

    async with (
        serve(changing) as server,
        running(paths, {"OPENAI_COMPATIBLE_HOST": server.url}) as runtime,
    ):
        first = await runtime.catalog.adapter("openai-compatible")
        now[0] = LLAMACPP
        assert await runtime.catalog.adapter("openai-compatible") is first
        runtime.catalog.forget()
        second = await runtime.catalog.adapter("openai-compatible")
        assert (type(first), type(second)) == (VllmProvider, LlamaCppProvider)


async def test_a_silent_server_costs_a_second_at_most(paths: AppPaths) -> None:
    async def silent(_request: Received, _reply: Reply) -> None:
        await anyio.sleep_forever()

    async with (
        serve(silent) as server,
        running(paths, {"OPENAI_COMPATIBLE_HOST": server.url}) as runtime,
    ):
        with anyio.fail_after(3):
            found = await runtime.router.resolve("openai-compatible://m")
    assert found.provider.name == "openai-compatible"


@pytest.mark.parametrize(
    ("port_of", "shape", "name"),
    [
        ("vllm", "vllm", "vllm"),
        ("kobold", "kobold, which imitates ollama", "kobold"),
        ("lmstudio", "localai", "localai"),
        ("llamacpp", "llama.cpp that routes", "llamacpp"),
        ("kobold", "llama.cpp that routes", "llamacpp"),
        ("llamacpp", "ollama", "ollama-{port}"),
        ("vllm", LLAMACPP, "llamacpp"),
        ("localai", "a list without owners", "openai-compatible"),
    ],
)
async def test_what_answers_at_a_usual_port_is_offered_as_what_it_is(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch, port_of: str, shape: str, name: str
) -> None:
    async with serve(SHAPES[shape]) as server:
        expected = name.format(port=server.url.rpartition(":")[2])
        with usual_addresses(monkeypatch, {port_of: server.url}):
            async with running(paths, {}) as runtime:
                listings = await runtime.catalog.refresh()
                there = {one.provider for one in listings if not one.absent and one.models}
                assert there == {expected}
                assert {
                    one.provider for one in await runtime.catalog.refresh() if one.models
                } == there


@pytest.mark.parametrize(
    ("port_of", "shape", "name"),
    [
        ("llamacpp", "llama.cpp that routes", "llamacpp"),
        ("kobold", "llama.cpp that routes", "llamacpp"),
        ("llamacpp", "ollama", "ollama-{port}"),
    ],
)
async def test_a_model_of_an_engine_is_found_by_its_address_before_any_listing(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch, port_of: str, shape: str, name: str
) -> None:
    kind = OllamaProvider if shape == "ollama" else LlamaCppRouterProvider
    async with serve(SHAPES[shape]) as server:
        expected = name.format(port=server.url.rpartition(":")[2])
        with usual_addresses(monkeypatch, {port_of: server.url}):
            async with running(paths, {}) as runtime:
                found = await runtime.router.resolve(f"{expected}://some")
                assert isinstance(found.provider, kind)
                assert runtime.manager.place(found.ref).endswith(f" at {server.url}")
                asked = len(server.received)
                await runtime.router.resolve(f"{expected}://some")
                assert len(server.received) == asked


async def test_an_engine_at_a_usual_port_is_known_before_any_listing(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(SHAPES["llama.cpp that routes"]) as home, serve(SHAPES["ollama"]) as stray:
        addresses = {"llamacpp": home.url, "vllm": stray.url}
        with usual_addresses(monkeypatch, addresses):
            async with running(paths, {}) as runtime:
                at_home = (await runtime.router.resolve("llamacpp://m")).provider
                name = f"ollama-{stray.url.rpartition(':')[2]}"
                found = (await runtime.router.resolve(f"{name}://m")).provider
                with pytest.raises(AIError, match="no provider named 'nobody'"):
                    await runtime.router.resolve("nobody://m")
    assert isinstance(at_home, LlamaCppRouterProvider)
    assert isinstance(found, OllamaProvider)
    assert found.name == name


async def test_two_engines_of_a_kind_are_both_there(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(serve(SHAPES[LLAMACPP]))
        other = await stack.enter_async_context(serve(SHAPES[LLAMACPP]))
        with usual_addresses(monkeypatch, {"llamacpp": home.url, "vllm": other.url}):
            async with running(paths, {}) as runtime:
                found = {one.provider for one in await runtime.catalog.refresh() if one.models}
                labels = {one.label for one in runtime.catalog.cached() if one.models}
    port = other.url.rpartition(":")[2]
    assert found == {"llamacpp", f"llamacpp-{port}"}
    assert labels == {"llama.cpp", f"llama.cpp ({port})"}


@pytest.mark.parametrize("shape", ["a gateway with a key", "a web page", "one that redirects"])
async def test_other_programs_at_a_usual_port_are_no_providers(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    async with serve(SHAPES[shape]) as server:
        with usual_addresses(monkeypatch, {"vllm": server.url, "localai": server.url}):
            async with running(paths, {}) as runtime:
                listings = await runtime.catalog.refresh()
    there = {one.provider for one in listings if not one.absent}
    assert there <= {"local", "embedded"}


async def test_a_configured_server_at_a_usual_port_is_not_there_twice(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(SHAPES[LLAMACPP]) as server:
        with usual_addresses(monkeypatch, {"vllm": server.url}):
            environ = {"OPENAI_COMPATIBLE_HOST": server.url.replace("127.0.0.1", "localhost")}
            async with running(paths, environ) as runtime:
                found = [one.provider for one in await runtime.catalog.refresh() if one.models]
    assert found == ["openai-compatible"]


async def test_the_doctor_tells_of_an_engine_where_it_was_found(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(SHAPES["vllm"]) as server:
        with usual_addresses(monkeypatch, {"llamacpp": server.url}):
            async with running(paths, {}) as runtime:
                [found] = [one for one in (await check_up(runtime)).providers if one.models]
    assert (found.name, found.engine) == ("vllm", "vLLM")
    assert found.version is not None
    assert found.latency_ms is not None


async def test_a_model_of_an_engine_that_is_not_configured_answers(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(fake_ollama) as server:
        with usual_addresses(monkeypatch, {"localai": server.url}):
            async with running(paths, {}) as runtime:
                name = f"ollama-{server.url.rpartition(':')[2]}"
                first = await runtime.first_model()
                assert first.ref == ModelRef(name, "tiny:latest")
                async with runtime.new_client(str(first.ref)).chat("hello") as events:
                    assert [type(event).__name__ async for event in events][-1] == "Finish"


async def test_a_person_corrects_what_an_engine_says_of_a_model(paths: AppPaths) -> None:
    text = '[models."local://tiny:latest"]\nvision = true\ntools = false\n'
    async with (
        serve(fake_ollama) as server,
        running(paths, {"OLLAMA_HOST": server.url}, text) as runtime,
    ):
        info = (await runtime.router.resolve("tiny")).info
        assert info is not None
        held = capabilities_of(info)
        assert (held.vision, held.tools) == (Fact(True, "set"), Fact(False, "set"))
        assert info.capability is not None
        assert "image" in info.capability.input
        assert runtime.tool_mode("local://tiny:latest") == "react"


async def test_what_ollama_knows_of_a_model_is_asked_when_the_model_is_used(
    paths: AppPaths,
) -> None:
    async with (
        serve(fake_ollama) as server,
        running(paths, {"OLLAMA_HOST": server.url}) as runtime,
    ):
        ref = ModelRef("local", "thinker:latest")
        await runtime.catalog.listing("local")
        listed = runtime.catalog.find(ref)
        assert listed is not None
        before = [r.path for r in server.received].count("/api/show")
        info = await runtime.model_info(ref)
        assert info is not None
        assert info.capability is not None
        assert capabilities_of(info).thinking == Fact(True, "known")
        asked = [r.path for r in server.received].count("/api/show")
        assert asked - before == (0 if listed.capability else 1)
        assert (await runtime.model_info(ref)) is not None
        assert [r.path for r in server.received].count("/api/show") == asked


async def test_llama_cpp_is_found_at_its_newer_port_too(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert backends.FURTHER_ADDRESSES["llamacpp"] == ("http://127.0.0.1:9931",)
    async with serve(SHAPES["llama.cpp that routes"]) as server:
        with usual_addresses(monkeypatch, {}):
            further = {"llamacpp": (server.url,)}
            monkeypatch.setattr("ollm_tui.runtime.engines.FURTHER_ADDRESSES", further)
            async with running(paths, {}) as runtime:
                listings = await runtime.catalog.refresh()
                there = {one.provider: one.label for one in listings if one.models}
                found = await runtime.router.resolve("llamacpp://m0")
    assert there == {"llamacpp": "llama.cpp router"}
    assert isinstance(found.provider, LlamaCppRouterProvider)


@pytest.mark.parametrize(
    ("shape", "label", "problem"),
    [
        ("a list without owners", "OpenAI-compatible server", None),
        ("one that fails over its list", "OpenAI-compatible server", "could not list its models"),
        ("a web page", "localhost:{port}", "localhost:{port} answered with a web page"),
        ("ollama", "Ollama", None),
    ],
)
async def test_a_server_at_the_place_of_ollama_is_called_what_it_is(
    paths: AppPaths, shape: str, label: str, problem: str | None
) -> None:
    async with (
        serve(SHAPES[shape]) as server,
        running(paths, {"OLLAMA_HOST": server.url}) as runtime,
    ):
        listing = await runtime.catalog.listing("local")
    port = server.url.rpartition(":")[2]
    assert listing.label == label.format(port=port)
    if problem is None:
        assert listing.problem is None
    else:
        assert listing.problem is not None
        assert problem.format(port=port) in listing.problem.message


async def test_a_list_that_fails_does_not_hinder_a_model_that_is_named(
    paths: AppPaths,
) -> None:
    async with (
        serve(SHAPES["one that fails over its list"]) as server,
        running(paths, {"OLLAMA_HOST": server.url}) as runtime,
    ):
        found = await runtime.router.resolve("local://m")
    assert (found.ref, type(found.provider)) == (
        ModelRef("local", "m"),
        OpenAICompatibleProvider,
    )


async def test_servers_of_one_s_own_are_called_by_their_names(paths: AppPaths) -> None:
    text = "".join(
        f'[providers.{name}]\nkind = "{kind}"\nbase_url = "http://127.0.0.1:9"\n'
        for name, kind in (("big", "ollama"), ("mine", "anthropic"), ("anthropic", "anthropic"))
    )
    async with running(paths, {}, text) as runtime:
        labels = {adapter.name: adapter.label for adapter in runtime.registry.by_priority()}
    assert (labels["big"], labels["mine"], labels["anthropic"]) == ("big", "mine", "anthropic")
    assert labels["local"] == "Ollama"
    async with running(paths, {"ANTHROPIC_API_KEY": "k-1"}) as runtime:
        adapter = runtime.registry.get("anthropic")
        assert adapter is not None
        assert adapter.label == "Anthropic"


async def test_only_engines_that_keep_models_for_a_time_are_offered_times(
    paths: AppPaths,
) -> None:
    async with (
        serve(SHAPES["llama.cpp that routes"]) as server,
        serve(fake_ollama) as ollama,
        running(
            paths, {"OPENAI_COMPATIBLE_HOST": server.url, "OLLAMA_HOST": ollama.url}
        ) as runtime,
    ):
        await runtime.catalog.refresh()
        router = await runtime.manager.unavailable_reasons(ModelRef("openai-compatible", "m0"))
        local = await runtime.manager.unavailable_reasons(ModelRef("local", "m"))
    assert (local["load"], local["keep"]) == (None, None)
    assert router["keep"] == "llama.cpp router cannot keep models loaded for a time."


async def test_who_cannot_tell_what_is_loaded_is_not_taken_for_one_with_nothing_loaded(
    paths: AppPaths,
) -> None:
    async with (
        serve(SHAPES["a list without owners"]) as unknown,
        serve(SHAPES["vllm"]) as vllm,
        running(paths, {"OPENAI_COMPATIBLE_HOST": unknown.url, "VLLM_HOST": vllm.url}) as runtime,
    ):
        found = await runtime.manager.in_memory()
    assert [str(ref) for ref, _ in found.models] == ["vllm://m0", "vllm://m1"]
    assert found.unsupported == ["OpenAI-compatible server"]
