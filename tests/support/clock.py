"""A clock that stands still until a test sets it."""

from dataclasses import dataclass


@dataclass
class ManualClock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now
