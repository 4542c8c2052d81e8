"""How fast a download goes, and how long the rest takes."""

from collections import deque

WINDOW_S = 5.0
"""The speed is that of the last seconds: a resumed download begins with what was there."""
SAMPLE_S = 0.1


class Pace:
    """The speed over the last seconds; times are in seconds of one clock."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    @property
    def bytes_per_s(self) -> float | None:
        """How fast it goes; None while that cannot be said."""
        if len(self._seen) < 2:
            return None
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        return (last - first) / (now - began) if now > began and last > first else None

    def seconds_left(self, rest: int) -> float | None:
        """How long so many bytes take at this speed; None while that cannot be said."""
        speed = self.bytes_per_s
        return None if speed is None else max(0, rest) / speed

    def clear(self) -> None:
        """Forget what was seen: what is there now was not fetched in the last seconds."""
        self._seen.clear()

    def note(self, now: float, completed: int) -> None:
        """Take how many bytes are there."""
        if len(self._seen) > 1 and now - self._seen[-2][0] < SAMPLE_S:
            self._seen.pop()
        self._seen.append((now, completed))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()
