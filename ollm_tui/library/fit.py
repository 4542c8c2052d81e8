"""Whether a model fits this machine, with the numbers."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ollm_tui.library.machine import Machine

Verdict: TypeAlias = Literal["gpu", "partly", "cpu", "no", "unknown"]
"""`gpu`: all of it in graphics memory; `partly`: some layers there and the rest in RAM; `cpu`: in
RAM alone; `no`: in neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What of a model its memory depends on; None where it is not known."""

    weights: int
    """Bytes of the tensors: as good as the size of the file or files."""
    layers: int | None = None
    kv_heads: int | None = None
    """Key/value heads of a layer; the mean where layers differ."""
    key_length: int | None = None
    value_length: int | None = None
    context_trained: int | None = None
    parameters: int | None = None
    window: int | None = None
    """Tokens that layers with a sliding window keep; None where all keep the whole context."""
    windowed: int = 0
    """Layers with such a window."""
    embedding: int | None = None
    """Numbers for one token between two layers."""
    is_guess: bool = False
    """Whether anything of it was guessed from the size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The verdict and what it comes from; bytes."""

    verdict: Verdict
    weights: int
    cache: int
    overhead: int
    context: int
    """Tokens that `cache` is for."""
    kv_type: str
    """How the cache is kept: `f16`, `q8_0`, `q4_0`."""
    machine: Machine
    gpu_share: float = 0.0
    """The part of it that goes into graphics memory, from 0 to 1."""
    is_estimate: bool = False
    """Whether the shape had to be guessed from the size."""

    @property
    def needed(self) -> int:
        """Bytes in all."""
        return self.weights + self.cache + self.overhead
