"""The clocks of the downloads, so that a test can move them."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What tells the time; all in seconds."""

    clock: Callable[[], float] = time.monotonic
    """For speeds."""
    now: Callable[[], float] = time.time
    """Since 1970."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
