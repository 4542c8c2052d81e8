"""One file from a server to its place: resumed, checked, and put there in one step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ollm_tui.protocol.fetch import Fetcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a file comes from, and what it has to be as far as that is known."""

    url: str = field(repr=False)
    """May hold a name, a password and a query; none of them is stored or shown."""
    size: int | None = None
    """Bytes."""
    sha256: str | None = None
    """64 hex digits."""
    token: str | None = field(default=None, repr=False)
    """Sent to the origin of `url` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far a transfer is."""

    completed: int
    """Bytes that are there; less than before when it had to start again."""
    total: int | None
    note: str = ""
    """What happens, or what has happened last that a person may want to know."""


async def transfer(
    fetcher: Fetcher, source: Source, target: Path, *, report: Callable[[Step], None]
) -> Path:
    """Have the file at `target`, whole and checked; what an earlier run left is gone on with.

    A failure or a cancellation keeps what has come beside the target: see `partial_size` and
    `discard`. `target` must have been checked by `names`.

    Raises:
        AIError: CONFLICT when another instance is at it or another file is there, and whatever
            else keeps the file from coming whole.
    """
    raise NotImplementedError


async def discard(target: Path) -> None:
    """Remove what has come of a file that is not whole; nothing there is no failure.

    Raises:
        AIError: CONFLICT when another instance is downloading it.
    """
    raise NotImplementedError


def partial_size(target: Path) -> int:
    """Give how many bytes a later transfer can go on after; 0 for none. Touches the disk."""
    raise NotImplementedError
