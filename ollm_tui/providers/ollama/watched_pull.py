"""`WatchedPull`: one download in a child task, with its progress.

Only the child opens and closes anything, so the reader may read below a cancel scope of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Self, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import PullProgress
from ollm_tui.tasks import task_group

Give: TypeAlias = Callable[[PullProgress], Awaitable[None]]
"""Passes on one progress, and waits until the reader takes it."""


class WatchedPull(AsyncIterator[PullProgress]):
    """The progress of a download; use it as an async context manager.

    Without the block it must be read to its end, or closed with `aclose`, by one task. `work`
    downloads; an `AIError` that it raises is raised after the progress it passed on.
    """

    def __init__(self, work: Callable[[Give], Awaitable[None]]) -> None:
        self._work = work
        self._stack = AsyncExitStack()
        self._steps: MemoryObjectReceiveStream[PullProgress] | None = None
        self._failure: AIError | None = None
        self._in_block = False
        """Whether only leaving the block closes, since reading may happen below the reader's
        scopes."""
        self._ended = False

    async def __aenter__(self) -> Self:
        self._in_block = True
        await self._opened()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the download; there is no more progress."""
        self._ended = True
        await self._stack.aclose()

    async def __anext__(self) -> PullProgress:
        if self._ended:
            raise StopAsyncIteration
        try:
            return await (await self._opened()).receive()
        except anyio.EndOfStream:
            self._ended = True
        except BaseException:
            await self._close_outside_a_block()
            raise
        await self._close_outside_a_block()
        if self._failure is not None:
            raise self._failure
        raise StopAsyncIteration

    async def _close_outside_a_block(self) -> None:
        if not self._in_block:
            await self.aclose()

    async def _opened(self) -> MemoryObjectReceiveStream[PullProgress]:
        if self._steps is None:
            send, self._steps = anyio.create_memory_object_stream[PullProgress](0)
            self._stack.callback(self._steps.close)
            group = await self._stack.enter_async_context(task_group(cancelled_at_end=True))
            group.start_soon(self._run, send)
        return self._steps

    async def _run(self, send: MemoryObjectSendStream[PullProgress]) -> None:
        with send:
            try:
                await self._work(send.send)
            except AIError as error:
                self._failure = error
