"""Models and their abilities: modalities, features, capabilities, aliases and listings."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.request import GenerationOptions

Modality: TypeAlias = str
"""`text`, `image`, `audio`, `video`, `embedding`, or any other."""
Feature: TypeAlias = str
"""An ability beyond modalities: `stream`, `multi_turn`, `tool_use`, `infill`, `system_prompt`,
`thinking`, `json_mode`, `music` (its sound is no speech), or one that a provider adds."""


MUSIC: Feature = "music"


@dataclass(frozen=True, slots=True)
class ModelCapability:
    """Input and output modalities, and other abilities of a model."""

    input: frozenset[Modality] = frozenset()
    output: frozenset[Modality] = frozenset()
    features: frozenset[Feature] = frozenset()

    def covers(self, other: "ModelCapability") -> bool:
        """Return whether this has every modality and feature of `other`."""
        return (
            self.input >= other.input
            and self.output >= other.output
            and self.features >= other.features
        )


@dataclass(frozen=True, slots=True)
class ModelAlias:
    """A short name for a kind of model; only its modalities are matched."""

    input: frozenset[Modality]
    output: frozenset[Modality]
    typical_features: frozenset[Feature] = frozenset()


def _alias(given: str, made: str, *features: Feature) -> ModelAlias:
    return ModelAlias(frozenset(given.split()), frozenset(made.split()), frozenset(features))


MODEL_ALIASES: Mapping[str, ModelAlias] = {
    "chat": _alias("text", "text", "multi_turn", "system_prompt", "stream"),
    "vision": _alias("text image", "text", "multi_turn", "stream"),
    "stt": _alias("audio", "text"),
    "tts": _alias("text", "audio", "stream"),
    "drawing": _alias("text", "image"),
    "img2img": _alias("text image", "image"),
    "embedding": _alias("text", "embedding"),
    "rerank": _alias("text", "score"),
    "infill": _alias("text", "text", "infill"),
    "music": _alias("text", "audio", MUSIC),
    "video_gen": _alias("text", "video"),
}


def from_alias(alias: str) -> ModelCapability | None:
    """Return the capability an alias stands for, with its typical features; None if unknown."""
    known = MODEL_ALIASES.get(alias)
    if known is None:
        return None
    return ModelCapability(known.input, known.output, known.typical_features)


def matches_alias(
    capability: ModelCapability, alias: str, *, require_features: Iterable[Feature] = ()
) -> bool:
    """Return whether a model has the modalities of `alias`.

    Features count only where `require_features` names them. An unknown alias matches nothing.
    """
    known = MODEL_ALIASES.get(alias)
    return (
        known is not None
        and capability.input >= known.input
        and capability.output >= known.output
        and capability.features >= frozenset(require_features)
    )


LONG_DETAILS = frozenset({"licence", "template", "system", "modelfile"})
"""Keys of `ModelInfo.details` that may be long texts, which listings leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model of one provider; every field but the name may be unknown."""

    name: str
    label: str | None = None
    description: str | None = None
    size_bytes: int | None = None
    modified_at: str | None = None
    """ISO 8601, as the server sent it."""
    capability: ModelCapability | None = None
    context: int | None = None
    """The context window that the engine uses, in tokens; not the one it was trained with."""
    loaded: bool | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)
    """Whatever else is known: `family`, `parameter_size`, `quantization`, `context_trained`, ..."""
    reported: frozenset[str] | None = None
    """The abilities (`vision`, `tools`, `thinking`, `embedding`) that the engine reports; None if
    `capability` has them all."""
    chosen: frozenset[str] = frozenset()
    """Which of these, and of `context`, the user has set."""
    assumed: ModelCapability | None = None
    """What its family suggests, for abilities that the engine does not report; None without one."""
    assumed_context: int | None = None
    """The window of its family, for a service that reports none, in tokens."""


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model and the provider that has it."""

    provider: str
    model: str

    def __str__(self) -> str:
        """Return the address as users write it."""
        return f"{self.provider}://{self.model}"

    @classmethod
    def parse(cls, address: str) -> "ModelRef | None":
        """Read `provider://model`; None for a bare name."""
        provider, mark, model = address.partition("://")
        return cls(provider, model) if mark and provider and model else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullProgress:
    """Progress of a download, an upload or other work on a model, in bytes; None while unknown."""

    status: str
    digest: str | None = None
    completed: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDraft:
    """A model that is to be made: from another one of its server, or from files of this machine."""

    base: str | None = None
    """The name of the other model."""
    files: tuple[Path, ...] = ()
    """GGUF files: the model, or all parts of it, and its projector."""
    system_prompt: str | None = None
    options: GenerationOptions = field(default_factory=GenerationOptions)
    template: str | None = None
    """Its chat template, in the form of its server; None keeps the one it has."""
    quantization: str | None = None
    """Quantize to this, such as `q4_K_M`."""
