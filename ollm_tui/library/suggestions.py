"""Which models to suggest first on a machine; pure.

What runs on a graphics card comes first, then what needs the processor. There every parameter that
is at work is read from main memory for each token: more than about nine billion of them give a few
tokens a second at most, so those models come last, however good their answers are.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ollm_tui.library.entry_fit import SizeFit
from ollm_tui.library.fit import Verdict
from ollm_tui.library.registry.entry import RegistryEntry

MOST_ON_CPU: Final = 9_500_000_000
"""Parameters at work on a processor; every model that calls itself one of 9B is within."""
_RANKS: Final[Mapping[Verdict, int]] = MappingProxyType(
    {"gpu": 0, "cpu": 1, "partly": 1, "unknown": 2, "no": 3}
)


def place_of(
    entry: RegistryEntry, best: SizeFit | None, purpose: str
) -> tuple[int, bool, int, int]:
    """Give where a model comes among those for a purpose: what is less comes first."""
    verdict: Verdict = best.fit.verdict if best and best.fit else "unknown"
    rank, slow = _RANKS[verdict], is_slow(entry, best)
    return rank, slow, -entry.skills.get(purpose, 0), -(entry.parameters or 0)


def is_slow(entry: RegistryEntry, best: SizeFit | None) -> bool:
    """Whether more of a model would be at work on the processor than one can wait for."""
    fit = best.fit if best is not None else None
    at_work = entry.active_parameters or entry.parameters
    if fit is None or at_work is None or fit.verdict not in {"cpu", "partly"}:
        return False
    return at_work * (1.0 - fit.gpu_share) > MOST_ON_CPU
