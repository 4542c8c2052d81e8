"""How far a download is as a whole: the sum over its layers, its speed, and what is left."""

from collections import deque
from collections.abc import Callable

from ollm_tui.protocol.model import PullProgress

WINDOW_S = 5.0
"""The speed is that of the last seconds: a resumed download begins with what was there."""
SAMPLE_S = 0.1
MAX_LAYERS = 10_000
"""More parts no model has; what a server makes up beyond them is not counted."""


class PullSum:
    """Adds up what the lines of a download say; nothing in it goes back before `success`.

    What comes after `success` is the download by a further server of a pool, and counts anew.
    `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.status = ""
        """What the server does now, in its own words."""
        self.fraction: float | None = None
        """From 0 to 1; None while no size is known."""
        self._clock = clock
        self._is_over = False
        self._layers: dict[str, tuple[int, int]] = {}
        self._completed = self._total = 0
        self._seen: deque[tuple[float, int]] = deque()

    @property
    def completed(self) -> int:
        """Bytes that are there."""
        return self._completed

    @property
    def total(self) -> int | None:
        """Bytes of all layers that have been named; None while no size is known."""
        return self._total or None

    @property
    def bytes_per_s(self) -> float | None:
        """How fast it goes; None while that cannot be said."""
        if len(self._seen) < 2:
            return None
        (began, first), (now, last) = self._seen[0], self._seen[-1]
        return (last - first) / (now - began) if now > began and last > first else None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes at this speed; None while that cannot be said."""
        speed = self.bytes_per_s
        return None if speed is None else max(0, self._total - self._completed) / speed

    def add(self, progress: PullProgress) -> None:
        """Take one line."""
        if self._is_over:
            self._start_over()
        self.status = progress.status
        self._is_over = progress.status == "success"
        if self._is_over and self._total:
            self.fraction = 1.0
        key = _part_of(progress)
        if key is None or (key not in self._layers and len(self._layers) >= MAX_LAYERS):
            return
        known = self._layers.get(key)
        before = known or (0, 0)
        completed = max(before[0], progress.completed or 0)
        total = max(before[1], progress.total or 0)
        total = max(total, completed) if total else 0
        self._layers[key] = completed, total
        self._completed += completed - before[0]
        self._total += total - before[1]
        self._note(is_new=known is None or (before[0] == 0 and completed > 0))
        if self._total:
            share = min(1.0, self._completed / self._total)
            self.fraction = max(self.fraction or 0.0, share)

    def _start_over(self) -> None:
        self._layers.clear()
        self._seen.clear()
        self._completed = self._total = 0
        self.fraction = None

    def _note(self, *, is_new: bool) -> None:
        """Keep what was there in the last seconds; what a new layer begins with was not fetched."""
        if is_new:
            self._seen.clear()
        now = self._clock()
        if len(self._seen) > 1 and now - self._seen[-2][0] < SAMPLE_S:
            self._seen.pop()
        self._seen.append((now, self._completed))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()


def _part_of(progress: PullProgress) -> str | None:
    """Name the part that sizes are about; some servers tell those of the whole."""
    if progress.digest is None and (progress.completed is not None or progress.total is not None):
        return ""
    return progress.digest
