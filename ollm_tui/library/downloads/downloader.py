"""The interface of the code that downloads one origin, its progress, and the speed."""

from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.library.downloads.job import Origin

WINDOW_S = 5.0
"""Speed is measured over the last seconds: a resumed download begins with what was there."""
SAMPLE_S = 0.1
AddressOf: TypeAlias = Callable[[Path], Awaitable[str | None]]
"""Returns the address to chat with the model whose first file this is; None if nothing runs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a whole download."""

    completed: int
    """Bytes present."""
    total: int | None = None
    """Bytes in all; None while unknown."""
    note: str = ""
    """The current activity, in a few words."""
    is_jump: bool = False
    """Whether it says nothing about the speed: part was present before, or it has to wait."""


Report: TypeAlias = Callable[[Progress], None]


class Downloader(Protocol):
    """Downloads one origin; leaving `run`, by any road, closes what it has opened.

    A protocol because each kind of origin has a downloader of its own.
    """

    async def title(self) -> str:
        """Return what the user calls it, after checking that it can be downloaded at all.

        Raises:
            AIError: a refused name, a provider that cannot pull, ...
        """

    async def run(self, report: Report) -> str | None:
        """Download it, resuming what is there; return the address to chat with, if it has one.

        Raises:
            AIError: it failed; what arrived is kept.
        """

    async def discard(self) -> None:
        """Delete what arrived of an incomplete download.

        Raises:
            OSError: it cannot be deleted.
        """

    @property
    def pause_note(self) -> str:
        """The note of a paused job: that its server may continue, for example."""


DownloaderFor: TypeAlias = Callable[[Origin], Downloader]
"""Returns the downloader of an origin; raises AIError if none supports it."""


class SpeedMeter:
    """The speed over the last seconds; all times are in seconds of one clock."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    @property
    def bytes_per_s(self) -> float | None:
        """The current speed; None while it is unknown."""
        if len(self._samples) < 2:
            return None
        (began, first), (now, last) = self._samples[0], self._samples[-1]
        return (last - first) / (now - began) if now > began and last > first else None

    def seconds_left(self, rest: int) -> float | None:
        """Return how long `rest` bytes take at this speed; None while it is unknown."""
        speed = self.bytes_per_s
        return None if speed is None else max(0, rest) / speed

    def clear(self) -> None:
        """Forget all samples: what is present now was not downloaded in the last seconds."""
        self._samples.clear()

    def sample(self, now: float, completed: int) -> None:
        """Record how many bytes are present."""
        if len(self._samples) > 1 and now - self._samples[-2][0] < SAMPLE_S:
            self._samples.pop()
        self._samples.append((now, completed))
        while len(self._samples) > 2 and now - self._samples[0][0] > WINDOW_S:
            self._samples.popleft()
