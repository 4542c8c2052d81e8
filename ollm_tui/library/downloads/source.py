"""What a transfer is asked for, and what it tells; pure."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a file comes from, and what it must be as far as that is known."""

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
    is_waiting: bool = False
    """Whether nothing comes until the next try: there is no speed to speak of."""
