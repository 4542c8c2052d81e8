"""With what files and options a model that draws is loaded, and what is missing for it."""

import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.models.known_models import KnownModels, sidecar_path
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.embedded.drawing_plans import DrawingPlanner
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from tests.support import picture_models as names
from tests.support.picture_models import put_names, put_tiny
from tests.support.sound_models import put_voice

ALL = frozenset({"cyllama"})


def planner(
    folder: Path, packages: Collection[str] = ALL, **models: ModelEngineSettings
) -> DrawingPlanner:
    settings = EmbeddedSettings(models=models, engine=EngineSettings(threads=3))
    library = FolderLibrary([folder])
    known = KnownModels()
    return DrawingPlanner(library, known, settings, has_package=lambda name: name in packages)


def refusal(them: DrawingPlanner, name: str) -> AIError:
    with pytest.raises(AIError) as caught:
        them.plan(name, is_required=True)
    return caught.value


def test_a_whole_checkpoint_is_loaded_as_it_is(tmp_path: Path) -> None:
    path = put_tiny(tmp_path)
    plan = planner(tmp_path).plan("tiny")
    assert plan is not None
    assert (plan.engine, plan.path, plan.files) == ("stable-diffusion.cpp", path, {})
    assert plan.options["threads"] == 3
    assert plan.options["is_square"] is True


def test_a_diffusion_model_is_loaded_with_the_parts_beside_it(tmp_path: Path) -> None:
    path = put_names(tmp_path / "flux1-kontext.safetensors", names.FLUX)
    vae = put_names(tmp_path / "ae.safetensors", names.VAE)
    clip = put_names(tmp_path / "clip_l.safetensors", names.CLIP_L)
    t5 = put_names(tmp_path / "t5xxl.safetensors", names.T5XXL)
    plan = planner(tmp_path).plan("flux1-kontext")
    assert plan is not None
    assert plan.files == {"diffusion_model": path, "vae": vae, "clip_l": clip, "t5xxl": t5}
    assert plan.options["is_editor"] is True


def test_what_is_missing_is_named_with_its_setting(tmp_path: Path) -> None:
    put_names(tmp_path / "flux.safetensors", names.FLUX)
    put_names(tmp_path / "ae.safetensors", names.VAE)
    error = refusal(planner(tmp_path), "flux")
    assert error.message == (
        "flux cannot be used: it needs its text encoder CLIP-L (`clip_l`) and "
        "its text encoder T5-XXL (`t5xxl`) beside its file."
    )
    assert "[models]" in (error.hint or "")


def test_parts_are_set_in_the_settings_and_beside_the_file(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    vae = put_names(elsewhere / "ae.safetensors", names.VAE)
    models = tmp_path / "models"
    models.mkdir()
    path = put_names(models / "flux.safetensors", names.FLUX)
    clip = put_names(models / "c.safetensors", names.CLIP_L)
    t5 = put_names(models / "model.safetensors", names.T5XXL)  # too general to be taken by itself
    sidecar_path(path).write_text("engineOptions: {t5xxl: model.safetensors, steps: 9}\n", "utf-8")
    plan = planner(models, flux=ModelEngineSettings(vae=vae)).plan("flux")
    assert plan is not None
    assert plan.files == {"diffusion_model": path, "vae": vae, "clip_l": clip, "t5xxl": t5}
    assert plan.options["steps"] == 9


def test_a_file_of_the_settings_that_is_gone_is_named(tmp_path: Path) -> None:
    put_names(tmp_path / "sd.safetensors", names.SD1)
    error = refusal(planner(tmp_path, sd=ModelEngineSettings(vae=tmp_path / "gone")), "sd")
    assert f"there is no file {tmp_path / 'gone'}" in error.message


def test_without_the_package_the_ways_out_are_named(tmp_path: Path) -> None:
    put_tiny(tmp_path)
    error = refusal(planner(tmp_path, packages=()), "tiny")
    assert error.message == "The engine stable-diffusion.cpp is not installed."
    assert error.hint is not None
    assert "cyllama" in error.hint
    assert ("Python 3.12" in error.hint) == (sys.version_info < (3, 12))
    assert "sd-server" in error.hint


def test_a_model_that_does_not_draw_is_refused(tmp_path: Path) -> None:
    put_voice(tmp_path, "joe")
    assert planner(tmp_path).plan("joe") is None
    assert refusal(planner(tmp_path), "joe").code == ErrorCode.UNSUPPORTED_MODALITY
    assert refusal(planner(tmp_path), "nobody").code == ErrorCode.MODEL_NOT_FOUND


async def test_the_listing_says_what_keeps_a_model_from_drawing(tmp_path: Path) -> None:
    put_tiny(tmp_path)
    put_names(tmp_path / "flux.safetensors", names.FLUX)
    async with EmbeddedProvider(FolderLibrary([tmp_path])) as provider:
        models = {info.name: info for info in await provider.list_models()}
        shown = await provider.show_model("flux")
    assert "problem" not in models["tiny"].details
    assert models["tiny"].context is None
    assert "decoder (VAE)" in str(models["flux"].details["problem"])
    assert shown.details["problem"] == models["flux"].details["problem"]
