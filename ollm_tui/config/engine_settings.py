"""How llama.cpp loads a model: for every model in `[embedded]`, for one below `[models]`."""

from typing import Annotated, Literal, TypeAlias

from ollm_tui.config.values import FilePath, NoSwitch
from ollm_tui.dataclass import dataclass
from ollm_tui.sections.marks import Bounds
from ollm_tui.sections.section import Section, setting

CacheType: TypeAlias = Literal[
    "f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"
]
"""What llama.cpp keeps the cache of a context as."""
MAX_LAYERS = 10_000
PICTURE_PARTS = ("vae", "clip_l", "clip_g", "t5xxl", "llm", "taesd")
"""Settings that name the parts of a model that draws."""
FILES_BESIDE = frozenset({"lora", "draft_model", "chat_template", *PICTURE_PARTS})
"""Settings that name files, which those beside a model file may have, too."""
DraftTokens: TypeAlias = Annotated[int, Bounds(ge=1, le=1024), NoSwitch]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings(Section):
    """What can be the same for every model."""

    threads: Annotated[int, Bounds(ge=1, le=1024), NoSwitch] | None = setting(
        None,
        examples=[4],
        description="CPU threads that write answers; if not set, the physical cores, leaving one "
        "processor free.",
    )
    threads_batch: Annotated[int, Bounds(ge=1, le=1024), NoSwitch] | None = setting(
        None,
        examples=[8],
        description="CPU threads that read prompts; if not set, `threads`, and without that all "
        "cores.",
    )
    gpu_layers: Annotated[int, Bounds(ge=0, le=MAX_LAYERS), NoSwitch] | Literal["all"] | None = (
        setting(
            None,
            examples=["all"],
            description="Layers on the GPU; if not set, as many as fit.",
        )
    )
    cache_type_k: CacheType | None = setting(
        None, examples=["q8_0"], description="Type of the keys in the KV cache; usually f16."
    )
    cache_type_v: CacheType | None = setting(
        None,
        examples=["q8_0"],
        description="Type of the values in the KV cache; types other than f16, bf16 and f32 need "
        "flash attention.",
    )
    flash_attention: bool | None = setting(
        None,
        examples=[True],
        description="Use flash attention; if not set, whenever the engine supports it.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEngineSettings(EngineSettings):
    """What belongs to one model, beside that: files, and values of its own."""

    path: FilePath | None = setting(
        None,
        examples=["~/downloads/model.gguf"],
        description="Its GGUF file: the built-in engine lists it under this name.",
    )
    projector: FilePath | None = setting(
        None,
        examples=["~/downloads/mmproj.gguf"],
        description="Its image encoder (mmproj file); if not set, the one beside its file.",
    )
    lora: list[FilePath] = setting(
        [],
        examples=[["~/downloads/adapter.gguf"]],
        description="LoRA adapters that the built-in engine applies to it.",
    )
    draft_model: FilePath | None = setting(
        None,
        examples=["~/downloads/small.gguf"],
        description="A small model with the same vocabulary that drafts its tokens (speculative "
        "decoding).",
    )
    draft_tokens: DraftTokens | None = setting(
        None, examples=[16], description="Maximum number of tokens that the draft model drafts."
    )
    chat_template: FilePath | None = setting(
        None,
        examples=["~/templates/mine.jinja"],
        description="File with a chat template (jinja) that the built-in engine uses instead of "
        "the one in the model file.",
    )
    vae: FilePath | None = setting(
        None,
        examples=["~/downloads/ae.safetensors"],
        description="If it draws: its decoder (VAE); if not set, the one beside its file.",
    )
    clip_l: FilePath | None = setting(
        None,
        examples=["~/downloads/clip_l.safetensors"],
        description="If it draws: its text encoder CLIP-L; if not set, the one beside its file.",
    )
    clip_g: FilePath | None = setting(
        None,
        examples=["~/downloads/clip_g.safetensors"],
        description="If it draws: its text encoder CLIP-G; if not set, the one beside its file.",
    )
    t5xxl: FilePath | None = setting(
        None,
        examples=["~/downloads/t5xxl_fp8.safetensors"],
        description="If it draws: its text encoder T5-XXL; if not set, the one beside its file.",
    )
    llm: FilePath | None = setting(
        None,
        examples=["~/downloads/qwen3-4b.gguf"],
        description="If it draws: the language model that reads its prompts; if not set, the one "
        "beside its file.",
    )
    taesd: FilePath | None = setting(
        None,
        examples=["~/downloads/taesd.safetensors"],
        description="If it draws: its small decoder (TAESD), for better previews.",
    )
