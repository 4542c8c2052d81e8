"""Whether the models of this machine's servers fit it, by their sizes; pure."""

import re
from collections.abc import Callable
from typing import Final

from ollm_tui.library.entry_fit import USUAL_CONTEXT
from ollm_tui.library.fit import Fit
from ollm_tui.library.fitting import fit_of
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.base_url import is_loopback
from ollm_tui.providers.router import EMBEDDED
from ollm_tui.runtime.model_fit import shape_told
from ollm_tui.tui.models.list_cache import Judge

_ADDRESS: Final = re.compile(r"[a-z]+://\S+")


def judge_for(machine: Machine, place: Callable[[ModelRef], str | None]) -> Judge:
    """Make what judges models; those that run elsewhere or have no size get no verdict.

    `place` names where a model is, as a question does: with the server's addresses.
    """
    here: dict[str, bool] = {}

    def judge(ref: ModelRef, info: ModelInfo) -> Fit | None:
        known = info.size_bytes
        if not known or known < 0:
            return None
        if ref.provider not in here:
            here[ref.provider] = is_here(place(ref))
        if not here[ref.provider]:
            return None
        used = machine.for_engine if ref.provider == EMBEDDED else machine
        return fit_of(shape_told(info, known), used, context=_context(info))

    return judge


def is_here(place: str | None) -> bool:
    """Whether all addresses of a place are this machine's; one without any runs in this program."""
    return place is not None and all(map(is_loopback, _ADDRESS.findall(place)))


def _context(info: ModelInfo) -> int:
    trained = info.details.get("context_trained")
    most = trained if isinstance(trained, int) and trained > 0 else USUAL_CONTEXT
    return info.context or min(most, USUAL_CONTEXT)
