"""Settings to a running runtime, over real adapters and no network but loopback."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter, SupportsList
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers.ollama.provider import OllamaProvider
from ollm_tui.runtime.compose import load_runtime, open_runtime
from tests.support.fake_anthropic import SIGNATURE, FakeAnthropic
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import serve
from tests.support.providers import ScriptedProvider


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))


async def test_a_model_of_a_server_is_found_and_answers(paths: AppPaths) -> None:
    async with serve(fake_ollama) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            first = await runtime.first_model()
            assert first.ref == ModelRef("local", "tiny:latest")
            assert first.reason == "already loaded"
            client = runtime.new_client(str(first.ref))
            async with client.chat("hello") as events:
                assert [type(event).__name__ async for event in events][-1] == "Finish"


async def test_a_named_provider_is_the_only_one_asked_for_a_first_model(paths: AppPaths) -> None:
    async with serve(fake_ollama) as ollama, serve(FakeOpenAI()) as other:
        environ = {"OLLAMA_HOST": ollama.url, "OPENAI_COMPATIBLE_HOST": other.url}
        async with load_runtime(Flags(provider="openai-compatible"), environ, paths)() as runtime:
            assert (await runtime.first_model()).ref == ModelRef("openai-compatible", "tiny")
        named = load_runtime(Flags(provider="openai-compatible", model="tiny"), environ, paths)
        async with named() as runtime:
            assert (await runtime.first_model()).ref == ModelRef("openai-compatible", "tiny")
    assert [request.path for request in ollama.received] == []


async def test_all_that_a_report_may_not_show_is_known(paths: AppPaths) -> None:
    paths.config_dir.mkdir()
    paths.config_file.write_text(
        '[providers.work]\nbase_url = "http://me:pass%21word@127.0.0.1:9/v1?code=a-query&api-version=1"\n'
        'api_key = "a-key"\nheaders = { "X-Team" = "a-header" }\nproxy = "http://me:by-proxy@p:1"\n'
        '[hub]\nendpoint = "https://me:at-the-hub@h.example"\ntoken = "a-token"\n'
    )
    paths.config_file.chmod(0o600)
    async with load_runtime(Flags(), {}, paths)() as runtime:
        secrets = set(runtime.secrets())
    expected = {"pass%21word", "pass!word", "a-query", "a-key", "a-header", "by-proxy"}
    expected |= {"at-the-hub", "a-token"}
    assert secrets >= expected
    assert "1" not in secrets


async def test_a_provider_with_an_undefined_key_says_so_only_when_used(paths: AppPaths) -> None:
    paths.config_dir.mkdir()
    paths.config_file.write_text(
        '[providers.work]\nbase_url = "http://127.0.0.1:9"\napi_key = "${NOT_SET}"\n'
    )
    async with load_runtime(Flags(), {}, paths)() as runtime:
        assert runtime.problems == ()
        found = await runtime.router.resolve("work://m")
        async with found.provider.chat_stream(Request(model="m", input="x")) as events:
            [only] = [event async for event in events]
        assert isinstance(only, ErrorEvent)
        assert "NOT_SET" in str(only.error)
        assert "config.toml:3" in str(only.error)
        with pytest.raises(AIError, match="NOT_SET"):
            await found.provider.invoke(Request(model="m", input="x"))


async def test_a_service_without_a_key_says_what_to_set_and_is_not_asked(paths: AppPaths) -> None:
    paths.config_dir.mkdir()
    paths.config_file.write_text('[providers.cloud]\nkind = "openai"\n')
    async with load_runtime(Flags(), {}, paths)() as runtime:
        shown = {one.provider for one in await runtime.catalog.refresh() if not one.absent}
        assert {"openai", "anthropic"}.isdisjoint(shown)
        runtime.remember_model("openai://gpt-9")
        assert (first := await runtime.first_model()).reason != "used last"
        assert {"OpenAI", "Anthropic"}.isdisjoint(first.silent)
        listing = await runtime.catalog.listing("cloud")
        assert listing.problem is not None
        assert listing.problem.code == ErrorCode.AUTH_FAILED
        assert listing.problem.hint == "Set api_key_env below [providers.cloud]."
        found = await runtime.router.resolve("anthropic://claude-x")
        with pytest.raises(AIError, match=r"Anthropic needs a key\. Set ANTHROPIC_API_KEY"):
            await found.provider.invoke(Request(model="claude-x", input="x"))


async def test_a_key_makes_a_service_available_and_it_is_not_asked_unasked(paths: AppPaths) -> None:
    environ = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}
    async with load_runtime(Flags(), environ, paths)() as runtime:
        service = ScriptedProvider("openai", models=[ModelInfo(name="gpt-9", size_bytes=1)])
        other = ScriptedProvider("anthropic", models=[ModelInfo(name="claude-9", size_bytes=1)])
        runtime.registry.register(service)
        runtime.registry.register(other)
        first = await runtime.first_model()
        assert first.ref is None or first.ref.provider not in {"openai", "anthropic"}
        assert not {"Scripted", "OpenAI", "Anthropic"}.intersection(
            first.with_models + first.silent
        )
        with pytest.raises(AIError, match="no model named"):
            await runtime.router.resolve("gpt-9")
        runtime.remember_model("openai://gpt-9")
        used = await runtime.first_model()
        assert (str(used.ref), used.reason) == ("openai://gpt-9", "used last")
        assert (service.listed, other.listed) == (0, 0)
        listings = await runtime.catalog.refresh(within_s=2)
        shown = {one.provider: [info.name for info in one.models] for one in listings}
        assert (shown["openai"], shown["anthropic"]) == (["gpt-9"], ["claude-9"])
        assert (service.listed, other.listed) == (1, 1)
    async with load_runtime(Flags(provider="openai"), environ, paths)() as runtime:
        named = ScriptedProvider("openai", models=[ModelInfo(name="gpt-9")])
        runtime.registry.register(named)
        assert (await runtime.first_model()).ref == ModelRef("openai", "gpt-9")


async def test_a_server_that_speaks_like_a_service_is_asked_like_any_server(
    paths: AppPaths,
) -> None:
    async with serve(FakeAnthropic()) as server:
        paths.config_dir.mkdir()
        paths.config_file.write_text(
            f'[providers.box]\nkind = "anthropic"\nbase_url = "{server.url}"\n'
        )
        async with load_runtime(Flags(), {}, paths)() as runtime:
            found = await runtime.router.resolve("small")
            assert found.ref == ModelRef("box", "small")
            client = runtime.new_client("box://tiny")
            async with client.chat("think") as events:
                assert [type(event).__name__ async for event in events][-1] == "Finish"
            (thought, text) = client.conversation.messages[-1].content
    assert thought == ThinkingContent("Let me see.", SIGNATURE, "box://tiny")
    assert text == TextContent("Yes.")


async def test_the_model_used_last_is_remembered_for_the_next_run(paths: AppPaths) -> None:
    async with serve(fake_ollama) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            runtime.remember_model("local://thinker:latest")
        async with load() as runtime:
            first = await runtime.first_model()
            assert (str(first.ref), first.reason) == ("local://thinker:latest", "used last")


async def test_two_programs_that_run_at_once_remember_the_models_of_both(paths: AppPaths) -> None:
    load = load_runtime(Flags(), {}, paths)
    async with load() as one, load() as other:
        one.remember_model("local://a")
        other.remember_model("local://b")
    async with load() as later:
        assert list(later.recent_models()) == ["local://b", "local://a"]


async def test_a_provider_without_an_address_says_so_where_it_is_named(paths: AppPaths) -> None:
    async with load_runtime(Flags(provider="openai-compatible"), {}, paths)() as runtime:
        first = await runtime.first_model()
        assert first.ref is None
        with pytest.raises(AIError, match="has no address"):
            await (await runtime.router.resolve("openai-compatible://m")).provider.invoke(
                Request(model="m", input="x")
            )
    model = Flags(model="openai-compatible://m")
    async with load_runtime(model, {}, paths)() as runtime:
        assert runtime.registry.get("openai-compatible") is not None
    async with load_runtime(Flags(), {}, paths)() as runtime:
        assert runtime.registry.get("openai-compatible") is None


async def test_a_problem_that_is_reported_again_and_again_does_not_grow(paths: AppPaths) -> None:
    paths.config_dir.mkdir()
    paths.config_file.write_text('[providers.cloud]\nkind = "openai"\n')
    async with load_runtime(Flags(), {}, paths)() as runtime:
        cloud = runtime.registry.get("cloud")
        assert isinstance(cloud, SupportsList)
        depths = []
        for _ in range(3):
            with pytest.raises(AIError) as caught:
                await cloud.list_models()
            depths.append(len(caught.traceback))
    assert depths[0] == depths[2]


@pytest.mark.parametrize("failure", [OSError("gone"), AIError(ErrorCode.ENGINE_ERROR, "stuck")])
async def test_a_provider_that_fails_to_close_keeps_no_other_from_closing(
    paths: AppPaths,
    failure: Exception,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[str] = []

    class Failing(ScriptedProvider):
        async def dispose(self) -> None:
            raise failure

    async def close(provider: OllamaProvider) -> None:
        await anyio.wait_all_tasks_blocked()
        closed.append(provider.name)

    async def embedded(*_: object) -> ProviderAdapter:
        return Failing("embedded")

    monkeypatch.setattr(OllamaProvider, "dispose", close)
    async with open_runtime(load_config(paths, {}), paths, embedded=embedded):
        pass
    assert closed == ["local"]
    assert "embedded could not be closed" in caplog.text


async def test_a_provider_that_never_closes_does_not_keep_the_program(
    paths: AppPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging(ScriptedProvider):
        async def dispose(self) -> None:
            await anyio.sleep_forever()

    async def embedded(*_: object) -> ProviderAdapter:
        return Hanging("embedded")

    monkeypatch.setattr("ollm_tui.providers.lifecycle.DISPOSE_S", 0.01)
    with anyio.fail_after(5):
        async with open_runtime(load_config(paths, {}), paths, embedded=embedded):
            pass


async def test_aliases_lead_to_their_provider(paths: AppPaths) -> None:
    async with load_runtime(Flags(), {}, paths)() as runtime:
        ollama = runtime.registry.resolve("ollama")
        assert ollama is not None
        assert ollama.name == "local"


async def test_the_window_of_a_model_is_asked_for_again(paths: AppPaths) -> None:
    async with serve(fake_ollama) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            info = await runtime.model_info(ModelRef("local", "tiny:latest"))
            assert info is not None
            assert info.context == 4096


async def test_a_chat_that_was_renamed_has_its_title_when_it_is_opened_again(
    paths: AppPaths,
) -> None:
    async with load_runtime(Flags(), {}, paths)() as runtime:
        runtime.registry.register(ScriptedProvider("scripted", models=[ModelInfo(name="m")]))
        client = runtime.new_client("scripted://m")
        async with client.chat("Why?") as events:
            async for _ in events:
                pass
        assert client.conversation.title == "Why?"
        await runtime.branches.rename(client, "Skies")
        assert client.conversation.title == "Skies"
        assert await runtime.branches.news(client) is None
        assert (await runtime.continue_chat("last")).conversation.title == "Skies"
