"""What the names of tensors say of models that draw."""

import pytest

from ollm_tui.models.checkpoints import FAMILIES, VIDEO, checkpoint_of, usual_options
from tests.support import picture_models as names

BARE = [name.removeprefix("model.diffusion_model.") for name in names.SD1[:2]]
SDXL = [*names.SD1, "model.diffusion_model.label_emb.0.0.weight", "conditioner.embedders.1.x"]


@pytest.mark.parametrize(
    ("tensors", "family", "needs"),
    [
        (names.SD1, "sd1", ()),
        (BARE, "sd1", ("vae", "clip_l")),
        ([*names.SD1, "cond_stage_model.model.ln_final.weight"], "sd2", ()),
        (SDXL, "sdxl", ()),
        (["model.diffusion_model.joint_blocks.0.x", "first_stage_model.x"], "sd3", "clip"),
        (names.FLUX, "flux", ("vae", "clip_l", "t5xxl")),
        ([*names.FLUX, "distilled_guidance_layer.norms.0.scale"], "chroma", ("vae", "t5xxl")),
        ([*names.FLUX, "double_stream_modulation_img.lin.weight"], "flux2", ("vae", "llm")),
        (["transformer_blocks.0.img_mod.1.weight"], "qwen_image", ("vae", "llm")),
        (["cap_embedder.0.weight", "noise_refiner.0.x"], "lumina2", ("vae", "llm")),
        (["blocks.0.cross_attn.norm_k.weight"], VIDEO, ()),
    ],
)
def test_a_family_is_told_by_names(
    tensors: list[str], family: str, needs: tuple[str, ...] | str
) -> None:
    checkpoint = checkpoint_of(tensors)
    assert checkpoint is not None
    assert checkpoint.family == family
    assert checkpoint.needs == (("clip_l", "clip_g") if needs == "clip" else needs)


@pytest.mark.parametrize(
    ("tensors", "part"),
    [
        (names.VAE, "vae"),
        (names.CLIP_L, "clip_l"),
        ([*names.CLIP_L, "text_model.encoder.layers.31.layer_norm1.weight"], "clip_g"),
        (names.T5XXL, "t5xxl"),
        (names.LANGUAGE, "llm"),
    ],
)
def test_a_part_is_no_model(tensors: list[str], part: str) -> None:
    checkpoint = checkpoint_of(tensors)
    assert checkpoint is not None
    assert (checkpoint.family, checkpoint.parts) == (None, frozenset({part}))


@pytest.mark.parametrize(
    "tensors",
    [
        [],
        ["lora_unet_double_blocks_0_img_attn.lora_down.weight", *names.FLUX],
        ["control_model.input_blocks.0.0.weight"],
        [*names.CLIP_L, "vision_model.encoder.layers.0.layer_norm1.weight"],
    ],
)
def test_other_weights_are_nothing_here(tensors: list[str]) -> None:
    assert checkpoint_of(tensors) is None


def test_a_fast_model_takes_few_steps_and_no_second_run() -> None:
    assert usual_options("flux", "flux1-schnell-Q4_0")["steps"] == 4
    assert usual_options("sdxl", "SDXL-Turbo")["cfg_scale"] == 1.0
    assert usual_options("sdxl", "base")["cfg_scale"] == FAMILIES["sdxl"].cfg_scale
    assert usual_options("lumina2", "z_image_turbo")["steps"] == 8
