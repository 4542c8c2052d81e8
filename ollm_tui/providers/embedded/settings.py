"""What a person can choose about the built-in engine."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ollm_tui.protocol.errors import AIError, ErrorCode

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_UNITS: Mapping[str, float] = MappingProxyType({"ms": 0.001, "s": 1, "m": 60, "h": 3600})


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """How models are loaded and how long they stay."""

    context: int = 4096
    """Window to load a model with, in tokens, unless a request names one."""
    threads: int | None = None
    """None takes half of the logical cores."""
    idle_unload_s: float | None = 300
    """Seconds without a stream after which a model leaves memory; None keeps it."""
    load_timeout_s: float = 300
    response_timeout_s: float = 5
    """How long an engine may take to give a sign of life before it is killed."""
    check_interval_s: float = 15
    """Between two checks that an engine in use gives one."""
    most_loaded: int = 1
    """Models kept in memory at once; one that is answering is never taken out."""

    @property
    def thread_count(self) -> int:
        """Threads for one engine; more than half of shared cores makes it slower, not faster."""
        return self.threads or max(1, (os.cpu_count() or 2) // 2)

    def idle_unload_after(self, keep_alive: str | float | None) -> float | None:
        """Give the idle time after an answer: what its request says, else the usual one.

        A request says it as Ollama has it: seconds or text like `1h30m`; below zero is forever.

        Raises:
            AIError: BAD_REQUEST when it is not a valid duration.
        """
        if keep_alive is None:
            return self.idle_unload_s
        seconds = _seconds(keep_alive)
        return seconds if seconds >= 0 else None


def _seconds(said: str | float) -> float:
    if isinstance(said, str) and re.fullmatch(f"(?:{_PART.pattern})+", said):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(said))
    try:
        return float(said)
    except ValueError:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "keep_alive is not a valid duration.",
            hint="Give seconds, text like 5m, or -1 to keep the model.",
        ) from None
