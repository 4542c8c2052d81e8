"""A runtime's downloads: made when wanted, closed with it, gone on with by the next."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.library.downloads.job import HubFiles, Job, JobState, ProviderPull
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.compose import Runtime, load_runtime
from tests.support.fake_hub import FakeHub, serve_hub
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import serve
from tests.support.hub_repos import PIECE, FakeFile, FakeRepo
from tests.support.hub_samples import TOKEN, scripted_model, shards_of

HALF = 32 * PIECE


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths(*(tmp_path / name for name in ("config", "data", "state", "cache")))


async def ended(runtime: Runtime, state: JobState = "done") -> Job:
    with anyio.fail_after(30):
        while True:
            (job,) = runtime.downloads.jobs()
            if job.state == state:
                return job
            await anyio.sleep(0.005)


async def origin_of(runtime: Runtime, repo: str) -> HubFiles:
    found = await runtime.hub.repo(repo)
    (variant,) = found.variants
    return HubFiles(repo=repo, revision=found.revision, name=variant.name, files=variant.files)


async def test_using_its_parts_downloads_nothing(paths: AppPaths) -> None:
    async with load_runtime(Flags(), {}, paths)() as runtime:
        assert runtime.hub.address == "https://huggingface.co"
        assert runtime.downloads is runtime.downloads
        assert (await runtime.machine()).ram_total
        assert not (paths.state_dir / "downloads").exists()


async def test_a_model_of_a_hub_can_be_chatted_with_at_once(paths: AppPaths) -> None:
    hub = FakeHub(
        [FakeRepo("someone/Scripted-GGUF", [FakeFile("Scripted-Q8_0.gguf", scripted_model())])]
    )
    async with (
        serve_hub(hub),
        load_runtime(Flags(), {"HF_ENDPOINT": hub.url}, paths)() as runtime,
    ):
        listing = await runtime.catalog.listing("embedded")
        assert listing.models == ()
        await runtime.downloads.add(await origin_of(runtime, "someone/Scripted-GGUF"))
        job = await ended(runtime)
        assert job.model == "embedded://Scripted-Q8_0"
        ref = ModelRef.parse(job.model)
        assert ref is not None
        assert await runtime.model_info(ref) is not None


async def test_a_deleted_model_is_no_longer_among_what_was_fetched(paths: AppPaths) -> None:
    hub = FakeHub(
        [FakeRepo("someone/Scripted-GGUF", [FakeFile("Scripted-Q8_0.gguf", scripted_model())])]
    )
    async with (
        serve_hub(hub),
        load_runtime(Flags(), {"HF_ENDPOINT": hub.url}, paths)() as runtime,
    ):
        await runtime.downloads.add(await origin_of(runtime, "someone/Scripted-GGUF"))
        ref = ModelRef.parse((await ended(runtime)).model or "")
        assert ref is not None
        await runtime.manager.delete(ref)
        assert runtime.downloads.jobs() == []


async def test_a_second_model_of_one_name_gets_the_address_of_its_own(paths: AppPaths) -> None:
    repos = [
        FakeRepo(name, [FakeFile("Scripted-Q8_0.gguf", scripted_model())])
        for name in ("one/Scripted", "two/Scripted")
    ]
    hub = FakeHub(repos)
    async with (
        serve_hub(hub),
        load_runtime(Flags(), {"HF_ENDPOINT": hub.url}, paths)() as runtime,
    ):
        await runtime.downloads.add(await origin_of(runtime, "one/Scripted"))
        first = await ended(runtime)
        await runtime.downloads.dismiss(first.id)
        await runtime.downloads.add(await origin_of(runtime, "two/Scripted"))
        second = await ended(runtime)
        assert first.model == "embedded://Scripted-Q8_0"
        assert second.model == "embedded://two--Scripted/Scripted-Q8_0"


async def test_a_download_ends_with_its_runtime_and_goes_on_with_the_next(paths: AppPaths) -> None:
    shards = shards_of("Big-Q8_0", 2, 3_000_000)
    hub = FakeHub([FakeRepo("o/Big", shards)])

    def pace(_count: int) -> float:
        sent = sum(asked.sent for asked in hub.asked if asked.to_files)
        return 30.0 if sent >= HALF else 0.0

    hub.pace = pace
    async with serve_hub(hub):
        environ = {"HF_ENDPOINT": hub.url}
        async with load_runtime(Flags(), environ, paths)() as runtime:
            await runtime.downloads.add(await origin_of(runtime, "o/Big"))
            with anyio.fail_after(30):
                while runtime.downloads.jobs()[0].completed < HALF:
                    await anyio.sleep(0.005)
        hub.pace = None
        async with load_runtime(Flags(), environ, paths)() as runtime:
            runtime.download_service.go_on()
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(30):
                while not runtime.downloads.jobs():
                    await anyio.sleep(0.005)
            await ended(runtime)
        whole = sum(file.size for file in shards)
        assert sum(asked.sent for asked in hub.asked if asked.to_files) == whole


async def test_no_file_holds_a_token_or_a_signature(paths: AppPaths, tmp_path: Path) -> None:
    file = FakeFile("Secret-Q8_0.gguf", pattern=(3_000_000, 1))
    hub = FakeHub([FakeRepo("o/Secret", [file], private=True)])
    hub.tokens = {TOKEN: frozenset({"o/Secret"})}
    hub.pace = lambda _count: 30.0 if sum(one.sent for one in hub.asked) >= HALF // 2 else 0.0
    async with serve_hub(hub):
        environ = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
        async with load_runtime(Flags(), environ, paths)() as runtime:
            await runtime.downloads.add(await origin_of(runtime, "o/Secret"))
            with anyio.fail_after(30):
                while not runtime.downloads.jobs()[0].completed:
                    await anyio.sleep(0.005)
        queries = [one.path.partition("Signature=")[2] for one in hub.asked if one.to_files]
    assert all(queries)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))
    assert b"o/Secret" in written
    for secret in (TOKEN, *queries):
        assert secret.encode() not in written


async def test_a_pull_is_one_of_the_downloads(paths: AppPaths) -> None:
    async with serve(OllamaServer()) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            await runtime.catalog.listing("local")
            await runtime.downloads.add(ProviderPull(provider="ollama", model="new:1b"))
            job = await ended(runtime)
            assert job.model == "local://new:1b"
            assert runtime.catalog.cached() == (), "it is listed anew"
            with pytest.raises(AIError, match="cannot pull"):
                await runtime.downloads.add(ProviderPull(provider="embedded", model="x"))
            with pytest.raises(AIError):
                await runtime.downloads.add(ProviderPull(provider="nobody", model="x"))


async def test_a_paused_pull_of_an_ollama_does_not_say_that_it_goes_on(paths: AppPaths) -> None:
    async with (
        serve(OllamaServer()) as server,
        load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)() as runtime,
    ):
        job = await runtime.downloads.add(ProviderPull(provider="local", model="stuck:1b"))
        with anyio.fail_after(30):
            while runtime.downloads.jobs()[0].completed == 0:
                await anyio.sleep(0.005)
        await runtime.downloads.pause(job.id)
        assert [(one.state, one.note) for one in runtime.downloads.jobs()] == [("paused", "")]


async def test_a_hub_that_the_settings_do_not_say_is_not_asked(paths: AppPaths) -> None:
    async with load_runtime(Flags(), {"HF_ENDPOINT": "ftp://h.example"}, paths)() as runtime:
        with pytest.raises(AIError, match=r"hub\.endpoint"):
            await runtime.hub.search("x")
        assert runtime.hub.token_for("https://huggingface.co/x") is None


async def test_nothing_of_the_downloads_is_loaded_before_it_is_wanted(paths: AppPaths) -> None:
    async with load_runtime(Flags(), {}, paths)() as runtime:
        runtime.download_service.go_on()
        await anyio.wait_all_tasks_blocked()
        assert "queue" not in vars(runtime.download_service)
