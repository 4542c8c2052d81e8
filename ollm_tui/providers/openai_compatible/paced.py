"""The pace at which a server is asked how far it is: soon at first, then once a second."""

from collections.abc import AsyncIterator

import anyio

FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 1.0


async def paced() -> AsyncIterator[None]:
    """Give a turn at once, and further ones after ever longer waits."""
    wait = FIRST_WAIT_S
    while True:
        yield
        await anyio.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT_S)
