"""What a person can choose about the embedded engine."""

import os
from dataclasses import dataclass


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
    most_loaded: int = 1
    """Models kept in memory at once; one that is answering is never taken out."""

    @property
    def thread_count(self) -> int:
        """Threads for one engine; more than half of shared cores makes it slower, not faster."""
        return self.threads or max(1, (os.cpu_count() or 2) // 2)
