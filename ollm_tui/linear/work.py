"""What goes on beside an answer: work that the user waits for, and work in the background.

In the background, downloads are followed and answers are read aloud while the user types.
"""

import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal

from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.tasks import cancelled_by

Work: TypeAlias = Coroutine[Any, Any, object]
_Result = TypeVar("_Result")
logger = logging.getLogger(__name__)


class CurrentWork:
    """What the user waits for, one thing at a time; Escape stops it."""

    def __init__(self) -> None:
        self._signal: AbortSignal | None = None
        self._state: Callable[[], str] | None = None

    @property
    def is_going_on(self) -> bool:
        """Whether there is something to stop."""
        return self._signal is not None

    @property
    def state(self) -> str:
        """How far it is, in a few words; empty if nothing goes on."""
        return self._state() if self._state is not None else ""

    def stop(self) -> None:
        """Stop it; a no-op if nothing goes on."""
        if self._signal is not None:
            self._signal.abort()

    async def stoppable(
        self, work: Callable[[AbortSignal], Awaitable[_Result]], state: Callable[[], str]
    ) -> _Result:
        """Await work that ends by a signal; `state` says meanwhile how far it is."""
        self._signal, self._state = AbortSignal(), state
        try:
            return await work(self._signal)
        finally:
            self._signal = self._state = None

    async def until_stopped(
        self, work: Callable[[], Awaitable[object]], state: Callable[[], str]
    ) -> bool:
        """Await work that is cancelled to stop it; return whether it was."""

        async def run(signal: AbortSignal) -> bool:
            with cancelled_by(signal) as scope:
                await work()
            return scope.cancelled_caught

        return await self.stoppable(run, state)


class Background:
    """Runs work beside the chat; it is cancelled when the chat ends."""

    def __init__(self, portal: BlockingPortal, group: TaskGroup) -> None:
        self._portal, self._group = portal, group

    def begin(self, work: Work) -> None:
        """Begin some work; from the event loop, or from the main thread."""
        if threading.current_thread() is threading.main_thread():
            self._portal.start_task_soon(self._group.start_soon, _logged, work)
        else:
            self._group.start_soon(_logged, work)


async def _logged(work: Work) -> None:
    try:
        await work
    except Exception:
        logger.exception("Work beside the chat failed")


@asynccontextmanager
async def background(portal: BlockingPortal) -> AsyncIterator[Background]:
    """Run work in the background until the block is left."""
    async with anyio.create_task_group() as group:
        yield Background(portal, group)
        group.cancel_scope.cancel()
