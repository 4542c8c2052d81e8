"""How large an untrusted regular expression becomes when it is compiled."""

import math
from typing import Final

from ollm_tui.lazy import lazy_re

MAX_REPEATS: Final = 100_000
"""Compiling as many takes some 30 ms and 30 MB."""
_COUNTS: Final = lazy_re(r"\{\s*(\d+)")


def repeats_of(pattern: str) -> int:
    """Return an upper limit of how often a part of a pattern is written out when it is compiled.

    Counted repeats within each other are unrolled for it, and nothing limits its time and memory:
    `a{1000000000}` would take all that there is.
    """
    return math.prod(max(1, int(least[:10])) for least in _COUNTS.findall(pattern))
