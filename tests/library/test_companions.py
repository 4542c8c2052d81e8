"""Files that models are loaded with: found beside them, named in the settings, checked."""

import struct
from pathlib import Path

import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import Companion
from tests.library.gguf_bytes import BOOL, STRING, U32, pair, text
from tests.support.seeing_gguf import write_seeing


def gguf(path: Path, architecture: str, *pairs: bytes) -> Path:
    head = pair("general.architecture", STRING, text(architecture))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs) + 1) + head + b"".join(pairs))
    return path


def number(key: str, value: int) -> bytes:
    return pair(key, U32, struct.pack("<I", value))


def model(path: Path, width: int = 64, architecture: str = "llama", kind: str = "gpt2") -> Path:
    return gguf(
        path,
        architecture,
        number(f"{architecture}.embedding_length", width),
        pair("tokenizer.ggml.model", STRING, text(kind)),
    )


def projector(path: Path, width: int = 64, *pairs: bytes) -> Path:
    return gguf(path, "clip", number("clip.vision.projection_dim", width), *pairs)


def seen(library: FolderLibrary) -> dict[str, str | None]:
    """The name of each model's projector, by the model."""
    return {info.name: _name(info) for info in library.models()}


def _name(info: ModelInfo) -> str | None:
    path = info.details.get("projector")
    sees = info.capability is not None and "image" in info.capability.input
    assert sees == isinstance(path, str)
    return Path(path).name if isinstance(path, str) else None


def test_a_model_beside_its_projector_is_one_model_with_vision(tmp_path: Path) -> None:
    (tmp_path / "o--r").mkdir()
    write_seeing(tmp_path / "o--r" / "see-Q4_K_M.gguf", tmp_path / "o--r" / "mmproj-F16.gguf")
    (info,) = FolderLibrary([tmp_path]).models()
    assert info.name == "see-Q4_K_M"
    assert info.capability is not None
    assert info.capability.input == {"text", "image"}
    assert info.details["projector"] == str(tmp_path / "o--r" / "mmproj-F16.gguf")
    both = sum(path.stat().st_size for path in (tmp_path / "o--r").iterdir())
    assert info.size_bytes == both


@pytest.mark.parametrize(
    ("models", "projectors", "pairs"),
    [
        (["gemma-3-4b-it-Q4_K_M"], ["mmproj-BF16", "mmproj-F16", "mmproj-F32"], ["mmproj-F16"]),
        (["SmolVLM-256M-Instruct-Q8_0"], ["mmproj-SmolVLM-256M-Instruct-Q8_0"], None),
        (["ggml-model-Q4_K"], ["mmproj-model-f16"], None),
        (["google_gemma-3-4b-it-Q4_K_M"], ["mmproj-google_gemma-3-4b-it-bf16"], None),
        (["Qwen2.5-VL-7B-Instruct-Q4_K_M"], ["Qwen2.5-VL-7B-Instruct.mmproj-fp16"], None),
        (["llava-v1.6-mistral-7b.Q4_K_M"], ["mmproj-qwen2-vl-f16"], [None]),
        (
            ["qwen2-vl-2b-Q4_0", "llava-7b-Q4_0"],
            ["mmproj-llava-7b-f16", "mmproj-qwen2-vl-2b-f16"],
            ["mmproj-qwen2-vl-2b-f16", "mmproj-llava-7b-f16"],
        ),
    ],
)
def test_the_name_says_which_projector_is_a_model_s_own(
    models: list[str], projectors: list[str], pairs: list[str | None] | None, tmp_path: Path
) -> None:
    for name in models:
        model(tmp_path / f"{name}.gguf")
    for name in projectors:
        projector(tmp_path / f"{name}.gguf")
    wanted = [name and f"{name}.gguf" for name in pairs or projectors]
    assert seen(FolderLibrary([tmp_path])) == dict(zip(models, wanted, strict=True))


def test_a_projector_of_another_width_is_not_taken(tmp_path: Path) -> None:
    model(tmp_path / "a.gguf", 96)
    model(tmp_path / "b.gguf", 64)
    projector(tmp_path / "mmproj-f16.gguf", 192)
    assert seen(FolderLibrary([tmp_path])) == {"a": "mmproj-f16.gguf", "b": "mmproj-f16.gguf"}
    projector(tmp_path / "mmproj-f16.gguf", 64 * 5)
    assert seen(FolderLibrary([tmp_path])) == {"a": None, "b": "mmproj-f16.gguf"}


