"""The library of model files: what is listed, under which name, and what is wrong with it."""

import os
import struct
from pathlib import Path

import pytest

from ollm_tui.library.files import FolderLibrary
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, matches_alias
from tests.support.tiny_gguf import write_scripted


@pytest.fixture(scope="session")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    write_scripted(path)
    return path.read_bytes()


def test_files_are_listed_by_name_with_their_facts(tmp_path: Path, scripted: bytes) -> None:
    (tmp_path / "b.gguf").write_bytes(scripted)
    (tmp_path / "A.GGUF").write_bytes(scripted)
    (tmp_path / "c.gguf.part").write_bytes(scripted)
    (tmp_path / "d.bin").write_bytes(scripted)
    (tmp_path / "folder.gguf").mkdir()
    first, second = FolderLibrary([tmp_path]).models()
    assert (first.name, second.name) == ("A", "b")
    assert second.size_bytes == len(scripted)
    assert second.details["quantization"] == "Q8_0"
    assert second.details["context_trained"] == 32_768
    assert second.details["parameter_size"] == "251K"
    assert second.modified_at is not None
    assert second.capability is not None
    assert matches_alias(second.capability, "chat", require_features=["tool_use", "thinking"])


def test_a_pipe_named_like_a_model_hangs_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert FolderLibrary([tmp_path]).models() == []


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert FolderLibrary([tmp_path / "none"]).models() == []


def test_a_broken_file_is_listed_with_the_reason_and_can_do_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details == {"problem": "it does not begin with GGUF"}
    assert info.capability == ModelCapability()


def test_parts_are_one_model(tmp_path: Path, scripted: bytes) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"big-0000{number}-of-00003.gguf").write_bytes(scripted)
    library = FolderLibrary([tmp_path])
    (info,) = library.models()
    assert info.name == "big"
    assert info.size_bytes == 3 * len(scripted)
    assert library.path_of("big").name == "big-00001-of-00003.gguf"


def test_a_missing_part_is_named(tmp_path: Path, scripted: bytes) -> None:
    for number in (1, 3):
        (tmp_path / f"big-0000{number}-of-00003.gguf").write_bytes(scripted)
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details["problem"] == "part 2 of 3 is missing"


def test_a_picture_encoder_is_no_model(tmp_path: Path, scripted: bytes) -> None:
    named = struct.pack("<Q", 5) + b"llama"
    encoder = scripted.replace(named, struct.pack("<Q", 4) + b"clip", 1) + b"\0"
    (tmp_path / "mmproj.gguf").write_bytes(encoder)
    assert FolderLibrary([tmp_path]).models() == []


def test_the_first_of_two_folders_counts(tmp_path: Path, scripted: bytes) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "m.gguf").write_bytes(scripted)
    library = FolderLibrary([one, two])
    assert len(library.models()) == 1
    assert library.path_of("m") == one / "m.gguf"


def test_a_changed_file_is_read_again(tmp_path: Path, scripted: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(scripted[:100])
    library = FolderLibrary([tmp_path])
    (before,) = library.models()
    path.write_bytes(scripted)
    (after,) = library.models()
    assert "problem" in before.details
    assert "problem" not in after.details


def test_an_unknown_name_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(AIError, match=r"no model file \.\./x\.gguf") as caught:
        FolderLibrary([tmp_path]).path_of("../x")
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND


def test_a_name_that_is_no_text_is_listed_and_found(tmp_path: Path, scripted: bytes) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.gguf"
    Path(os.fsdecode(raw)).write_bytes(scripted)
    library = FolderLibrary([tmp_path])
    (info,) = library.models()
    info.name.encode()
    assert library.path_of(info.name).is_file()
