"""The folders of other programs: where they are, what they hold, under which names."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.other_folders import (
    TITLES,
    OtherPrograms,
    Program,
    existing_folders,
    other_folders,
)
from tests.library.gguf_bytes import file_of

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("program", "platform", "environ", "expected"),
    [
        ("lmstudio", "linux", {}, ["~/.lmstudio/models", "~/.cache/lm-studio/models"]),
        ("huggingface", "linux", {}, ["~/.cache/huggingface/hub"]),
        ("huggingface", "linux", {"HF_HUB_CACHE": "/big/hub", "HF_HOME": "/x"}, ["/big/hub"]),
        ("huggingface", "linux", {"HF_HOME": "/big"}, ["/big/hub"]),
        ("huggingface", "linux", {"HF_HOME": "~/hf"}, ["~/hf/hub"]),
        ("huggingface", "linux", {"HF_HOME": "relative"}, ["~/.cache/huggingface/hub"]),
        ("huggingface", "linux", {"XDG_CACHE_HOME": "/c"}, ["/c/huggingface/hub"]),
        ("llamacpp", "linux", {}, ["~/.cache/llama.cpp"]),
        ("llamacpp", "linux", {"LLAMA_CACHE": "/l"}, ["/l"]),
        ("llamacpp", "darwin", {}, ["~/Library/Caches/llama.cpp"]),
        ("llamacpp", "win32", {"LOCALAPPDATA": "/local"}, ["/local/llama.cpp"]),
        ("llamacpp", "win32", {}, ["~/AppData/Local/llama.cpp"]),
    ],
)
def test_each_program_has_its_places(
    program: Program, platform: str, environ: Mapping[str, str], expected: list[str]
) -> None:
    where = OtherPrograms(home=HOME, environ=environ, platform=platform)
    found = other_folders([program, program], where)
    assert [str(folder.path) for folder in found] == [
        path.replace("~", str(HOME)) for path in expected
    ]
    assert {folder.owner for folder in found} == {TITLES[program]}
    assert all(folder.why_kept for folder in found)


def cached(home: Path, repo: str, revision: str, name: str, data: bytes) -> None:
    """Put a file into the Hugging Face cache as its client does."""
    place = home / ".cache/huggingface/hub" / f"models--{repo}"
    blob = place / "blobs" / name
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    snapshot = place / "snapshots" / revision
    snapshot.mkdir(parents=True, exist_ok=True)
    (snapshot / name).symlink_to(blob)


def test_those_that_are_there_are_reported_with_what_they_hold(tmp_path: Path) -> None:
    where = OtherPrograms(home=tmp_path, environ={}, platform="linux")
    assert existing_folders(where) == []
    cached(tmp_path, "ada--tiny", "c1", "tiny.gguf", file_of())
    studio = tmp_path / ".lmstudio/models/ada/tiny"
    studio.mkdir(parents=True)
    for number in (1, 2):
        (studio / f"big-0000{number}-of-00002.gguf").write_bytes(file_of())
    assert [(found.program, found.models) for found in existing_folders(where)] == [
        ("lmstudio", 1),
        ("huggingface", 1),
    ]


def test_the_cache_of_a_hub_is_listed_once_and_by_its_repositories(tmp_path: Path) -> None:
    cached(tmp_path, "ada--tiny", "c1", "tiny.gguf", file_of())
    cached(tmp_path, "bob--tiny", "c2", "tiny.gguf", file_of() + b"more")
    blob = tmp_path / ".cache/huggingface/hub/models--ada--tiny/blobs/tiny.gguf"
    again = tmp_path / ".cache/huggingface/hub/models--ada--tiny/snapshots/c3"
    again.mkdir()
    (again / "tiny.gguf").symlink_to(blob)
    where = OtherPrograms(home=tmp_path, environ={}, platform="linux")
    library = FolderLibrary([], others=other_folders(["huggingface"], where))
    assert [info.name for info in library.models()] == ["bob--tiny/tiny", "tiny"]
    assert {info.details["folder"] for info in library.models()} == {"Hugging Face"}
