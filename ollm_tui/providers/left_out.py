"""The way for an adapter to say what a request goes without."""

from collections.abc import Callable
from typing import TypeAlias

from ollm_tui.protocol.provider_events import LeftOut

Say: TypeAlias = Callable[[LeftOut], object]
"""Takes each field that somebody set and that is not sent, with every request anew."""


def unsaid(event: LeftOut) -> None:
    """Say it to nobody: for requests that only count."""
