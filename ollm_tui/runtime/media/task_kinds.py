"""Which models are for a task beside chatting, by what is known of them and of their servers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.models.kinds import kind_table
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.model import MODEL_ALIASES, MUSIC, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.media.answer import InputTask, offers

if TYPE_CHECKING:
    from ollm_tui.providers.registry import ProviderRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKind:
    """The models for a task."""

    alias: str
    operation: InputTask
    made_by: str | None
    """The kind of its models in `models/kinds.yaml`, where their server tells only their names."""
    advice: str


KINDS: Final[Mapping[ModelTask, TaskKind]] = {
    "embedding": TaskKind(
        alias="embedding",
        operation="embeddings",
        made_by="embedding",
        advice="`ollm models pull nomic-embed-text` downloads one to Ollama.",
    ),
    "speech": TaskKind(
        alias="tts",
        operation="speech",
        made_by="speech",
        advice="Install espeak-ng, or put a voice of Piper into the models folder; servers such as "
        "LocalAI and OpenAI have models that speak, too.",
    ),
    "transcription": TaskKind(
        alias="stt",
        operation="transcription",
        made_by="whisper",
        advice="`ollm models pull hf://ggerganov/whisper.cpp/ggml-base.bin` downloads one; "
        "servers such as LocalAI, vLLM and OpenAI have models that transcribe, too.",
    ),
    "picture": TaskKind(
        alias="drawing",
        operation="pictures",
        made_by="image",
        advice="Put a model of Stable Diffusion into the models folder; servers such as "
        "stable-diffusion.cpp, LocalAI and OpenAI have models that draw, too.",
    ),
    "video": TaskKind(
        alias="video_gen",
        operation="videos",
        made_by="video",
        advice="Servers such as stable-diffusion.cpp, LocalAI and vLLM-Omni have models that make "
        "videos.",
    ),
    "music": TaskKind(
        alias="music",
        operation="music",
        made_by=None,
        advice="LocalAI has models that make music, such as ace-step.",
    ),
    "infill": TaskKind(
        alias="infill",
        operation="infill",
        made_by=None,
        advice="Models for code such as qwen2.5-coder can: `ollm models pull qwen2.5-coder:1.5b`.",
    ),
}
_SEEN: Final = frozenset({"picture", "video"})


def can_do(info: ModelInfo, task: ModelTask) -> bool:
    """Return whether a model is made for a task, as far as is known, or its name says."""
    if info.details.get("problem"):
        return False
    if task == "embedding":
        return bool(capabilities_of(info).embedding.value)
    kind, known = MODEL_ALIASES[KINDS[task].alias], info.capability
    if task == "infill":
        assumed = info.assumed.features if info.assumed is not None else frozenset()
        return "infill" in (known.features if known is not None else frozenset()) | assumed
    if known is None:
        made_by = KINDS[task].made_by
        return made_by is not None and kind_table().is_named(info.name, made_by)
    if task in _SEEN:
        # Most that draw also edit pictures, and some make both.
        makes = kind.output <= known.output <= {"image", "video"}
        return known.input >= kind.input and makes
    # A model that hears and also reads is one to chat with.
    is_for_it = (MUSIC in known.features) == (task == "music")
    return known.input == kind.input and known.output == kind.output and is_for_it


def candidates(
    task: ModelTask, registry: "ProviderRegistry", listings: Sequence[Listing]
) -> list[ModelRef]:
    """Return the listed models for a task that their servers support."""
    able = {
        ModelRef(listing.provider, info.name): info
        for listing in listings
        if (adapter := registry.get(listing.provider)) is not None
        and offers(adapter, KINDS[task].operation)
        for info in listing.models
        if can_do(info, task)
    }
    # A program of the system is there without anybody's wish: it counts if nothing else does.
    chosen = [ref for ref, info in able.items() if info.details.get("format") != "program"]
    return chosen or [*able]
