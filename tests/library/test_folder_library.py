"""The library of model files: what is listed, under which name, and what is wrong with it."""

import json
import os
import struct
from pathlib import Path

import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.model_files import DEPTH_LIMIT, FOLDER_LIMIT, ModelFolder
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, matches_alias
from ollm_tui.runtime.first_model import can_chat
from tests.library.gguf_bytes import STRING, U32, file_of, pair, text
from tests.support.sound_models import put_voice, whisper_header
from tests.support.tiny_gguf import TEMPLATE


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def names(library: FolderLibrary) -> list[str]:
    return [info.name for info in library.models()]


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
    assert info.details == {
        "problem": "it does not begin with GGUF",
        "folder": str(tmp_path),
        "path": str(tmp_path / "bad.gguf"),
        "why_kept": f"It is in {tmp_path}, which the app only reads; delete it there.",
    }
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


def test_the_first_of_two_folders_has_the_plain_name(tmp_path: Path, scripted: bytes) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    put(one / "m.gguf", scripted)
    put(two / "m.gguf", scripted)
    library = FolderLibrary([one, two])
    assert names(library) == ["m", "two/m"]
    assert library.path_of("m") == one / "m.gguf"
    assert library.path_of("two/m") == two / "m.gguf"


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


def test_downloads_in_folders_of_their_own_are_found(tmp_path: Path, scripted: bytes) -> None:
    put(tmp_path / "top.gguf", scripted)
    put(tmp_path / "owner--repo" / "deep.gguf", scripted)
    put(tmp_path / "owner--repo" / "Q4" / "big-00001-of-00002.gguf", scripted)
    put(tmp_path / "owner--repo" / "Q4" / "big-00002-of-00002.gguf", scripted)
    put(tmp_path / ".hidden" / "not.gguf", scripted)
    library = FolderLibrary([tmp_path])
    assert names(library) == ["big", "deep", "top"]
    assert library.path_of("big").parent.name == "Q4"


def test_parts_in_different_folders_are_not_one_model(tmp_path: Path, scripted: bytes) -> None:
    put(tmp_path / "a" / "big-00001-of-00002.gguf", scripted)
    put(tmp_path / "b" / "big-00002-of-00002.gguf", scripted)
    found = FolderLibrary([tmp_path]).models()
    problems = {info.details["problem"] for info in found}
    assert problems == {"part 2 of 2 is missing", "part 1 of 2 is missing"}


def test_parts_that_count_to_no_end_are_refused_at_once(tmp_path: Path, scripted: bytes) -> None:
    for name in ("x-00001-of-99999", "y-99999-of-00001", "z-00000-of-00000"):
        put(tmp_path / f"{name}.gguf", scripted)
    problems = [info.details["problem"] for info in FolderLibrary([tmp_path]).models()]
    assert problems == [
        "part 2 of 99999 is missing",
        "part 1 of 1 is missing",
        "its parts do not fit together",
    ]


def test_the_second_of_one_name_has_its_folders_in_front(tmp_path: Path, scripted: bytes) -> None:
    old = put(tmp_path / "b--x" / "m.gguf", scripted)
    os.utime(old, ns=(0, 0))
    put(tmp_path / "a--y" / "m.gguf", scripted)
    library = FolderLibrary([tmp_path])
    assert names(library) == ["a--y/m", "m"]
    assert library.path_of("m") == old


def test_a_name_stays_with_its_file_whatever_is_added(tmp_path: Path, scripted: bytes) -> None:
    models = tmp_path / "a"
    nested = put(models / "sub" / "m.gguf", scripted)
    library = FolderLibrary([models])
    assert names(library) == ["m"]
    put(models / "m.gguf", scripted)
    assert names(library) == ["a/m", "m"]
    assert library.path_of("m") == nested
    nested.unlink()
    assert names(library) == ["a/m"]


