"""Whether a model fits this machine, with the numbers and in words."""

from typing import Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.library.machine import Machine

Verdict: TypeAlias = Literal["gpu", "partly", "cpu", "no", "unknown"]
"""`gpu`: all of it in graphics memory; `partly`: some layers there and the rest in RAM; `cpu`: in
RAM alone; `no`: in neither."""
IDLE_GPU = "the installed engine was built without support for graphics cards"
USE_GPU = "install llama.cpp's llama-server built for it, or run the model in Ollama"
_SHORT = {"gpu": "GPU", "cpu": "CPU", "no": "too big", "unknown": "?"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The dimensions of a model that its memory depends on; None where unknown."""

    weights: int
    """Bytes of the tensors, about the size of the files."""
    layers: int | None = None
    kv_heads: int | None = None
    """Key/value heads of a layer; the mean where layers differ."""
    key_length: int | None = None
    value_length: int | None = None
    context_trained: int | None = None
    parameters: int | None = None
    window: int | None = None
    """Tokens in the sliding window; None if all layers keep the whole context."""
    windowed: int = 0
    """Layers with a sliding window."""
    embedding: int | None = None
    """Width of the embedding."""
    is_guess: bool = False
    """Whether anything was estimated from the size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A verdict and the sizes it rests on, in bytes."""

    verdict: Verdict
    weights: int
    cache: int
    overhead: int
    context: int
    """Tokens that `cache` has room for."""
    kv_type: str
    """Type of the cache: `f16`, `q8_0`, `q4_0`."""
    machine: Machine
    beside: int = 0
    """For adapters and a draft model, with the cache of that."""
    gpu_share: float = 0.0
    """The share in graphics memory, from 0 to 1."""
    is_estimate: bool = False
    """Whether the shape was estimated from the size."""

    @property
    def needed(self) -> int:
        """Weights, cache and overhead, and what is loaded beside them, in bytes."""
        return self.weights + self.cache + self.overhead + self.beside


def fit_words(fit: Fit) -> str:
    """Return the verdict with its numbers, as one line; `about` marks an estimate."""
    about = "about " if fit.is_estimate else ""
    needed = f"{about}{_gb(fit.needed)}"
    match fit.verdict:
        case "gpu":
            return f"fits GPU: {needed} of {_gb(fit.machine.gpu_free)} GB free"
        case "partly":
            free = _gb(fit.machine.all_free)
            return f"partly: {_share(fit)} on the GPU, {needed} of {free} GB free"
        case "cpu":
            return f"CPU: {needed} of {_gb(fit.machine.ram_free or 0)} GB free"
        case "no":
            return f"will not fit: needs {needed} GB, {_gb(fit.machine.all_free)} GB are free"
        case _:
            return f"needs {needed} GB; how much is free is not known"


def fit_short(fit: Fit) -> str:
    """Return the verdict for a column: `GPU`, `61 % GPU`, `CPU`, `too big`, `?`."""
    return f"{_share(fit)} GPU" if fit.verdict == "partly" else _SHORT[fit.verdict]


def _share(fit: Fit) -> str:
    return f"{int(fit.gpu_share * 100)} %"


def _gb(count: float) -> str:
    size = count / 1e9
    return f"{size:.1f}" if size < 9.95 else f"{size:.0f}"
