"""All that is known of one model, and where each value came from."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ollm_tui.library.fit import Fit
from ollm_tui.protocol.model import ModelInfo, ModelRef

Deed: TypeAlias = Literal["show", "delete", "copy", "load", "unload"]
DEEDS: tuple[Deed, ...] = ("show", "delete", "copy", "load", "unload")


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveValue:
    """One setting as it counts for a model."""

    name: str
    """`num_ctx`, `temperature`, ..."""
    value: str
    source: str
    """Who said so: `the model file`, `config.toml`, `--temperature`, `the engine's default`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDetails:
    """One model, described."""

    ref: ModelRef
    info: ModelInfo
    place: str
    """The server or folder as a question names it."""
    licence: str | None = None
    """The whole text, or its name where only that is known."""
    template: str | None = None
    settings: tuple[EffectiveValue, ...] = ()
    fit: Fit | None = None
    until: str | None = None
    """When a loaded model leaves memory, ISO 8601; None when that is not known."""
    gpu_share: float | None = None
    """The part of a loaded model that is in graphics memory, from 0 to 1."""
    path: str | None = None
    """The file, where it is one of this machine."""
