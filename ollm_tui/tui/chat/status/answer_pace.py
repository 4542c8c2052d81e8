"""`AnswerPace`: how fast an answer comes, as it is shown while it does."""

from collections.abc import Callable
from typing import Final

from ollm_tui.dataclass import dataclass

_CHARS_PER_TOKEN: Final = 4
_MIN_DELTAS: Final = 4
"""Fewer are no stream whose speed could be measured."""
_MIN_SECONDS: Final = 0.5


@dataclass(slots=True)
class AnswerPace:
    """Counts the pieces of one answer; costs nothing but a few additions for each."""

    clock: Callable[[], float]
    _asked_at: float = 0.0
    has_begun: bool = False
    """Whether the first piece of the answer has come."""
    first_token_s: float = 0.0
    """From sending the prompt to that piece."""
    _deltas: int = 0
    _chars: int = 0
    _first_at: float | None = None

    def ask(self) -> None:
        """Note that a prompt is sent."""
        self._asked_at, self.has_begun = self.clock(), False
        self.begin()

    def begin(self) -> None:
        """Measure anew: the time of tools is not the model's, nor was a repetition written now."""
        self._deltas, self._chars, self._first_at = 0, 0, None

    def take(self, delta: str) -> float | None:
        """Count a piece; return the tokens per second, or None if that is not known yet."""
        now = self.clock()
        if not self.has_begun:
            self.has_begun, self.first_token_s = True, max(0.0, now - self._asked_at)
        if self._first_at is None:
            self._first_at = now  # what came first was written before it came
            return None
        self._deltas += 1
        self._chars += len(delta)
        if self._deltas < _MIN_DELTAS or now - self._first_at < _MIN_SECONDS:
            return None
        # One delta may hold many tokens: what comes fast is handed over in larger pieces.
        count = max(self._deltas, self._chars // _CHARS_PER_TOKEN)
        return count / (now - self._first_at)