def test_many_of_one_name_are_all_listed(tmp_path: Path, scripted: bytes) -> None:
    folders = [tmp_path / str(n) / "x" for n in range(4)]
    for folder in folders:
        put(folder / "m.gguf", scripted)
    library = FolderLibrary(folders)
    assert names(library) == ["m", "x/m", "x/m 2", "x/m 3"]
    assert {library.path_of(name).parent for name in names(library)} == set(folders)


def test_a_file_that_is_reached_in_two_ways_counts_once(tmp_path: Path, scripted: bytes) -> None:
    real = put(tmp_path / "a" / "m.gguf", scripted)
    (tmp_path / "link.gguf").symlink_to(real)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(FolderLibrary([tmp_path, tmp_path / "a"]).models()) == 1


def test_links_in_a_circle_and_to_nowhere_hang_nothing(tmp_path: Path, scripted: bytes) -> None:
    put(tmp_path / "a" / "m.gguf", scripted)
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "nowhere.gguf").symlink_to(tmp_path / "none")
    assert names(FolderLibrary([tmp_path])) == ["m"]


def test_the_search_ends_at_a_depth(tmp_path: Path, scripted: bytes) -> None:
    deep = tmp_path.joinpath(*["d"] * DEPTH_LIMIT)
    put(deep / "found.gguf", scripted)
    put(deep / "d" / "lost.gguf", scripted)
    assert names(FolderLibrary([tmp_path])) == ["found"]


def test_the_search_ends_at_a_count(
    tmp_path: Path, scripted: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "a.gguf", scripted)
    for number in range(FOLDER_LIMIT + 5):
        (tmp_path / f"{number:05}").mkdir()
    put(tmp_path / f"{FOLDER_LIMIT + 4:05}" / "lost.gguf", scripted)
    assert names(FolderLibrary([tmp_path])) == ["a"]
    assert "holds too much" in caplog.text


def of_architecture(scripted: bytes, name: str) -> bytes:
    """Give the model under another architecture of five letters or fewer."""
    named = struct.pack("<Q", 5) + b"llama"
    other = struct.pack("<Q", len(name)) + name.encode()
    return scripted.replace(named, other, 1) + bytes(5 - len(name))


@pytest.mark.parametrize(
    ("architecture", "kind", "makes"),
    [("flux", "image", "image"), ("sdxl", "image", "image"), ("wan", "video", "video")],
)
def test_models_of_other_kinds_are_listed_as_what_they_are(
    tmp_path: Path, scripted: bytes, architecture: str, kind: str, makes: str
) -> None:
    put(tmp_path / "m.gguf", of_architecture(scripted, architecture))
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details["kind"] == kind
    assert info.capability is not None
    assert info.capability.output == {makes}
    assert not can_chat(info)


POOLED = pair("llama.pooling_type", U32, struct.pack("<I", 3))
RANKING = pair("llama.pooling_type", U32, struct.pack("<I", 4))
UNPOOLED = pair("llama.pooling_type", U32, struct.pack("<I", 0))
TEMPLATED = pair("tokenizer.chat_template", STRING, text("{{ messages }}"))


@pytest.mark.parametrize(
    ("facts", "name", "kind", "makes"),
    [
        (POOLED, "Qwen3 Embedding 0.6B", "embedding", "embedding"),
        (RANKING, "Bge Reranker", "reranker", "score"),
        (TEMPLATED, "Qwen3-Embedding-4B", "embedding", "embedding"),
        (TEMPLATED, "Qwen3-Reranker-4B", "reranker", "score"),
        (UNPOOLED, "Qwen3 8B", None, "text"),
        (TEMPLATED, "Embedded Assistant", None, "text"),
    ],
)
def test_a_model_for_vectors_or_scores_is_no_chat_model(
    tmp_path: Path, facts: bytes, name: str, kind: str | None, makes: str
) -> None:
    put(tmp_path / "m.gguf", file_of(facts, pair("general.name", STRING, text(name))))
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details.get("kind") == kind
    assert info.capability is not None
    assert info.capability.output == {makes}
    assert can_chat(info) == (kind is None)


