"""Which models of the registry fit this machine, which of their files to take, and what to suggest.

Suggestions put models that run on a graphics card first, then those that need the processor. A
processor reads every active parameter from main memory for each token: with more than about nine
billion of them a model gives a few tokens a second at most and comes last, however good it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ollm_tui.library.fit import Fit, Verdict
from ollm_tui.library.fitting import fit_of, recommend
from ollm_tui.library.machine import Machine
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.shapes import BYTES_A_PARAMETER, keeps_cache, shape_of_size

USUAL_CONTEXT: Final = 8_192
"""The default window of verdicts, in tokens; an engine takes no more by default."""
USUAL_QUANTIZATION: Final = "Q4_K_M"
"""The most widespread quantization."""
_SPEECH: Final = "speech"
MAX_ACTIVE_ON_CPU: Final = 9_500_000_000
"""Active parameters; every model named 9B is within."""
_RANKS: Final[Mapping[Verdict, int]] = MappingProxyType(
    {"gpu": 0, "cpu": 1, "partly": 1, "unknown": 2, "no": 3}
)


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
            size = int(entry.parameters * BYTES_A_PARAMETER)
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
