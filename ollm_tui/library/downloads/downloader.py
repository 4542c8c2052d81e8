"""What the queue asks of the code that fetches one origin."""

from collections.abc import Callable
from dataclasses import dataclass
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