def test_a_projector_in_another_folder_and_one_of_embeddings_are_left_alone(
    tmp_path: Path,
) -> None:
    model(tmp_path / "x" / "a.gguf")
    projector(tmp_path / "y" / "mmproj-f16.gguf")
    model(tmp_path / "y" / "embed.gguf", architecture="bert")
    assert set(seen(FolderLibrary([tmp_path])).values()) == {None}


def test_what_a_projector_takes_is_read_from_it(tmp_path: Path) -> None:
    model(tmp_path / "a.gguf")
    hears = pair("clip.has_audio_encoder", BOOL, b"\1")
    sees = pair("clip.has_vision_encoder", BOOL, b"\1")
    for pairs, taken in (((hears,), {"audio"}), ((hears, sees), {"audio", "image"})):
        projector(tmp_path / "mmproj-f16.gguf", 64, *pairs)
        (info,) = FolderLibrary([tmp_path]).models()
        assert info.capability is not None
        assert info.capability.input == {"text"} | taken


def test_a_projector_of_the_settings_counts(tmp_path: Path) -> None:
    model(tmp_path / "a.gguf")
    own = projector(tmp_path / "far" / "sight.gguf")
    projector(tmp_path / "mmproj-f16.gguf")
    assert seen(FolderLibrary([tmp_path], projectors={"a": own}))["a"] == "sight.gguf"
    missing = FolderLibrary([tmp_path], projectors={"a": tmp_path / "none.gguf"})
    assert seen(missing)["a"] is None


def test_a_projector_goes_with_the_last_model_that_uses_it(tmp_path: Path) -> None:
    own = tmp_path / "models"
    for name in ("see-Q4_0", "see-Q8_0"):
        model(own / "o--r" / f"{name}.gguf")
    projector(own / "o--r" / "mmproj-see-f16.gguf")
    library = FolderLibrary([own], own=own)
    library.delete("see-Q4_0")
    assert seen(library) == {"see-Q8_0": "mmproj-see-f16.gguf"}
    library.delete("see-Q8_0")
    assert [*own.iterdir()] == []


def test_a_file_of_the_settings_is_listed_under_its_name(tmp_path: Path) -> None:
    path = model(tmp_path / "here" / "strange name.gguf")
    projector(path.with_name("mmproj-f16.gguf"))
    named = {"mine": path, "gone": tmp_path / "gone.gguf"}
    assert seen(FolderLibrary([], named=named)) == {"gone": None, "mine": "mmproj-f16.gguf"}
    library = FolderLibrary([tmp_path], named=named)
    gone, mine = library.models()
    assert (gone.name, mine.name) == ("gone", "mine")
    assert library.path_of("mine") == path
    assert gone.details["problem"] == f"there is no file {tmp_path / 'gone.gguf'}"


def test_the_parts_of_a_file_of_the_settings_are_found(tmp_path: Path) -> None:
    for part in (1, 3):
        model(tmp_path / f"big-{part:05}-of-00003.gguf")
    library = FolderLibrary([], named={"big": tmp_path / "big-00001-of-00003.gguf"})
    (info,) = library.models()
    assert info.details["problem"] == "part 2 of 3 is missing"
    model(tmp_path / "big-00002-of-00003.gguf")
    (info,) = library.models()
    assert "problem" not in info.details


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        ("none.gguf", "lora", "does not exist."),
        ("junk.gguf", "lora", "is not a usable GGUF file: it does not begin with GGUF."),
        ("m.gguf", "lora", "is no LoRA adapter."),
        ("m.gguf", "projector", "is no image encoder (mmproj file)."),
        ("eye.gguf", "draft_model", "is no language model."),
        ("qwen.gguf", "lora", "does not fit m: it is for qwen2, and the model is llama."),
        ("wide.gguf", "projector", "does not fit m: its rows have 96 numbers, and those of the "),
        ("spm.gguf", "draft_model", "does not fit m: its vocabulary is llama, and that of the mod"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    name: str, kind: Companion, sentence: str, tmp_path: Path
) -> None:
    model(tmp_path / "m.gguf")
    (tmp_path / "junk.gguf").write_bytes(b"junk")
    projector(tmp_path / "eye.gguf")
    projector(tmp_path / "wide.gguf", 96)
    model(tmp_path / "spm.gguf", kind="llama")
    gguf(tmp_path / "qwen.gguf", "qwen2", pair("general.type", STRING, text("adapter")))
    library = FolderLibrary([tmp_path])
    with pytest.raises(AIError) as refused:
        library.check_companion(tmp_path / name, kind, "m")
    assert refused.value.code == ErrorCode.MODEL_NOT_LOADED
    assert refused.value.message.startswith(f"{tmp_path / name} {sentence}")
    assert refused.value.hint is not None
    assert f"`{kind}`" in refused.value.hint
