"""Files of a hub and files at addresses: where they go, what is told, and what is refused."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.file_io import Environment
from ollm_tui.library.downloads.job import HubFiles, UrlFile
from ollm_tui.library.downloads.transfer import transfer
from ollm_tui.library.downloads.transfer_run import FileSource
from ollm_tui.library.downloads.web_download import HubDownload, UrlDownload
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.hub.client import HubClient
from ollm_tui.library.hub.repo import HubFile
from ollm_tui.library.provenance import provenance_facts
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.fetcher import HttpFetcher
from tests.support.fake_hub import FakeHub, serve_hub
from tests.support.hub_repos import FakeFile, FakeRepo
from tests.support.hub_samples import TOKEN, sample_hub, scripted_model, shards_of
from tests.support.sound_models import description

LARGE, GATED, SPEECH = "another/Large-70B-GGUF", "another/Gated-8B-GGUF", "someone/whisper.cpp"
SIZE = 200_000


async def address_of(path: Path) -> str:
    return f"embedded://{path.name}"


@dataclass
class Place:
    """A hub, and the folder that its files go to."""

    server: FakeHub
    hub: HubClient
    fetcher: HttpFetcher
    root: Path
    steps: list[Progress] = field(default_factory=list)

    async def origin(self, repo: str, name: str) -> HubFiles:
        found = await self.hub.repo(repo)
        variant = next(one for one in found.variants if one.name == name)
        return HubFiles(
            repo=repo,
            revision=found.revision,
            name=variant.name,
            files=variant.files,
            licence=found.model.licence,
            kind=variant.kind,
        )

    def work(self, origin: HubFiles) -> HubDownload:
        return HubDownload(origin, self.hub, self.fetcher, self.root, self._address_of)

    def file(self, url: str, sha256: str | None = None) -> UrlDownload:
        origin = UrlFile(url=url, sha256=sha256)
        return UrlDownload(origin, self.hub, self.fetcher, self.root, self._address_of)

    async def _address_of(self, path: Path) -> str:
        return f"embedded://{path.name}"

    def left(self) -> set[str]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)) for path in files}


@asynccontextmanager
async def place(folder: Path, server: FakeHub, token: str | None = None) -> AsyncIterator[Place]:
    async with serve_hub(server), aclosing(HttpFetcher()) as fetcher:
        hub = HubClient(fetcher, server.url, token)
        yield Place(server, hub, fetcher, folder / "models")


async def test_all_parts_are_one_download(tmp_path: Path) -> None:
    async with place(tmp_path, sample_hub(SIZE)) as here:
        origin = await here.origin(LARGE, "Large-70B-Q4_K_M")
        work = here.work(origin)
        assert await work.title() == "Large-70B-Q4_K_M"
        address = await work.run(here.steps.append)
    folder = here.root / "another--Large-70B-GGUF" / "Q4_K_M"
    names = [f"Large-70B-Q4_K_M-0000{part}-of-00003.gguf" for part in (1, 2, 3)]
    assert address == f"embedded://{names[0]}"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*names, f"{names[0]}.origin.json"]
    )
    files = {Path(file.path).name: file for file in here.server.repos[3].files}
    for name in names:
        assert (folder / name).read_bytes() == b"".join(files[name].pieces(0, files[name].size))
    assert provenance_facts(folder / names[0]) == {
        "fetched_from": LARGE, "revision": origin.revision, "licence": "llama3.1",
    }  # fmt: skip
    total = SIZE * 5 // 2
    assert {step.total for step in here.steps} == {total}
    completed = [step.completed for step in here.steps]
    assert completed == sorted(completed)
    assert completed[-1] == total
    jumps = [step.completed for step in here.steps if step.is_jump]
    assert jumps == [0], "the speed goes on from one part to the next"
    assert {step.note.rpartition(", ")[2] for step in here.steps} == {
        "file 1 of 3", "file 2 of 3", "file 3 of 3",
    }  # fmt: skip


async def test_what_was_stopped_in_the_second_part_goes_on_there(tmp_path: Path) -> None:
    shards = shards_of("Big-Q8_0", 3, 4_000_000)
    server = FakeHub([FakeRepo("o/Big", shards)], pace=lambda _count: 0.0005)
    async with place(tmp_path, server) as here:
        work = here.work(await here.origin("o/Big", "Big-Q8_0"))
        with anyio.CancelScope() as scope:

            def stop(step: Progress) -> None:
                if step.completed > 6_000_000:
                    scope.cancel()

            await work.run(stop)
        asked = len(server.asked)
        await work.run(here.steps.append)
        assert here.steps[0].completed >= 5_500_000
        again = [
            one.path for one in server.asked[asked:] if one.to_files and "00001-of" in one.path
        ]
        assert again == [], "the first part is there"
        await work.run(here.steps.append)
        assert here.left() == {
            *(f"o--Big/{file.path}" for file in shards),
            f"o--Big/{shards[0].path}.origin.json",
        }


async def test_cancelling_removes_all_parts_but_not_what_an_earlier_download_brought(
    tmp_path: Path,
) -> None:
    shards = shards_of("Q8_0/Big-Q8_0", 3, 2_000_000)
    server = FakeHub([FakeRepo("o/Big", shards)], pace=lambda _count: 0.0005)
    async with place(tmp_path, server) as here:
        work = here.work(await here.origin("o/Big", "Big-Q8_0"))
        with anyio.CancelScope() as scope:

            def stop(step: Progress) -> None:
                if step.completed > 3_000_000:
                    scope.cancel()

            await work.run(stop)
        assert len(here.left()) >= 2
        await work.discard()
        assert list(here.root.iterdir()) == []
        await work.run(here.steps.append)
        whole = here.left()
        await work.discard()
        assert here.left() == whole


async def test_without_sums_a_later_run_knows_the_parts_that_came(tmp_path: Path) -> None:
    shards = shards_of("Big-Q8_0", 3, 2_000_000)
    server = FakeHub([FakeRepo("o/Big", shards)], pace=lambda _count: 0.0005)
    async with place(tmp_path, server) as here:
        listed = await here.origin("o/Big", "Big-Q8_0")
        origin = replace(listed, files=tuple(replace(one, sha256=None) for one in listed.files))
        with anyio.CancelScope() as scope:

            def stop(step: Progress) -> None:
                if step.completed > 4_500_000:
                    scope.cancel()

            await here.work(origin).run(stop)
        for _ in range(2):  # the record outlives a run that only looked
            with anyio.CancelScope() as scope:
                await here.work(origin).run(lambda _step: scope.cancel())
        assert await here.work(origin).run(here.steps.append) is not None
        assert here.left() == {
            *(f"o--Big/{file.path}" for file in shards),
            f"o--Big/{shards[0].path}.origin.json",
        }


async def test_a_file_of_that_size_that_was_there_before_survives_a_cancelled_download(
    tmp_path: Path,
) -> None:
    (shard, *_) = shards_of("Big-Q8_0", 1, 2_000_000)
    async with place(tmp_path, FakeHub([FakeRepo("o/Big", [shard])])) as here:
        origin = await here.origin("o/Big", "Big-Q8_0")
        own = here.root / "o--Big" / shard.path
        own.parent.mkdir(parents=True)
        own.write_bytes(b"mine" * (shard.size // 4))
        with pytest.raises(AIError, match="already"):
            await here.work(origin).run(here.steps.append)
        await here.work(origin).discard()
        assert own.read_bytes() == b"mine" * (shard.size // 4)


async def test_all_parts_have_to_fit_before_the_first_is_fetched(tmp_path: Path) -> None:
    shards = shards_of("Big-Q8_0", 3, 2_000_000)
    whole = sum(shard.size for shard in shards)
    async with place(tmp_path, FakeHub([FakeRepo("o/Big", shards)])) as here:
        origin = await here.origin("o/Big", "Big-Q8_0")

        def work(free: int) -> HubDownload:
            around = Environment(free_bytes=lambda _folder: free)
            return HubDownload(origin, here.hub, here.fetcher, here.root, address_of, around)

        with pytest.raises(AIError, match="5 MB are needed, 5 MB are free"):
            await work(whole).run(here.steps.append)
        assert not any(one.to_files for one in here.server.asked)
        with anyio.CancelScope() as scope:

            def stop(step: Progress) -> None:
                if step.completed > 2_500_000:
                    scope.cancel()

            await here.work(origin).run(stop)
        assert await work(whole - 2_000_000).run(here.steps.append) is not None, "what came counts"


async def test_a_part_that_was_deleted_while_the_others_came_is_reported(tmp_path: Path) -> None:
    shards = shards_of("Big-Q8_0", 2, 2_000_000)
    server = FakeHub([FakeRepo("o/Big", shards)], pace=lambda _count: 0.0005)
    async with place(tmp_path, server) as here:
        origin = await here.origin("o/Big", "Big-Q8_0")
        first = here.root / "o--Big" / shards[0].path

        def delete(step: Progress) -> None:
            if step.completed > 2_500_000:
                first.unlink(missing_ok=True)

        with pytest.raises(AIError, match="was removed while the rest was being downloaded"):
            await here.work(origin).run(delete)
        assert await here.work(origin).run(here.steps.append) is not None
        assert first.stat().st_size == shards[0].size


async def test_a_token_goes_to_the_hub_alone_and_opens_what_is_gated(tmp_path: Path) -> None:
    async with place(tmp_path, sample_hub(SIZE), TOKEN) as here:
        origin = await here.origin(GATED, "Gated-8B-Q8_0")
        await here.work(origin).run(here.steps.append)
        sent = [one for one in here.server.asked if "authorization" in one.headers]
        assert sent
        assert not any(one.to_files for one in sent)
    async with place(tmp_path / "other", sample_hub(SIZE)) as here:
        with pytest.raises(AIError) as caught:
            await here.work(origin).run(here.steps.append)
        assert caught.value.status in {401, 403}
        page = f"{here.hub.address}/{GATED}"
        assert caught.value.hint == f"Accept its terms at {page}, if it has any, and set HF_TOKEN."


async def test_while_it_waits_for_the_next_try_there_is_no_speed(tmp_path: Path) -> None:
    async with place(tmp_path, sample_hub(SIZE)) as here:
        origin = await here.origin("someone/Small-1.7B-GGUF", "Small-1.7B-Q8_0")
        here.server.cut_after = SIZE // 2

        def take(step: Progress) -> None:
            here.steps.append(step)
            here.server.cut_after = None if "trying again" in step.note else SIZE // 2

        await here.work(origin).run(take)
        waits = [step for step in here.steps if "trying again" in step.note]
        assert waits
        assert all(step.is_jump for step in waits)


async def test_other_kinds_are_stored_but_not_chatted_with(tmp_path: Path) -> None:
    async with place(tmp_path, sample_hub(SIZE)) as here:
        origin = await here.origin(SPEECH, "ggml-base")
        assert await here.work(origin).run(here.steps.append) is None
        assert "someone--whisper.cpp/ggml-base.bin" in here.left()


async def test_a_voice_is_downloaded_with_its_description_and_listed(tmp_path: Path) -> None:
    text = json.dumps(description()).encode()
    contents = [FakeFile("en/joe.onnx", pattern=(SIZE, 7)), FakeFile("en/joe.onnx.json", text)]
    async with place(tmp_path, FakeHub([FakeRepo("someone/voices", contents)])) as here:
        origin = await here.origin("someone/voices", "joe")
        assert await here.work(origin).run(here.steps.append) is None
        (info,) = FolderLibrary([here.root]).models()
    assert (info.name, info.details["kind"], info.size_bytes) == ("joe", "voice", SIZE)


@pytest.mark.parametrize(
    "path",
    ["../up.gguf", "/etc/m.gguf", "a/../../m.gguf", "m\x00.gguf", "con.gguf", "a\\b.gguf", ""],
)
async def test_a_refused_name_is_no_download(tmp_path: Path, path: str) -> None:
    async with place(tmp_path, FakeHub()) as here:
        origin = HubFiles(
            repo="o/n", revision="0" * 40, name="m", files=(HubFile(path=path, size=1),)
        )
        for bad in (origin, replace(origin, repo=f"../{path}/n", files=(HubFile(path="m.gguf"),))):
            with pytest.raises(AIError):
                await here.work(bad).title()
        twins = replace(origin, files=(HubFile(path="A.gguf"), HubFile(path="a.gguf")))
        with pytest.raises(AIError, match="may be the same file"):
            await here.work(twins).title()
        assert here.server.asked == []
        assert not here.root.exists()


async def test_a_wrong_sum_is_no_file(tmp_path: Path) -> None:
    async with place(tmp_path, sample_hub(SIZE)) as here:
        origin = await here.origin(LARGE, "Large-70B-Q4_K_M")
        wrong = replace(origin, files=(replace(origin.files[0], sha256="0" * 64),))
        with pytest.raises(AIError):
            await here.work(wrong).run(here.steps.append)
        assert not any(name.endswith(".gguf") for name in here.left())


async def test_a_file_at_an_address_is_put_under_its_own_name(tmp_path: Path) -> None:
    server = FakeHub([FakeRepo("o/n", [FakeFile("deep/My Model.gguf", scripted_model())])])
    async with place(tmp_path, server) as here:
        (commit,) = server.repos[0].commits
        url = here.hub.file_url("o/n", commit, "deep/My Model.gguf") + "?download=true#top"
        work = here.file(url)
        assert await work.title() == "My Model.gguf"
        assert await work.run(here.steps.append) == "embedded://My Model.gguf"
        assert here.left() == {"My Model.gguf", "My Model.gguf.origin.json"}
        recorded_source = provenance_facts(here.root / "My Model.gguf")["fetched_from"]
        assert recorded_source == f"{url.partition('#')[0]}"
        await work.discard()
        assert len(here.left()) == 2


async def test_a_file_that_came_whole_as_the_program_ended_is_not_taken_for_anothers(
    tmp_path: Path,
) -> None:
    server = FakeHub([FakeRepo("o/n", [FakeFile("m.gguf", scripted_model())])])
    async with place(tmp_path, server) as here:
        (commit,) = server.repos[0].commits
        url = here.hub.file_url("o/n", commit, "m.gguf")
        source, target = FileSource(url=url), here.root / "m.gguf"
        await transfer(here.fetcher, source, target, report=lambda _: None, keeps_record=True)
        assert await here.file(url).run(here.steps.append) == "embedded://m.gguf"
        assert here.left() == {"m.gguf", "m.gguf.origin.json"}


async def test_what_is_no_model_is_only_removed_where_it_came(tmp_path: Path) -> None:
    note = b"a note of mine" * 100
    async with place(tmp_path, FakeHub([FakeRepo("o/n", [FakeFile("m.gguf", note)])])) as here:
        (commit,) = here.server.repos[0].commits
        here.root.mkdir()
        (here.root / "m.gguf").write_bytes(note)
        sum_of_it = hashlib.sha256(note).hexdigest()
        work = here.file(here.hub.file_url("o/n", commit, "m.gguf"), sum_of_it)
        with pytest.raises(AIError, match="not a usable GGUF file"):
            await work.run(here.steps.append)
        assert here.left() == {"m.gguf"}


async def test_a_page_in_place_of_a_model_is_not_kept(tmp_path: Path) -> None:
    page = FakeFile("m.gguf", b"<!doctype html><p>Log in" * 100)
    async with place(tmp_path, FakeHub([FakeRepo("o/n", [page])])) as here:
        (commit,) = here.server.repos[0].commits
        work = here.file(here.hub.file_url("o/n", commit, "m.gguf"))
        with pytest.raises(AIError, match="not a usable GGUF file"):
            await work.run(here.steps.append)
        assert here.left() == set()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h.example/m.gguf",
        "file:///etc/passwd",
        "https://h.example/",
        "https://h.example/..",
        "https://h.example/%2e%2e%2fm.gguf",
        "https://h.example/m%00.gguf",
        "https:///m.gguf",
        "http://[::1/m.gguf",
        "m.gguf",
        "",
    ],
)
async def test_what_is_no_address_of_a_file_is_refused(tmp_path: Path, url: str) -> None:
    async with place(tmp_path, FakeHub()) as here:
        with pytest.raises(AIError):
            await here.file(url).title()