@pytest.mark.parametrize("architecture", ["bert", "gemma-embedding", "t5encoder"])
def test_an_encoder_is_no_chat_model(tmp_path: Path, architecture: str) -> None:
    model = file_of(TEMPLATED).replace(text("llama"), text(architecture), 1)
    put(tmp_path / "m.gguf", model)
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details["kind"] == "embedding"


def test_a_whisper_model_is_listed_as_one(tmp_path: Path) -> None:
    put(tmp_path / "ggml-base.en.bin", whisper_header())
    put(tmp_path / "ggml-other.bin", b"what else")
    put(tmp_path / "pytorch_model.bin", b"lmgg")
    (info,) = FolderLibrary([tmp_path]).models()
    assert (info.name, info.details["kind"]) == ("ggml-base.en", "whisper")
    assert info.capability is not None
    assert matches_alias(info.capability, "stt")
    assert not can_chat(info)


@pytest.mark.parametrize(
    ("header", "facts"),
    [
        (whisper_header(), ("English", "tiny", "F16")),
        (whisper_header(51_865, layers=6, kind=8), ("many languages", "base", "Q5_0")),
        (whisper_header(51_866, layers=32, kind=0), ("many languages", "large", "F32")),
    ],
)
def test_a_whisper_model_says_its_size_and_languages(
    tmp_path: Path, header: bytes, facts: tuple[str, str, str]
) -> None:
    put(tmp_path / "ggml-base.bin", header)
    (info,) = FolderLibrary([tmp_path]).models()
    of = info.details
    assert (of["languages"], of["parameter_size"], of["quantization"]) == facts


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"lmgg" + bytes(10), "it ends in the middle of its header"),
        (b"lmgg" + bytes(100), "its header is no model's"),
        (b"lmgg" + b"\xff" * 100, "its header is no model's"),
    ],
)
def test_a_broken_whisper_model_is_listed_with_the_reason(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    put(tmp_path / "ggml-base.bin", content)
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details["problem"] == problem
    assert info.capability == ModelCapability()


def test_a_voice_is_a_file_with_its_description(tmp_path: Path) -> None:
    put_voice(tmp_path, "joe", speaker_id_map={"anna": 0, "ben": 1})
    put(tmp_path / "encoder.onnx", b"another network")
    put(tmp_path / "net.onnx", b"another network")
    put(tmp_path / "net.onnx.json", b'{"layers": 3}')
    (info,) = FolderLibrary([tmp_path]).models()
    assert (info.name, info.details["kind"], info.details["format"]) == ("joe", "voice", "onnx")
    assert (info.details["languages"], info.details["voices"]) == ("English", ["anna", "ben"])
    assert info.capability is not None
    assert matches_alias(info.capability, "tts")
    assert not can_chat(info)


def test_a_voice_is_deleted_with_its_description(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    put_voice(own, "joe")
    put_voice(own, "anna")
    FolderLibrary([own], own=own).delete("joe")
    assert sorted(path.name for path in own.iterdir()) == ["anna.onnx", "anna.onnx.json"]


@pytest.mark.parametrize("kind", ["adapter", "imatrix", "vocab"])
def test_a_file_that_is_nothing_alone_says_so(tmp_path: Path, kind: str) -> None:
    put(tmp_path / "m.gguf", file_of(pair("general.type", STRING, text(kind))))
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.details["problem"]
    assert not can_chat(info)


def test_all_that_a_file_says_is_reported(tmp_path: Path, scripted: bytes) -> None:
    path = put(tmp_path / "m.gguf", scripted)
    origin = {"format": 1, "place": "owner/repo", "revision": "f" * 40, "licence": "mit", "x": 1}
    put(tmp_path / "m.gguf.origin.json", json.dumps(origin).encode())
    facts = FolderLibrary([tmp_path]).facts("m")
    assert facts["fetched_from"] == "owner/repo"
    assert facts["revision"] == "f" * 40
    assert facts["licence"] == "mit"
    assert facts["file_sizes"] == {path.name: len(scripted)}
    assert facts["layers"] == 1
    assert facts["tokenizer"] == "gpt2"
    assert facts["template"] == TEMPLATE
    assert facts["parameter_count"] == 250_560


@pytest.mark.parametrize("note", [b"", b"{", b"[1]", b'{"place": 5}', b"\xff", b"[" * 60_000])
def test_a_damaged_note_of_origin_is_none(tmp_path: Path, scripted: bytes, note: bytes) -> None:
    put(tmp_path / "m.gguf", scripted)
    put(tmp_path / "m.gguf.origin.json", note)
    assert "fetched_from" not in FolderLibrary([tmp_path]).facts("m")


def test_a_model_of_the_own_folder_goes_with_all_that_belongs_to_it(
    tmp_path: Path, scripted: bytes
) -> None:
    own = tmp_path / "models"
    other = put(own / "other.gguf", scripted)
    for number in (1, 2):
        part = put(own / "owner--repo" / f"big-0000{number}-of-00002.gguf", scripted)
        put(part.with_name(f"{part.name}.sha256"), b"sum")
    put(own / "owner--repo" / "big-00001-of-00002.gguf.origin.json", b"{}")
    library = FolderLibrary([own], own=own)
    library.delete("big")
    assert names(library) == ["other"]
    assert list(own.iterdir()) == [other]


def test_a_folder_that_holds_more_stays(tmp_path: Path, scripted: bytes) -> None:
    put(tmp_path / "a" / "m.gguf", scripted)
    put(tmp_path / "a" / "README.md", b"mine")
    FolderLibrary([tmp_path], own=tmp_path).delete("m")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["README.md"]


def test_the_own_folder_itself_stays(tmp_path: Path, scripted: bytes) -> None:
    put(tmp_path / "m.gguf", scripted)
    FolderLibrary([tmp_path], own=tmp_path).delete("m")
    assert tmp_path.is_dir()


def test_a_link_goes_and_what_it_leads_to_stays(tmp_path: Path, scripted: bytes) -> None:
    real = put(tmp_path / "elsewhere" / "m.gguf", scripted)
    own = tmp_path / "own"
    own.mkdir()
    (own / "m.gguf").symlink_to(real)
    FolderLibrary([own], own=own).delete("m")
    assert real.is_file()
    assert not (own / "m.gguf").is_symlink()


def test_a_file_behind_a_linked_folder_is_not_deleted(tmp_path: Path, scripted: bytes) -> None:
    real = put(tmp_path / "elsewhere" / "m.gguf", scripted)
    own = tmp_path / "own"
    own.mkdir()
    (own / "linked").symlink_to(real.parent)
    with pytest.raises(AIError) as caught:
        FolderLibrary([own], own=own).delete("m")
    assert caught.value.hint == f"It is in {real.parent}; delete it there."
    assert real.is_file()


def test_files_of_other_folders_are_kept_for_a_reason(tmp_path: Path, scripted: bytes) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    put(mine / "a.gguf", scripted)
    put(theirs / "b.gguf", scripted)
    others = [ModelFolder(path=theirs, owner="LM Studio")]
    library = FolderLibrary([mine], own=tmp_path / "own", others=others)
    for name, words in (("a", f"It is in {mine}"), ("b", "It belongs to LM Studio")):
        with pytest.raises(AIError) as caught:
            library.delete(name)
        assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
        assert words in (caught.value.hint or "")
    assert names(library) == ["a", "b"]
    assert library.models()[1].details["folder"] == "LM Studio"


def test_a_file_that_cannot_be_removed_is_named(
    tmp_path: Path, scripted: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        put(tmp_path / f"big-0000{number}-of-00002.gguf", scripted)
    unlink = Path.unlink

    def fails_at_second(path: Path, *, missing_ok: bool = False) -> None:
        if "00002-of" in path.name:
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", fails_at_second)
    with pytest.raises(AIError) as caught:
        FolderLibrary([tmp_path], own=tmp_path).delete("big")
    assert caught.value.message == "big could not be deleted: Permission denied."
    assert caught.value.details == {"left": [str(tmp_path / "big-00002-of-00002.gguf")]}
