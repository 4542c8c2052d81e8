"""All that is known of one model, and where each value came from."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ollm_tui.library.fit import Fit
from ollm_tui.protocol.model import ModelInfo, ModelRef

ModelAction: TypeAlias = Literal["show", "delete", "copy", "load", "unload", "keep"]
MODEL_ACTIONS: tuple[ModelAction, ...] = ("show", "delete", "copy", "load", "unload", "keep")


Layer: TypeAlias = Literal["chat", "settings", "provider", "model", "app", "engine"]
"""Who may say a value, what counts most in front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One setting as it counts for a model."""

    name: str
    """`num_ctx`, `temperature`, ..."""
    value: str
    """Empty where nobody chose one and the engine does not tell its own."""
    source: str
    """Who said so: `the model file`, `config.toml:7, options.top_p`, `the engine's default`."""
    layer: Layer = "engine"
    beneath: tuple["EffectiveValue", ...] = ()
    """What would count without it, the next one in front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFacts:
    """The windows of one model, in tokens; None where one is not known."""

    tokens: int
    """The one that counts for a chat."""
    source: str
    """Why that one: `[models] in the settings`, `as it is loaded`, `assumed`, ..."""
    trained: int | None = None
    """What the model was made for."""
    configured: int | None = None
    """What the settings or the model file ask for."""
    configured_by: str | None = None
    loaded: int | None = None
    """The window of the model as it is in memory now."""
    told: int | None = None
    """The engine's word, loaded or not."""
    is_set: bool = False
    """Whether a person has said it for this model, so that nothing else counts."""
    is_assumed: bool = False
    """Whether nobody knows: then a chat warns and blocks nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetails:
    """One model, described."""

    ref: ModelRef
    info: ModelInfo
    """Without its long texts, which are fields here."""
    place: str
    """The server or folder as a question names it."""
    licence: str | None = None
    """The whole text, or its name where only that is known."""
    template: str | None = None
    system: str | None = None
    """The system prompt that the model brings along."""
    modelfile: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    """Values that the model brings along, by name; a name may come more than once."""
    settings: tuple[EffectiveValue, ...] = ()
    context: ContextFacts | None = None
    fit: Fit | None = None
    until: str | None = None
    """When a loaded model leaves memory, ISO 8601; None when that is not known."""
    gpu_share: float | None = None
    """The part of a loaded model that is in graphics memory, from 0 to 1."""
    path: str | None = None
    """The file, where it is one of this machine."""
    loads_with_window: bool = False
    """Whether the engine loads it with the window that a request asks for."""
