"""The pace at which a server is asked how far it is: soon at first, then once a second."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.statuses import PASSING

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 1.0
MOST_FAILURES = 5
"""So many questions in a row may fail: with the waits, a few seconds."""
_UNREACHED = frozenset({ErrorCode.TIMEOUT, ErrorCode.SERVICE_UNAVAILABLE})

T = TypeVar("T")


async def paced() -> AsyncIterator[None]:
    """Give a turn at once, and further ones after ever longer waits."""
    wait = FIRST_WAIT_S
    while True:
        yield
        await anyio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_S)


async def followed(ask: Callable[[], Awaitable[T]]) -> AsyncIterator[T]:
    """Give what a server says of its own work, again and again; failures that may pass are passed.

    Raises:
        AIError: a failure that does not pass, or one too many in a row.
    """
    failures = 0
    async for _ in paced():
        try:
            told = await ask()
        except AIError as error:
            failures += 1
            if failures > MOST_FAILURES or not _may_pass(error):
                raise
        else:
            failures = 0
            yield told


def _may_pass(error: AIError) -> bool:
    """Whether the server was not reached or is busy: its work goes on all the same."""
    if error.status is not None:
        return error.status in PASSING
    return error.retryable and error.code in _UNREACHED
