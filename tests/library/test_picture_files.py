"""Models that draw among the files of a folder, and the files that they need."""

import struct
from pathlib import Path

import pytest

from ollm_tui.decode.json_fields import positive
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.model import ModelInfo, matches_alias
from tests.library.gguf_bytes import STRING, file_of, pair, text
from tests.support import picture_models as names
from tests.support.picture_models import put_names, put_pickle, put_tiny


def listed(folder: Path) -> dict[str, ModelInfo]:
    return {info.name: info for info in FolderLibrary([folder], own=folder).models()}


def put_flux(folder: Path, name: str = "flux.safetensors") -> Path:
    return put_names(folder / name, names.FLUX)


def put_parts(folder: Path) -> None:
    put_names(folder / "ae.safetensors", names.VAE)
    put_names(folder / "clip_l.safetensors", names.CLIP_L)
    put_names(folder / "t5xxl_fp8.safetensors", names.T5XXL)


def test_a_checkpoint_draws_and_says_what_it_is(tmp_path: Path) -> None:
    put_tiny(tmp_path)
    put_names(tmp_path / "sd15.safetensors", names.SD1)
    put_pickle(tmp_path / "old.ckpt", names.SD1)
    models = listed(tmp_path)
    assert {name: info.details["family"] for name, info in models.items()} == {
        "tiny": "minit2i",
        "sd15": "sd1",
        "old": "sd1",
    }
    for info in models.values():
        assert info.capability is not None
        assert matches_alias(info.capability, "drawing")
        assert "problem" not in info.details
        assert "needs" not in info.details
    assert models["tiny"].details["quantization"] == "F16"
    assert models["old"].details["format"] == "ckpt"


def test_other_weights_and_parts_of_a_folder_are_not_listed(tmp_path: Path) -> None:
    put_parts(tmp_path)
    put_names(tmp_path / "text.safetensors", names.LANGUAGE)
    put_names(tmp_path / "model.safetensors", names.SD1)
    put_names(tmp_path / "diffusion_pytorch_model.fp16.safetensors", names.FLUX)
    put_names(tmp_path / "flux-00001-of-00002.safetensors", names.FLUX)
    assert listed(tmp_path) == {}


def test_weights_of_another_form_do_not_take_the_name_of_a_gguf_file(tmp_path: Path) -> None:
    put_names(tmp_path / "m.safetensors", names.LANGUAGE)
    architecture = pair("general.architecture", STRING, text("llama"))
    (tmp_path / "m.gguf").write_bytes(file_of(architecture))
    assert [*listed(tmp_path)] == ["m"]


def test_the_parts_of_a_model_are_those_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "flux"
    folder.mkdir()
    put_flux(folder)
    put_parts(folder)
    put_flux(tmp_path, "alone.safetensors")
    models = listed(tmp_path)
    assert models["flux"].details["part_files"] == {
        "vae": str(folder / "ae.safetensors"),
        "clip_l": str(folder / "clip_l.safetensors"),
        "t5xxl": str(folder / "t5xxl_fp8.safetensors"),
    }
    sizes = [positive(models[name].details, "loaded_with_bytes") for name in ("flux", "alone")]
    assert sizes[0] is not None
    assert sizes[1] is not None
    assert sizes[0] > sizes[1]
    assert models["alone"].details["needs"] == ["vae", "clip_l", "t5xxl"]
    assert "part_files" not in models["alone"].details


def test_the_parts_of_a_download_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    folders = [tmp_path / "owner--flux" / name for name in ("unet", "vae", "encoders")]
    for folder in folders:
        folder.mkdir(parents=True)
    put_flux(folders[0])
    vae = put_names(folders[1] / "ae.safetensors", names.VAE)
    put_names(folders[2] / "clip_l.safetensors", names.CLIP_L)
    put_names(folders[2] / "t5xxl.safetensors", names.T5XXL)
    library = FolderLibrary([tmp_path], own=tmp_path)
    (info,) = library.models()
    parts = info.details["part_files"]
    assert isinstance(parts, dict)
    assert parts["vae"] == str(vae)
    assert [*parts] == ["vae", "clip_l", "t5xxl"]
    library.delete("flux")
    assert not (tmp_path / "owner--flux").exists()


def test_a_language_model_reads_the_prompts_of_those_that_need_one(tmp_path: Path) -> None:
    put_names(tmp_path / "z.safetensors", ["cap_embedder.0.weight", "noise_refiner.0.x"])
    put_names(tmp_path / "ae.safetensors", names.VAE)
    architecture = pair("general.architecture", STRING, text("llama"))
    (tmp_path / "a-chat.gguf").write_bytes(file_of(architecture))
    assert listed(tmp_path)["z"].details["part_files"] == {"vae": str(tmp_path / "ae.safetensors")}
    put_names(tmp_path / "qwen_3_4b.safetensors", names.LANGUAGE)
    parts = listed(tmp_path)["z"].details["part_files"]
    assert isinstance(parts, dict)
    assert parts["llm"] == str(tmp_path / "qwen_3_4b.safetensors")
    architecture = pair("general.architecture", STRING, text("qwen3"))
    (tmp_path / "z-qwen3.gguf").write_bytes(file_of(architecture))
    parts = listed(tmp_path)["z"].details["part_files"]
    assert isinstance(parts, dict)
    assert parts["llm"] == str(tmp_path / "z-qwen3.gguf")


def test_of_two_parts_the_one_with_the_model_s_words_is_taken(tmp_path: Path) -> None:
    put_flux(tmp_path, "flux-dev.safetensors")
    put_parts(tmp_path)
    put_names(tmp_path / "zz-flux-ae.safetensors", names.VAE)
    parts = listed(tmp_path)["flux-dev"].details["part_files"]
    assert isinstance(parts, dict)
    assert parts["vae"] == str(tmp_path / "zz-flux-ae.safetensors")


def test_parts_are_deleted_with_the_last_model_that_uses_them(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    put_flux(own, "one.safetensors")
    put_flux(own, "two.safetensors")
    put_parts(own)
    library = FolderLibrary([own], own=own)
    library.delete("one")
    assert len([*own.iterdir()]) == 4
    library.delete("two")
    assert [*own.iterdir()] == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it does not begin as a safetensors file"),
        (b"\xff" * 20, "it does not begin as a safetensors file"),
        (struct.pack("<Q", 100) + b"{", "it ends in the middle of its header"),
        (struct.pack("<Q", 4) + b"{{{{", "its header is broken"),
        (struct.pack("<Q", 10_000) + b"[" * 10_000, "its header is broken"),
        (names.tiny()[:-1], "it is cut short"),
    ],
)
def test_a_broken_file_says_why(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "sd.safetensors").write_bytes(content)
    assert listed(tmp_path)["sd"].details["problem"] == problem


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x05\x06" + b"\0" * 18])
def test_a_pickle_that_is_no_archive_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sd.ckpt").write_bytes(content)
    assert "problem" in listed(tmp_path)["sd"].details


def test_a_checkpoint_of_a_form_that_runs_code_is_only_read(tmp_path: Path) -> None:
    """Its pickle would raise in every program that loads it."""
    put_pickle(tmp_path / "sd.ckpt", ["posix.system", *names.SD1])
    assert listed(tmp_path)["sd"].details["family"] == "sd1"
