"""Keys that are pressed twice: what it takes to be meant."""

import time
from collections.abc import Callable
from typing import Final

AGAIN_WITHIN_S: Final = 1.5
NOT_AFTER_A_STOP_S: Final = 1.0
"""Who stops an answer may press Esc more than once."""


class DoubleEscape:
    """Counts presses of Esc while nothing else wants the key, and of keys that ask first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stopped_at = self._pressed_at = float("-inf")
        self._asked = ("", float("-inf"))

    def is_sure(self, question: str, seconds: float) -> bool:
        """Return whether a question was asked within these seconds; if not it must be shown now."""
        now, (asked, since) = self._clock(), self._asked
        is_second = asked == question and now - since < seconds
        self._asked = ("", float("-inf")) if is_second else (question, now)
        return is_second

    def stopped(self) -> None:
        """Take note that an answer was stopped, however that came about."""
        self._stopped_at = self._clock()
        self._pressed_at = float("-inf")

    def is_second(self) -> bool | None:
        """Return whether a press follows another; None when it does not count at all."""
        now = self._clock()
        if now - self._stopped_at < NOT_AFTER_A_STOP_S:
            return None
        is_second = now - self._pressed_at < AGAIN_WITHIN_S
        self._pressed_at = float("-inf") if is_second else now
        return is_second
