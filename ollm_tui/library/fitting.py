"""How much memory a model takes, whether it fits this machine, and which file of it to take.

Suggestions put models that run on a graphics card first, then those that need the processor. A
processor reads every active parameter from main memory for each token: with more than about nine
billion of them a model gives a few tokens a second at most and comes last, however good it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.library.fit import Fit, ModelShape, Verdict
from ollm_tui.library.machine import Machine
from ollm_tui.library.quantization import bit_class, quality_rank
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.shapes import BYTES_PER_PARAMETER, completed, keeps_cache, shape_of_size

BYTES_OF: Mapping[str, float] = {
    "f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
    "q4_1": 20 / 32, "q4_0": 18 / 32, "iq4_nl": 18 / 32,
}  # fmt: skip
"""Bytes per number for each cache type."""
BATCH = 512
"""Tokens that llama.cpp computes at a time."""
WINDOW_STEP = 256
ACTIVATIONS = 16
PROCESS = 300_000_000
"""Bytes that the engine needs for any model: the program, the vocabulary, the driver's context."""
MIN_SHARE = 0.01
"""A smaller share in graphics memory counts as none."""
HEADROOM = 0.9
"""The share of free memory that a recommended model may take."""
GOOD_BITS, BEST_BITS = 4, 8
"""Bits of the class in the name: below the first, answers get visibly worse; above the second,
not better."""
USUAL_CONTEXT: Final = 8_192
"""The default window of verdicts, in tokens; an engine takes no more by default."""
USUAL_QUANTIZATION: Final = "Q4_K_M"
"""The most widespread quantization."""
_SPEECH: Final = "speech"
MAX_ACTIVE_ON_CPU: Final = 9_500_000_000
"""Active parameters; every model named 9B is within."""
_RANKS: Final[Mapping[Verdict, int]] = {"gpu": 0, "cpu": 1, "partly": 1, "unknown": 2, "no": 3}


