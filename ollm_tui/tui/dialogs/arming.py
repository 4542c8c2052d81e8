"""When a dialog may take a key for an answer; pure.

Somebody who is typing when a dialog opens has not read it. Its answers count only after it was
visible for a while and the typing has paused for as long; a letter that means nothing to it shows
that somebody is typing again.
"""

from typing import Final

ARMED_AFTER_S: Final = 0.4
HELD_S: Final = 1.0
"""A key that is held has come again by then: keyboards wait 0.25 to 0.7 s before they repeat it."""


class Arming:
    """Waits for a pause; all times are seconds of one clock."""

    def __init__(self, answered_at: float | None = None) -> None:
        """Wait; `answered_at` is when the question before was answered, as its key may be held."""
        self._armed_at: float | None = None
        self._earliest = 0.0 if answered_at is None else answered_at + HELD_S

    def shown(self, now: float) -> None:
        """Take note that the dialog can be seen now."""
        if self._armed_at is None:
            self._armed_at = max(self._earliest, now + ARMED_AFTER_S)

    def is_armed(self, now: float) -> bool:
        """Tell whether an answer counts."""
        return self._armed_at is not None and now >= self._armed_at

    def typed(self, now: float) -> None:
        """Begin to wait again, because of a key or a paste that is no answer."""
        if self._armed_at is not None:
            self._armed_at = max(self._armed_at, now + ARMED_AFTER_S)

    def waits_for(self, now: float) -> float:
        """Give the seconds that are left; before the dialog is seen all of them."""
        return ARMED_AFTER_S if self._armed_at is None else max(0.0, self._armed_at - now)
