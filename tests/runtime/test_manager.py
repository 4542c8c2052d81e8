"""The models of several providers, inspected, loaded, copied and deleted from one place."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.runtime.compose import Runtime, load_runtime
from ollm_tui.runtime.details import ModelDetails, chat_values, in_chat
from ollm_tui.runtime.model_lookup import gpu_share_of
from tests.support.fake_backends import FakeLlamaCpp, FakeLMStudio, FakeLocalAI
from tests.support.fake_ollama import FOR_EVER, OllamaServer
from tests.support.fake_vllm import FakeVllm
from tests.support.http_server import Handler, Server, serve
from tests.support.hub_samples import scripted_model
from tests.support.providers import ScriptedProvider

if TYPE_CHECKING:
    from ollm_tui.runtime.manager import ModelManager

TINY = ModelRef("local", "tiny:latest")


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    made = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    made.config_dir.mkdir()
    return made


@asynccontextmanager
async def managed(
    paths: AppPaths, *, settings: str = "", **others: tuple[str, Handler]
) -> AsyncIterator[tuple[Runtime, OllamaServer, dict[str, Server]]]:
    """Open a runtime over a fake Ollama and others, each with the backend it is."""
    ollama = OllamaServer()
    async with AsyncExitStack() as stack:
        local = await stack.enter_async_context(serve(ollama))
        servers = {"local": local}
        for name, (backend, handler) in others.items():
            server = servers[name] = await stack.enter_async_context(serve(handler))
            settings += f'\n[providers.{name}]\nbackend = "{backend}"\nbase_url = "{server.url}"\n'
        paths.config_file.write_text(settings)
        load = load_runtime(Flags(), {"OLLAMA_HOST": local.url}, paths)
        yield await stack.enter_async_context(load()), ollama, servers


def value(details: ModelDetails, name: str) -> tuple[str, str]:
    [found] = [one for one in details.settings if one.name == name]
    return found.value, found.source


async def test_the_manager_is_what_front_ends_expect(paths: AppPaths) -> None:
    async with managed(paths) as (runtime, _, _):
        manager: ModelManager = runtime.manager
        assert manager.place(TINY).startswith("Ollama at http://127.0.0.1:")


async def test_all_that_ollama_tells_of_a_model_has_its_place(paths: AppPaths) -> None:
    async with managed(paths) as (runtime, _, servers):
        details = await runtime.manager.show(TINY)
    assert details.licence == "A licence.\n\nWith two paragraphs."
    assert (details.template, details.system) == ("{{ .Prompt }}", "You are tiny.")
    assert details.modelfile == "FROM tiny:latest"
    assert details.parameters == (("num_ctx", "2048"), ("stop", "<end>"))
    assert details.place == f"Ollama at {servers['local'].url}"
    assert (details.gpu_share, details.until) == (0.5, "2026-01-02T03:04:05.000000Z")
    assert details.info.size_bytes == 1000, "on the disk, not in memory"
    assert details.info.details["tokenizer"] == "gpt2"
    assert not {"licence", "template", "parameters"}.intersection(details.info.details)


async def test_every_setting_says_where_it_came_from(paths: AppPaths) -> None:
    settings = 'system_prompt = "Be brief."\n[options]\ntemperature = 0.25\nnum_ctx = 3000\n'
    async with managed(paths, settings=settings) as (runtime, _, _):
        details = await runtime.manager.show(TINY)
    file = paths.config_file
    assert value(details, "temperature") == ("0.25", f"{file}:3, options.temperature")
    assert value(details, "num_ctx") == ("3000", f"{file}:4, options.num_ctx")
    assert value(details, "system_prompt") == ("Be brief.", f"{file}:1, system_prompt")
    assert value(details, "stop") == ('["<end>"]', "the model file")
    assert value(details, "top_p") == ("", "the default of Ollama")
    [window] = [one for one in details.settings if one.name == "num_ctx"]
    assert [(one.value, one.source) for one in window.beneath] == [("2048", "the model file")]
    assert details.context is not None
    assert details.context.trained == 8192
    assert (details.context.configured, details.context.loaded) == (3000, 4096)
    assert (details.context.tokens, details.context.source) == (
        3000,
        f"{file}:4, options.num_ctx",
    )


async def test_the_window_that_the_user_set_for_a_model_counts(paths: AppPaths) -> None:
    settings = '[models."local://tiny:latest"]\ncontext = 1234\ntool_mode = "react"\n'
    async with managed(paths, settings=settings) as (runtime, _, _):
        details = await runtime.manager.show(TINY)
        bare = await runtime.manager.show(ModelRef("local", "thinker:latest"))
    assert details.context is not None
    assert (details.context.tokens, details.context.loaded, details.context.is_set) == (
        1234,
        4096,
        True,
    )
    assert details.context.source == (
        f'{paths.config_file}:2, models."local://tiny:latest".context'
    )
    assert value(details, "tool_mode")[0] == "react"
    assert bare.context is not None
    assert (bare.context.tokens, bare.context.source) == (2048, "the model file")


async def test_an_option_of_the_chat_counts_more_and_one_taken_back_counts_no_more(
    paths: AppPaths,
) -> None:
    settings = 'system_prompt = "S"\n[options]\ntemperature = 0.25\nnum_ctx = 3000\nseed = 7\n'
    settings += '[models."local://tiny:latest"]\ntool_mode = "react"\n'
    async with managed(paths, settings=settings) as (runtime, _, _):
        details = await runtime.manager.show(TINY)
        options = runtime.new_client().conversation.options
    assert in_chat(details, options, "S") == details
    changed = type(options)(temperature=1.5, num_ctx=999, top_k=3)
    chatted = in_chat(details, changed, "C")
    assert value(chatted, "system_prompt") == ("C", "/system in this chat")
    assert value(chatted, "tool_mode") == value(details, "tool_mode")
    assert value(chatted, "temperature") == ("1.5", "/set in this chat")
    warm = chat_values(type(options)(temperature=1.5, top_k=4), "W")
    of_profile = in_chat(details, changed, "W", ("warm", warm))
    assert value(of_profile, "system_prompt") == ("W", "the profile warm")
    assert value(of_profile, "temperature") == ("1.5", "the profile warm")
    assert value(of_profile, "top_k") == ("3", "/set in this chat")
    assert value(chatted, "top_k") == ("3", "/set in this chat")
    assert value(chatted, "seed") == ("", "the engine's default")
    assert value(chatted, "stop") == value(details, "stop")
    assert chatted.context is not None
    assert (chatted.context.tokens, chatted.context.source) == (999, "/set in this chat")
    back = in_chat(details, type(options)(), None)
    assert "S" not in [one.value for one in back.settings]
    assert value(back, "num_ctx") == ("2048", "the model file")


async def test_the_window_of_the_chat_counts_for_every_load_with_it_by_any_name(
    paths: AppPaths,
) -> None:
    other = OllamaServer()
    async with serve(other) as server:
        settings = f'[providers.gpu]\nkind = "ollama"\nbase_url = "{server.url}"\n'
        async with managed(paths, settings=settings, one=("llamacpp", FakeLlamaCpp())) as (
            runtime,
            _,
            _,
        ):
            named = await runtime.manager.show(ModelRef("gpu", "tiny:latest"))
            fixed = await runtime.manager.show(ModelRef("one", "tiny"))
    asked = GenerationOptions(num_ctx=999)
    windows = [in_chat(details, asked, None).context for details in (named, fixed)]
    assert [window and window.source for window in windows] == [
        "/set in this chat",
        "as loaded",
    ]


async def test_each_backend_tells_what_it_knows(paths: AppPaths) -> None:
    async with managed(
        paths,
        lab=("lmstudio", FakeLMStudio()),
        one=("llamacpp", FakeLlamaCpp()),
        fast=("vllm", FakeVllm()),
    ) as (runtime, _, _):
        manager = runtime.manager
        lab = await manager.show(ModelRef("lab", "tiny"))
        one = await manager.show(ModelRef("one", "tiny"))
        listing = await runtime.catalog.listing("fast")
        fast = await manager.show(ModelRef("fast", listing.models[0].name))
        with pytest.raises(AIError, match="has no model named 'gone'"):
            await manager.show(ModelRef("fast", "gone"))
    assert lab.context is not None
    assert (lab.context.trained, lab.context.loaded) == (32768, 4096)
    assert value(lab, "flash_attention") == ("true", "as loaded")
    assert value(lab, "num_ctx") == ("4096", "as loaded")
    assert one.template is not None
    assert one.context is not None
    assert one.context.source == "as loaded"
    assert fast.context is not None
    assert fast.context.source == "as loaded"
    assert fast.template is None
    assert value(fast, "keep_alive") == ("", "fast takes none")
    assert value(fast, "top_p") == ("", "the default of fast")


async def test_what_cannot_be_done_has_a_reason_without_asking_anybody(paths: AppPaths) -> None:
    async with managed(paths, fast=("vllm", FakeVllm()), mine=("localai", FakeLocalAI())) as (
        runtime,
        _,
        servers,
    ):
        manager = runtime.manager
        await runtime.catalog.refresh(services=False)
        asked = {name: len(server.received) for name, server in servers.items()}
        local = await manager.unavailable_reasons(TINY)
        asleep = await manager.unavailable_reasons(ModelRef("local", "thinker:latest"))
        fast = await manager.unavailable_reasons(ModelRef("fast", "tiny"))
        mine = await manager.unavailable_reasons(ModelRef("mine", "tiny"))
        assert {name: len(server.received) for name, server in servers.items()} == asked
        with pytest.raises(AIError, match="no provider named 'nowhere'"):
            await manager.unavailable_reasons(ModelRef("nowhere", "m"))
    assert set(local.values()) == {None}
    assert asleep["unload"] == "thinker:latest is not loaded."
    assert fast == {
        "show": None,
        "delete": "fast cannot delete models.",
        "copy": "fast cannot copy models.",
        "load": "fast cannot load models.",
        "unload": "fast cannot unload models.",
        "create": "fast cannot create models.",
        "quantize": "fast cannot quantize models.",
        "push": "fast cannot push models.",
        "keep": "fast cannot keep models loaded for a time.",
    }
    assert (mine["delete"], mine["load"]) == (None, "mine cannot load models.")


async def test_a_server_that_is_down_is_the_reason_for_everything(paths: AppPaths) -> None:
    settings = '[providers.gone]\nkind = "ollama"\nbase_url = "http://127.0.0.1:9"\n'
    settings += '[providers.wrong]\nkind = "openai"\nbase_url = "https://x.example"\n'
    settings += 'api_key = "${NOT_SET}"\n'
    async with managed(paths, settings=settings) as (runtime, _, _):
        problem = (await runtime.catalog.listing("gone")).problem
        reasons = await runtime.manager.unavailable_reasons(ModelRef("gone", "m"))
        wrong = await runtime.manager.unavailable_reasons(ModelRef("wrong", "m"))
    assert problem is not None
    assert set(reasons.values()) == {problem.message}
    assert all("NOT_SET" in (reason or "") for reason in wrong.values())


async def test_a_pool_can_what_all_its_members_can(paths: AppPaths) -> None:
    fakes = [OllamaServer(), OllamaServer()]
    async with serve(fakes[0]) as one, serve(fakes[1]) as two:
        settings = f'[providers.team]\nkind = "ollama"\nbase_urls = ["{one.url}", "{two.url}"]\n'
        async with managed(paths, settings=settings) as (runtime, _, _):
            manager, ref = runtime.manager, ModelRef("team", "tiny:latest")
            await runtime.catalog.listing("team")
            assert set((await manager.unavailable_reasons(ref)).values()) == {None}
            assert manager.place(ref) == f"team at {one.url} and {two.url}"
            await manager.load(ModelRef("team", "thinker:latest"), keep_alive="10m")
            assert [fake.kept["thinker:latest"] for fake in fakes] == ["10m", "10m"]
            await manager.delete(ref)
    assert not any("tiny:latest" in fake.models for fake in fakes)


async def test_a_model_of_this_machine_is_judged_by_the_shape_that_its_server_tells(
    paths: AppPaths,
) -> None:
    async with managed(paths) as (runtime, _, _):
        asleep = await runtime.manager.show(ModelRef("local", "thinker:latest"))
        awake = await runtime.manager.show(TINY)
    assert asleep.fit is not None
    assert (asleep.fit.context, asleep.fit.weights) == (2048, 1000)
    assert not asleep.fit.is_estimate
    # 2,048 tokens in 4 layers, 2 heads of 32 values for keys and as many for values, 2 bytes each
    assert asleep.fit.cache == 2048 * 4 * 2 * (32 + 32) * 2
    assert awake.fit is None, "what is free is what it has left"


async def test_a_file_of_another_program_is_kept_and_says_why(
    paths: AppPaths, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    paths.models_dir.mkdir(parents=True)
    model = scripted_model()
    (theirs / "other.gguf").write_bytes(model)
    (paths.models_dir / "own.gguf").write_bytes(model)
    settings = f'[embedded]\nmodel_folders = ["{theirs}"]\n'
    async with managed(paths, settings=settings) as (runtime, _, _):
        manager = runtime.manager
        await runtime.catalog.listing("embedded")
        own, other = ModelRef("embedded", "own"), ModelRef("embedded", "other")
        assert (await manager.unavailable_reasons(own))["delete"] is None
        why = (await manager.unavailable_reasons(other))["delete"]
        assert why
        with pytest.raises(AIError) as caught:
            await manager.delete(other)
        assert caught.value.hint == why
        details = await manager.show(own)
        assert details.path == str(paths.models_dir / "own.gguf")
        assert details.template is not None
        assert details.fit is not None
        assert not details.fit.is_estimate
        assert value(details, "num_ctx") == ("4096", "the default of embedded.context")
        assert details.context is not None
        assert details.context.source == "the default of embedded.context"
        await manager.delete(own)
    assert not (paths.models_dir / "own.gguf").exists()
    assert (theirs / "other.gguf").exists()


async def test_what_changed_is_asked_for_anew(paths: AppPaths) -> None:
    async with managed(paths) as (runtime, ollama, _):
        manager, catalog = runtime.manager, runtime.catalog

        async def known() -> dict[str, bool | None]:
            listing = await catalog.listing("local")
            return {info.name: info.loaded for info in listing.models}

        assert await known() == {"tiny:latest": True, "thinker:latest": False}
        await manager.run("unload", TINY)
        assert (await known())["tiny:latest"] is False
        assert await manager.copy(TINY, "other") == ModelRef("local", "other")
        assert "other:latest" in await known()
        await manager.load(ModelRef("local", "other:latest"), keep_alive="-1")
        assert (await known())["other:latest"] is True
        assert ollama.kept["other:latest"] == -1
        await manager.delete(ModelRef("local", "other:latest"))
        assert "other:latest" not in await known()
        with pytest.raises(AIError) as caught:
            await manager.delete(ModelRef("local", "other:latest"))
        assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
        assert runtime.catalog.find(TINY) is None, "a failure may have changed something too"


async def test_one_action_at_a_time_runs_on_a_model(paths: AppPaths) -> None:
    async with managed(paths) as (runtime, ollama, _):
        manager = runtime.manager
        slow = Loader("slow", models=[ModelInfo(name="m:latest"), ModelInfo(name="n")])
        runtime.registry.register(slow)
        async with anyio.create_task_group() as group:
            group.start_soon(manager.load, ModelRef("slow", "m"))
            await slow.began.wait()
            for second in ("unload", "load"):
                with pytest.raises(AIError, match="Another action on m:latest is in") as caught:
                    await manager.run(second, ModelRef("slow", "m:latest"))
                assert caught.value.code == ErrorCode.CONFLICT
            await manager.run("unload", ModelRef("slow", "n"))
            await manager.run("unload", TINY)
            slow.goes_on.set()
        await manager.run("unload", ModelRef("slow", "m"))
    assert slow.done == ["load m", "unload n", "unload m"]
    assert ollama.kept["tiny:latest"] == 0, "another model, at another server"


async def test_what_a_provider_cannot_do_is_its_sentence(paths: AppPaths) -> None:
    async with managed(paths, lab=("lmstudio", FakeLMStudio())) as (runtime, _, _):
        manager, ref = runtime.manager, ModelRef("lab", "big")
        with pytest.raises(AIError, match="cannot be told how long to keep a model") as caught:
            await manager.load(ref, keep_alive="10m")
        assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
        await manager.load(ref)
        for action in (manager.delete(ref), manager.copy(ref, "x")):
            with pytest.raises(AIError, match=r"cannot (delete|copy) models"):
                await action
        with pytest.raises(AIError, match="only be copied on its own server"):
            await manager.copy(TINY, "lab://x")


async def test_reports_come_side_by_side_and_a_missing_one_delays_no_other(
    paths: AppPaths,
) -> None:
    async with managed(paths, lab=("lmstudio", FakeLMStudio())) as (runtime, ollama, _):
        ollama.kept["tiny:latest"] = -1
        await runtime.manager.running()
        slow = ScriptedProvider("slow", models=[ModelInfo(name="m", loaded=True)])
        runtime.registry.register(slow)
        stuck = Stuck("stuck", models=[ModelInfo(name="s")])
        runtime.registry.register(stuck)
        found = await runtime.manager.in_memory(within_s=0.5)
    assert {str(ref) for ref, _ in found.models} == {
        "local://tiny:latest",
        "lab://tiny",
        "slow://m",
    }
    assert [problem.code for problem in found.problems] == [ErrorCode.TIMEOUT]
    [tiny] = [info for ref, info in found.models if ref == TINY]
    assert (gpu_share_of(tiny), tiny.details["expires_at"]) == (0.5, FOR_EVER)


class Stuck(ScriptedProvider):
    """Never tells what is loaded."""

    async def list_running(self) -> list[ModelInfo]:
        await anyio.sleep_forever()
        return []


class Loader(ScriptedProvider):
    """Loads a model when the test lets it."""

    def __init__(self, name: str, models: Sequence[ModelInfo]) -> None:
        super().__init__(name, models=models)
        self.began, self.goes_on = anyio.Event(), anyio.Event()
        self.done: list[str] = []

    async def load_model(self, name: str) -> None:
        self.done.append(f"load {name}")
        self.began.set()
        await self.goes_on.wait()

    async def unload_model(self, name: str) -> None:
        self.done.append(f"unload {name}")