def cache_of(shape: ModelShape, context: int, kv_type: str = "f16") -> int:
    """Return the bytes of the key/value cache; unknown dimensions count as 0.

    It has keys and values of every layer for every token, or for the window and a batch.
    """
    layers, heads = shape.layers or 0, shape.kv_heads or 0
    row = heads * ((shape.key_length or 0) + (shape.value_length or 0))
    sliding = min(shape.windowed, layers) if shape.window else 0
    kept = -(-((shape.window or 0) + BATCH) // WINDOW_STEP) * WINDOW_STEP
    numbers = row * ((layers - sliding) * context + sliding * min(context, kept))
    return int(numbers * BYTES_OF.get(kv_type.lower(), 2.0))


def compute_of(shape: ModelShape, context: int) -> int:
    """Return the approximate bytes of llama.cpp's compute buffer.

    For a batch it has a mask of two bytes per token of context, which is exact, and rows as wide
    as the embedding: thirteen were measured with SmolLM2 135M at 512 to 8192 tokens (14.6 MiB and
    1 KiB per token). Sixteen are assumed, for wider networks.
    """
    return BATCH * (2 * context + 4 * ACTIVATIONS * (shape.embedding or 4096))


def fit_of(
    shape: ModelShape, machine: Machine, *, context: int, kv_type: str = "f16", beside: int = 0
) -> Fit:
    """Return whether a model fits with a context of that many tokens.

    An unknown `kv_type` counts as f16. `beside` are the bytes of what is loaded with it.
    """
    shape = completed(shape)
    cache, overhead = cache_of(shape, context, kv_type), compute_of(shape, context) + PROCESS
    verdict, share = _placed(shape.weights + cache + beside, overhead, machine)
    return Fit(
        verdict=verdict,
        weights=shape.weights,
        cache=cache,
        overhead=overhead,
        beside=beside,
        context=context,
        kv_type=kv_type,
        machine=machine,
        gpu_share=share,
        is_estimate=shape.is_guess,
    )


def _placed(movable: int, overhead: int, machine: Machine) -> tuple[Verdict, float]:
    """Return the verdict and the share in graphics memory; the overhead is needed there too."""
    free, ram, needed = machine.gpu_free, machine.ram_free, movable + overhead
    shares_ram = machine.unified and ram is not None
    if free and needed <= free and (not shares_ram or needed <= machine.all_free):
        return "gpu", 1.0
    if ram is None:
        return "unknown", 0.0
    share = max(0.0, (free - overhead) / movable) if movable else 0.0
    if share >= MIN_SHARE and needed <= machine.all_free:
        return "partly", min(1.0, share)
    return ("cpu", 0.0) if needed <= ram else ("no", 0.0)


def recommend(
    variants: Sequence[tuple[str | None, int | None]],
    machine: Machine,
    *,
    context: int,
    shape: ModelShape | None = None,
    kv_type: str = "f16",
) -> int | None:
    """Return the index of the best variant, of (quantization, bytes) each; None if none fits.

    The best quality that fits entirely and leaves a tenth of the free memory: in graphics memory
    if a variant of at least four bits fits there, else in all memory. More than eight bits only if
    nothing smaller is offered, fewer than four only if four fit nowhere. `shape` is that of any
    variant, if known.
    """
    sized = []
    for index, (name, size) in enumerate(variants):
        if size:
            resized = shape_of_size(size) if shape is None else replace(shape, weights=size)
            fit = fit_of(resized, machine, context=context, kv_type=kv_type)
            sized.append(_Variant(index, name, fit))
    on_gpu = [one for one in sized if _is_roomy(one.fit, machine.gpu_free, {"gpu"})]
    anywhere = [
        one for one in sized if _is_roomy(one.fit, machine.all_free, {"gpu", "partly", "cpu"})
    ]
    for candidates in (on_gpu, anywhere):
        good = [one for one in candidates if one.bits >= GOOD_BITS]
        modest = [one for one in good if one.bits <= BEST_BITS]
        if modest:
            return max(modest, key=_quality).index
        if good:
            return min(good, key=_quality).index
    poor = on_gpu or anywhere
    return max(poor, key=_quality).index if poor else None


@dataclass(frozen=True, slots=True)
class _Variant:
    index: int
    name: str | None
    fit: Fit

    @property
    def bits(self) -> int:
        return bit_class(self.name) or 0


def _quality(variant: _Variant) -> tuple[int, int, int]:
    # Bits come first: a kind missing from the quality order still beats fewer bits.
    return variant.bits, -quality_rank(variant.name), variant.fit.weights


def _is_roomy(fit: Fit, free: int, verdicts: set[Verdict]) -> bool:
    return fit.verdict in verdicts and fit.needed <= free * HEADROOM


@dataclass(frozen=True, slots=True)
class SizeFit:
    """A quantization with its size and its verdict; None while the machine is unknown."""

    quantization: str
    size: int
    fit: Fit | None
    is_estimate: bool = False
    """Whether the size was estimated from the number of parameters."""


@dataclass(frozen=True, slots=True)
class EntryFit:
    """Verdicts for one machine, window and type of cache."""

    machine: Machine | None = None
    context: int = USUAL_CONTEXT
    kv_type: str = "f16"
    by_server: bool = False
    """Whether a server runs the model, not the built-in engine."""

    @property
    def _used(self) -> Machine | None:
        if self.machine is None or self.by_server:
            return self.machine
        return self.machine.for_engine

    def of_size(
        self,
        size: int,
        parameters: int | None,
        trained: int | None = None,
        family: str | None = None,
    ) -> Fit | None:
        """Return the verdict by the size in bytes; None while the machine is unknown."""
        machine = self._used
        if machine is None:
            return None
        shape = shape_of_size(size, parameters=parameters, family=family)
        return fit_of(shape, machine, context=self._context(trained), kv_type=self.kv_type)

    def best(
        self,
        sizes: Sequence[tuple[str | None, int | None]],
        parameters: int | None,
        trained: int | None = None,
        family: str | None = None,
    ) -> int | None:
        """Return the index of the best one, of (quantization, bytes) each; None if none fits."""
        known = [size for _name, size in sizes if size]
        machine = self._used
        if machine is None or not known:
            return None
        is_known = parameters is not None or not keeps_cache(family)
        estimate = shape_of_size(max(known), parameters=parameters, family=family)
        shape = estimate if is_known else None
        context = self._context(trained)
        return recommend(sizes, machine, context=context, shape=shape, kv_type=self.kv_type)

    def best_of(self, entry: RegistryEntry) -> SizeFit | None:
        """Return the best quantization of a model; if none fits, the smallest.

        Without known sizes that of a usual one is estimated from the number of parameters.
        """
        sizes = sorted(entry.sizes.items(), key=lambda item: item[1])
        if not sizes and entry.parameters:
            size = int(entry.parameters * BYTES_PER_PARAMETER)
            return SizeFit(USUAL_QUANTIZATION, size, self._fit(entry, size), is_estimate=True)
        if not sizes:
            return None
        index = self.best(sizes, entry.parameters, window_of(entry), entry.family)
        name, size = sizes[index or 0]
        return SizeFit(name, size, self._fit(entry, size))

    def _fit(self, entry: RegistryEntry, size: int) -> Fit | None:
        return self.of_size(size, entry.parameters, window_of(entry), entry.family)

    def _context(self, trained: int | None) -> int:
        return self.context if trained is None else min(self.context, trained)


def window_of(entry: RegistryEntry) -> int | None:
    """Return the trained context window in tokens: 0 for models without one, None if unknown."""
    # Speech comes in pieces of fixed length, which the overhead has room for.
    if _SPEECH in entry.purposes and "chat" not in entry.purposes:
        return 0
    return entry.context or None


def suggestion_key(
    entry: RegistryEntry, best: SizeFit | None, purpose: str
) -> tuple[int, bool, int, int]:
    """Return the sort key of a model among those for a purpose."""
    verdict: Verdict = best.fit.verdict if best and best.fit else "unknown"
    rank, slow = _RANKS[verdict], is_slow(entry, best)
    return rank, slow, -entry.skills.get(purpose, 0), -(entry.parameters or 0)


def is_slow(entry: RegistryEntry, best: SizeFit | None) -> bool:
    """Whether too many active parameters would run on the processor."""
    fit = best.fit if best is not None else None
    active = entry.active_parameters or entry.parameters
    if fit is None or active is None or fit.verdict not in {"cpu", "partly"}:
        return False
    return active * (1.0 - fit.gpu_share) > MAX_ACTIVE_ON_CPU
