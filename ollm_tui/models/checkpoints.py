"""What the names of tensors say of a model that draws: its family, and which parts a file has.

A picture is made by a diffusion model with a text encoder, or several, and a decoder (VAE). A file
has all of them or one.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ollm_tui.dataclass import dataclass

IMAGE: Final = "image"
"""The kind of models that draw, in `details["kind"]`."""
DIFFUSION: Final = "diffusion_model"
VAE, CLIP_L, CLIP_G, T5XXL, LLM = "vae", "clip_l", "clip_g", "t5xxl", "llm"
PARTS: Final[Mapping[str, str]] = {
    DIFFUSION: "diffusion model",
    VAE: "decoder (VAE)",
    CLIP_L: "text encoder CLIP-L",
    CLIP_G: "text encoder CLIP-G",
    T5XXL: "text encoder T5-XXL",
    LLM: "language model that reads the prompt",
}
"""The parts by their names in the settings, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFamily:
    """What models of one kind need, and what they are used to."""

    needs: tuple[str, ...]
    """The parts beside the diffusion model."""
    size: int = 1024
    """Pixels of a side."""
    cfg_scale: float = 1.0
    steps: int = 20
    working_bytes: int = 3_000_000_000
    """Memory beside the weights for a picture of the usual size, as far as is known."""
    llm: tuple[str, ...] = ()
    """Architectures of the language models that read the prompt."""
    is_square: bool = False
    """Whether it only draws squares."""


FAMILIES: Final[Mapping[str, PictureFamily]] = {
    "sd1": PictureFamily(needs=(VAE, CLIP_L), size=512, cfg_scale=7.0, working_bytes=1_800_000_000),
    "sd2": PictureFamily(needs=(VAE, CLIP_L), size=512, cfg_scale=7.0, working_bytes=1_800_000_000),
    "sdxl": PictureFamily(needs=(VAE, CLIP_L, CLIP_G), cfg_scale=7.0, working_bytes=6_800_000_000),
    "sd3": PictureFamily(needs=(VAE, CLIP_L, CLIP_G), cfg_scale=4.5, working_bytes=6_800_000_000),
    "flux": PictureFamily(needs=(VAE, CLIP_L, T5XXL), working_bytes=6_800_000_000),
    "flux2": PictureFamily(needs=(VAE, LLM), llm=("mistral3", "qwen3"), cfg_scale=1.0),
    "chroma": PictureFamily(needs=(VAE, T5XXL), cfg_scale=4.0, working_bytes=6_800_000_000),
    "qwen_image": PictureFamily(needs=(VAE, LLM), llm=("qwen2vl",), cfg_scale=2.5),
    "lumina2": PictureFamily(needs=(VAE, LLM), llm=("qwen3",), cfg_scale=1.0, steps=8),
    "minit2i": PictureFamily(
        needs=(T5XXL,), size=512, cfg_scale=6.0, working_bytes=200_000_000, is_square=True
    ),
}
"""By the names of architectures that GGUF files have; Z-Image is `lumina2` there."""
VIDEO: Final = "video"
_FAST: Final = ("turbo", "schnell", "lightning", "hyper", "lcm")
"""Words in the names of models that need few steps, and no second run for the guidance."""
_FAST_STEPS: Final = 4
_ADDITIONS: Final = (".lora_down.", ".lora_up.", ".lora_A.", ".lora_B.", "\nlora_", ".hada_w1_")
_SIGNS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (VIDEO, ("blocks.0.cross_attn.norm_k.",)),
    (VIDEO, ("txt_in.individual_token_refiner.",)),
    (VIDEO, ("adaln_single.emb.timestep_embedder.", "audio_")),
    (VIDEO, ("time_mixer.mix_factor",)),
    ("minit2i", ("img_embedder.proj1.weight",)),
    ("sd3", ("joint_blocks.0.",)),
    ("lumina2", ("cap_embedder.0.weight", "noise_refiner.0.")),
    ("qwen_image", ("transformer_blocks.0.img_mod.1.weight",)),
    ("flux2", ("double_stream_modulation_img.lin.",)),
    ("chroma", ("double_blocks.0.", "distilled_guidance_layer.")),
    ("flux", ("double_blocks.0.", "single_blocks.0.")),
    ("sdxl", ("input_blocks.0.0.weight", "output_blocks.0.", "label_emb.0.0.weight")),
    ("sd2", ("input_blocks.0.0.weight", "output_blocks.0.", "cond_stage_model.model.")),
    ("sd1", ("input_blocks.0.0.weight", "output_blocks.0.")),
)
"""What the names of a diffusion model have in them; the first row of which all are there counts."""
_OF_WHOLE: Final[Mapping[str, tuple[str, ...]]] = {
    VAE: ("\nfirst_stage_model.", "\nvae."),
    CLIP_L: ("\ncond_stage_model.", "\nconditioner.embedders.0.", "\ntext_encoders.clip_l."),
    CLIP_G: ("\nconditioner.embedders.1.", "\ntext_encoders.clip_g."),
    T5XXL: ("\ntext_encoders.t5xxl.", "\ntext_encoders.t5."),
}
_PREFIX: Final = "model.diffusion_model."


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a file has of a model that draws."""

    family: str | None
    """Of its diffusion model; None if it only has other parts."""
    parts: frozenset[str]
    is_bare: bool = False
    """Whether it has the diffusion model alone, under names of its own."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The parts that must come from other files."""
        family = FAMILIES.get(self.family or "")
        return tuple(one for one in family.needs if one not in self.parts) if family else ()


def checkpoint_of(names: Iterable[str]) -> Checkpoint | None:
    """Return what a file has by the names of its tensors; None if no model that draws uses it."""
    text = "\n".join(("", *names, ""))
    if any(one in text for one in _ADDITIONS):
        return None
    rows = (family for family, signs in _SIGNS if all(sign in text for sign in signs))
    family = next(rows, None)
    if family is None:
        part = _single_part(text)
        return None if part is None else Checkpoint(family=None, parts=frozenset({part}))
    parts = {part for part, signs in _OF_WHOLE.items() if any(sign in text for sign in signs)}
    is_bare = f"\n{_PREFIX}" not in text
    return Checkpoint(family=family, parts=frozenset({DIFFUSION, *parts}), is_bare=is_bare)


def _single_part(text: str) -> str | None:
    """Return which part a file is that has no diffusion model."""
    if "encoder.block.0.layer.0.SelfAttention.q." in text or "\nenc.blk.0.attn_q." in text:
        return T5XXL
    if "text_model.encoder.layers.0." in text and "vision_model." not in text:
        return CLIP_G if "text_model.encoder.layers.31." in text else CLIP_L
    if "\nmodel.layers.0.self_attn.q_proj.weight\n" in text:
        return LLM
    is_decoder = "\ndecoder.conv_in.weight\n" in text or "\ndecoder.conv1.weight\n" in text
    return VAE if is_decoder or "\nfirst_stage_model.decoder." in text else None


def usual_options(family: str, name: str) -> dict[str, int | float | bool]:
    """Return the options that a model is drawn with if nothing else is set."""
    known = FAMILIES[family]
    is_fast = any(word in name.lower() for word in _FAST)
    steps = min(known.steps, _FAST_STEPS) if is_fast and family != "lumina2" else known.steps
    return {
        "usual_size": known.size,
        "steps": steps,
        "cfg_scale": 1.0 if is_fast else known.cfg_scale,
        "is_square": known.is_square,
    }
