"""Copying model files of this machine: whole or not there, gone on with, never over another."""

import os
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ollm_tui.library.downloads import local_copy
from ollm_tui.library.downloads.downloader import Progress
from ollm_tui.library.downloads.file_io import Environment
from ollm_tui.library.downloads.job import LocalFiles
from ollm_tui.library.downloads.local_copy import LocalCopy
from ollm_tui.library.file_names import model_name
from ollm_tui.library.provenance import provenance_facts
from ollm_tui.protocol.errors import AIError, ErrorCode

GGUF = b"GGUF\x03\0\0\0" + bytes(16)
"""A header without tensors and without pairs, which names no architecture."""


async def address_of(path: Path) -> str:
    return f"embedded://{model_name(path)}"


@dataclass
class Library:
    root: Path
    steps: list[Progress] = field(default_factory=list)

    def work(self, path: Path, **around: object) -> LocalCopy:
        return LocalCopy(
            LocalFiles(path=path),
            self.root,
            address_of,
            Environment(**around),  # type: ignore[arg-type]
        )

    async def fetch(self, path: Path, **around: object) -> str | None:
        work = self.work(path, **around)
        await work.title()
        return await work.run(self.steps.append)

    def files(self) -> dict[str, bytes]:
        """Give all files but those that say where from."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.name.endswith(".origin.json")
        }


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(local_copy, "SLICE_BYTES", 1000)
    monkeypatch.setattr("ollm_tui.library.downloads.local_copy.gguf_problem", lambda _path: None)
    return Library(tmp_path / "library" / "models")


def model(path: Path, size: int = 3500) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = bytes(number % 251 for number in range(size))
    path.write_bytes(content)
    return content


async def test_a_file_that_came_in_its_place_meanwhile_is_left(
    library: Library, tmp_path: Path
) -> None:
    model(tmp_path / "mine" / "tiny.gguf")
    target = library.root / "tiny.gguf"

    def put_there(_folder: Path) -> int:
        model(target, size=10)
        return 10**9

    with pytest.raises(AIError, match="is at"):
        await library.fetch(tmp_path / "mine" / "tiny.gguf", free_bytes=put_there)
    assert target.stat().st_size == 10


async def test_a_link_in_the_place_of_a_copy_is_not_written_through(
    library: Library, tmp_path: Path
) -> None:
    model(tmp_path / "mine" / "tiny.gguf")
    status = (tmp_path / "mine" / "tiny.gguf").stat()
    copy = local_copy.FileCopy(
        tmp_path / "mine" / "tiny.gguf",
        library.root / "tiny.gguf",
        status.st_size,
        status.st_mtime_ns,
    )
    (tmp_path / "other").write_bytes(b"somebody's")
    library.root.mkdir(parents=True)
    copy.part.symlink_to(tmp_path / "other")
    with pytest.raises(AIError):
        await library.fetch(tmp_path / "mine" / "tiny.gguf")
    assert (tmp_path / "other").read_bytes() == b"somebody's"


async def test_a_file_is_copied_in_slices_and_says_where_from(
    library: Library, tmp_path: Path
) -> None:
    content = model(tmp_path / "mine" / "tiny.gguf")
    assert await library.fetch(tmp_path / "mine" / "tiny.gguf") == "embedded://tiny"
    target = library.root / "tiny.gguf"
    assert library.files() == {"tiny.gguf": content}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [step.completed for step in library.steps] == [0, 0, 1000, 2000, 3000, 3500]
    assert {step.total for step in library.steps} == {3500}
    assert provenance_facts(target) == {"fetched_from": str(tmp_path / "mine" / "tiny.gguf")}


async def test_a_stopped_copy_goes_on_and_one_of_a_changed_file_begins_anew(
    library: Library, tmp_path: Path
) -> None:
    source = tmp_path / "tiny.gguf"
    model(source)

    async def stop_after(completed: int) -> None:
        with anyio.CancelScope() as scope:

            def report(step: Progress) -> None:
                if step.completed >= completed:
                    scope.cancel()

            await library.work(source).run(report)

    await stop_after(2000)
    assert [name for name in library.files() if name.endswith(".gguf")] == []
    await stop_after(3000)
    content = model(source)
    os.utime(source, ns=(1, 1))
    await stop_after(1000)
    library.steps.clear()
    await library.fetch(source)
    assert [step.completed for step in library.steps][:3] == [0, 1000, 2000]
    assert library.files() == {"tiny.gguf": content}, "of the older state nothing is left"


async def test_a_part_means_all_parts_and_a_folder_all_its_models(
    library: Library, tmp_path: Path
) -> None:
    names = [f"big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for name in names:
        model(tmp_path / "split" / name)
    assert await library.fetch(tmp_path / "split" / names[1]) == "embedded://big"
    assert sorted(library.files()) == names
    model(tmp_path / "many" / "a.gguf")
    model(tmp_path / "many" / "deeper" / "b.gguf")
    model(tmp_path / "many" / "readme.txt")
    assert await library.fetch(tmp_path / "many") is None, "which of them would it be?"
    assert set(library.files()) - set(names) == {"many/a.gguf", "many/deeper/b.gguf"}


async def test_what_cannot_be_copied_is_refused_at_once(library: Library, tmp_path: Path) -> None:
    model(tmp_path / "split" / "big-00001-of-00002.gguf")
    (tmp_path / "empty").mkdir()
    model(library.root / "in.gguf")
    refused = {
        tmp_path / "nothing.gguf": "There is no file",
        tmp_path / "empty": "There is no GGUF file in",
        tmp_path / "split" / "big-00001-of-00002.gguf": "big-00002-of-00002.gguf is missing",
        library.root / "in.gguf": "is already in the library",
        library.root: "is already in the library",
    }
    for path, words in refused.items():
        with pytest.raises(AIError, match=words):
            await library.work(path).title()


async def test_a_header_is_looked_at_before_anything_is_copied(tmp_path: Path) -> None:
    library = Library(tmp_path / "models")
    page = tmp_path / "page.gguf"
    page.write_text("<!doctype html>")
    with pytest.raises(AIError, match=r"page\.gguf is not a usable GGUF file"):
        await library.work(page).title()
    assert not library.root.exists()


async def test_another_file_is_never_written_over(library: Library, tmp_path: Path) -> None:
    model(tmp_path / "tiny.gguf")
    library.root.mkdir(parents=True)
    (library.root / "tiny.gguf").write_text("mine")
    with pytest.raises(AIError, match="Another file is at") as caught:
        await library.fetch(tmp_path / "tiny.gguf")
    assert caught.value.code == ErrorCode.CONFLICT
    await library.work(tmp_path / "tiny.gguf").discard()
    assert library.files() == {"tiny.gguf": b"mine"}


async def test_a_full_disk_is_reported_before_anything_is_copied(
    library: Library, tmp_path: Path
) -> None:
    model(tmp_path / "tiny.gguf")
    with pytest.raises(AIError, match="no space left"):
        await library.fetch(tmp_path / "tiny.gguf", free_bytes=lambda _folder: 3000)


async def test_cancelling_removes_copies_and_folders_but_nothing_else(
    library: Library, tmp_path: Path
) -> None:
    for name in "abc":
        model(tmp_path / "many" / f"{name}.gguf")
    work = library.work(tmp_path / "many")
    with anyio.CancelScope() as scope:

        def report(step: Progress) -> None:
            if step.completed > 4000:
                scope.cancel()

        await work.run(report)
    other = library.root / "many" / "other.gguf"
    other.write_text("mine")
    await work.discard()
    assert library.files() == {"many/other.gguf": b"mine"}
    other.unlink()
    await work.run(library.steps.append)
    await work.discard()
    assert len(library.files()) == 3, "what is whole has been a download of its own"
    shutil.rmtree(tmp_path / "many")
    await work.discard()
    assert len(library.files()) == 3


async def test_a_file_that_changes_while_it_is_copied_is_no_copy(
    library: Library, tmp_path: Path
) -> None:
    source = tmp_path / "tiny.gguf"
    model(source)

    def report(step: Progress) -> None:
        if step.completed == 2000:
            model(source, 3600)

    with pytest.raises(AIError, match="changed while it was copied"):
        await library.work(source).run(report)
    assert library.files() == {}


async def test_two_copies_to_one_place_do_not_write_side_by_side(
    library: Library, tmp_path: Path
) -> None:
    content = model(tmp_path / "mine" / "tiny.gguf")
    model(tmp_path / "other" / "tiny.gguf")
    troubles: list[AIError] = []

    async def other() -> None:
        try:
            await library.work(tmp_path / "other" / "tiny.gguf").run(lambda _step: None)
        except AIError as error:
            troubles.append(error)

    async with anyio.create_task_group() as group:

        def report(step: Progress) -> None:
            if step.completed == 1000:
                group.start_soon(other)

        await library.work(tmp_path / "mine" / "tiny.gguf").run(report)
    assert [trouble.code for trouble in troubles] == [ErrorCode.CONFLICT]
    assert library.files() == {"tiny.gguf": content}
