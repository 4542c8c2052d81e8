"""What the server notes about each answer it gave."""

from dataclasses import dataclass


@dataclass(slots=True)
class Record:
    """One answer; times are seconds of `time.perf_counter`, one for all processes."""

    ident: int
    path: str
    asked: float
    first: float | None = None
    last: float | None = None
    """When the newest piece was sent."""
    gone: float | None = None
    """When the client was seen to have hung up before the end."""
    sent: int = 0
    complete: bool = False
