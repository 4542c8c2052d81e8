"""Keys that act when pressed twice in a short time."""

import time
from collections.abc import Callable
from typing import Final

AGAIN_WITHIN_S: Final = 1.5
NOT_AFTER_A_STOP_S: Final = 1.0
"""Esc does not count that soon after a stop: the user may press it more than once."""


class DoubleEscape:
    """Counts presses of Esc while nothing else handles the key, and of keys that ask first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stopped_at = self._pressed_at = float("-inf")
        self._question = ("", float("-inf"))

    def is_sure(self, question: str, seconds: float) -> bool:
        """Return whether `question` was shown within these seconds; if not, show it now."""
        now, (pending, since) = self._clock(), self._question
        is_second = pending == question and now - since < seconds
        self._question = ("", float("-inf")) if is_second else (question, now)
        return is_second

    def stopped(self) -> None:
        """Record that an answer was stopped."""
        self._stopped_at = self._clock()
        self._pressed_at = float("-inf")

    def is_second(self) -> bool | None:
        """Return whether a press follows another; None if it does not count."""
        now = self._clock()
        if now - self._stopped_at < NOT_AFTER_A_STOP_S:
            return None
        is_second = now - self._pressed_at < AGAIN_WITHIN_S
        self._pressed_at = float("-inf") if is_second else now
        return is_second
