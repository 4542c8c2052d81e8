"""When a request is sent again: only before its first byte, at most twice, and never a tool.

Connection failures, 408, 409, 429 and 5xx but 501 and exhausted quota are worth it; the layer
where an error enters says so in `AIError.retryable`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ollm_tui.protocol.errors import AIError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often, and how long to wait between."""

    attempts: int = 2
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 60.0
    """A server that asks for more patience than this is not waited for."""
    jitter: Callable[[], float] = random.random
    """Gives 0 to 1; spreads clients that failed at one moment."""

    def wait_s(self, error: AIError, attempt: int) -> float | None:
        """Give the seconds to wait before `attempt` (counted from 1); None is giving up."""
        if not error.retryable or attempt > self.attempts:
            return None
        asked = error.details.get("retry_after_s")
        if isinstance(asked, int | float) and not isinstance(asked, bool):
            return float(asked) if 0 <= asked <= self.longest_asked_s else None
        backoff = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return backoff * (0.5 + self.jitter() / 2)
