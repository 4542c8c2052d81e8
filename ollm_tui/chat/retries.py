"""Whether and when a request that failed before its answer began is sent again; pure."""

from collections.abc import Callable
from random import random

from ollm_tui.protocol.errors import AIError

MOST_RETRIES = 2
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
"""A server that wants to be left alone for longer is for the person to ask again."""
_CONNECTION_FAULTS = frozenset({"refused", "connect_timeout", "dns", "closed"})


def wait_before(retry: int, error: AIError, jitter: Callable[[], float] = random) -> float | None:
    """Give the seconds until retry number `retry`, None where the failure stands.

    Only what may have gone by comes back: a connection that failed, or a status that says so. The
    server's own wish for the time counts; else it doubles, spread so that clients part.
    """
    if retry > MOST_RETRIES or not error.retryable:
        return None
    if error.status is None and error.details.get("fault") not in _CONNECTION_FAULTS:
        return None
    wished = error.details.get("retry_after_s")
    if isinstance(wished, int | float):
        return float(wished) if wished <= LONGEST_WAIT_S else None
    return round(FIRST_WAIT_S * 2.0 ** (retry - 1) * (0.75 + jitter() / 2), 1)
