"""What the queue expects of the code that downloads one origin, and how progress is measured."""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from ollm_tui.library.downloads.job import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a whole download is."""

    completed: int
    """Bytes that are there."""
    total: int | None = None
    """Bytes in all; None while unknown."""
    note: str = ""
    """What happens now, in a few words."""
    has_leapt: bool = False
    """Whether part of `completed` was there before: it says nothing of the speed."""


Report: TypeAlias = Callable[[Progress], None]


class Downloader(Protocol):
    """One origin, to be fetched; what `run` opens is closed when it is left, by any road."""

    async def title(self) -> str:
        """Give what a person calls it, and refuse what cannot be downloaded at all.

        Raises:
            AIError: a refused name, a provider that cannot pull, ...
        """
        ...

    async def run(self, report: Report) -> str | None:
        """Fetch it, going on with what has come; give the address to chat with, if there is one.

        Raises:
            AIError: it did not come; what has come stays.
        """
        ...

    async def discard(self) -> None:
        """Remove what has come of one that is not whole.

        Raises:
            OSError: it cannot be removed.
        """
        ...

    @property
    def parting(self) -> str:
        """What a person should know of one that was left: that its server goes on, ..."""
        ...


WorkFor: TypeAlias = Callable[[Origin], Downloader]
"""Gives what fetches an origin; raises an AIError where nothing here can."""
AddressOf: TypeAlias = Callable[[Path], Awaitable[str | None]]
"""Gives the address to chat with the model whose first file this is; None where nothing runs it."""


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
