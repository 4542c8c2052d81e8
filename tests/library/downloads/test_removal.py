"""A download that is given up takes with it what it has brought, and nothing of anybody else's."""

from pathlib import Path

import pytest

from ollm_tui.library.downloads.job import HubFiles, UrlFile
from ollm_tui.library.downloads.part_file import PartState, save_state, state_path
from ollm_tui.library.downloads.web_download import HubDownload, UrlDownload
from ollm_tui.library.hub.client import HubClient
from ollm_tui.library.hub.repo import HubFile
from ollm_tui.library.provenance import Provenance, write_provenance
from ollm_tui.providers.fetcher import HttpFetcher

HUB = "https://hub.example"


async def address_of(_path: Path) -> None:
    return None


def of_url(root: Path) -> UrlDownload:
    origin = UrlFile(url="https://example.com/m.gguf")
    fetcher = HttpFetcher()  # nothing is fetched
    return UrlDownload(origin, HubClient(fetcher, HUB, None), fetcher, root, address_of)


def of_hub(root: Path, *sizes: int | None) -> HubDownload:
    files = tuple(HubFile(path=f"sub/{at}.gguf", size=size) for at, size in enumerate(sizes))
    origin = HubFiles(repo="owner/name", revision="a" * 40, name="m", files=files)
    fetcher = HttpFetcher()
    return HubDownload(origin, HubClient(fetcher, HUB, None), fetcher, root, address_of)


async def test_a_file_of_that_name_that_was_there_before_stays(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"somebody's own")
    (tmp_path / "m.gguf.part").write_bytes(b"came")
    await of_url(tmp_path).discard()
    assert (tmp_path / "m.gguf").read_bytes() == b"somebody's own"
    assert not (tmp_path / "m.gguf.part").exists()


def came(file: Path, size: int) -> None:
    """Put a file there as a transfer leaves it that keeps its record."""
    file.write_bytes(bytes(size))
    save_state(state_path(file), PartState(url="https://hub.example/m", size=size, done=size))


async def test_whole_files_that_came_go_and_those_of_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "owner--name" / "sub"
    folder.mkdir(parents=True)
    came(folder / "0.gguf", 10)
    (folder / "1.gguf").write_bytes(bytes(20))  # of the right size, but nobody says it came
    came(folder / "2.gguf", 12)
    (folder / "2.gguf").write_bytes(bytes(13))  # another has taken its place
    came(folder / "3.gguf", 40)
    await of_hub(tmp_path, 10, 20, None, 40).discard()
    assert sorted(path.name for path in folder.iterdir()) == ["1.gguf", "2.gguf"]


@pytest.mark.parametrize("is_reported", [True, False])
async def test_what_an_earlier_download_has_brought_whole_stays(
    tmp_path: Path, is_reported: bool
) -> None:
    file = tmp_path / "owner--name" / "sub" / "0.gguf"
    file.parent.mkdir(parents=True)
    came(file, 10)
    if is_reported:
        write_provenance(file, Provenance(place="owner/name"))
    await of_hub(tmp_path, 10).discard()
    assert file.exists() == is_reported
    assert (tmp_path / "owner--name").exists() == is_reported
