"""`PoolPull`: one download by every member of a pool, one after another, watched.

States: ``new`` until the block is entered or the first progress is asked for; ``pulling`` while a
child task has a member fetch the model and goes on to the next; ``ended`` when all were asked, or
when the reader leaves: then the child task has closed the member's download. The first failure is
raised at the end, so that one member that is gone does not keep the others from the model.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.pool.choice import Choice
from ollm_tui.providers.single_error import single_error


class PoolPull(AsyncIterator[PullProgress]):
    """The progress of a download by all members; use it as an async context manager.

    Without the block it has to be read to its end, or closed with `aclose`, by one task.
    """

    def __init__(self, choice: Choice, name: str) -> None:
        self._choice = choice
        self._name = name
        self._stack = AsyncExitStack()
        self._steps: MemoryObjectReceiveStream[PullProgress] | None = None
        self._failure: AIError | None = None
        self._in_block = False
        """Whether leaving a block closes, so that reading, below scopes of the reader, does not."""
        self._ended = False

    async def __aenter__(self) -> Self:
        self._in_block = True
        await self._opened()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Leave the download; nothing more is given."""
        self._ended = True
        await self._stack.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PullProgress:
        """Give the next progress.

        Raises:
            AIError: the first failure, when every member was asked.
        """
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
            group = await self._stack.enter_async_context(_children())
            send, self._steps = anyio.create_memory_object_stream[PullProgress](0)
            self._stack.callback(self._steps.close)
            group.start_soon(self._run, send)
        return self._steps

    async def _run(self, send: MemoryObjectSendStream[PullProgress]) -> None:
        with send:
            for member in self._choice.roster.order(range(len(self._choice.members))):
                await self._pull_to(member, send)

    async def _pull_to(self, member: int, send: MemoryObjectSendStream[PullProgress]) -> None:
        adapter = self._choice.members[member].adapter
        with self._choice.roster.attempt(member) as attempt:
            try:
                async with pulling(adapter, self._name) as steps:
                    async for progress in steps:
                        await send.send(progress)
            except AIError as error:
                self._choice.judge(attempt, error)
                self._failure = self._failure or error
            else:
                attempt.answered()


@asynccontextmanager
async def _children() -> AsyncIterator[TaskGroup]:
    with single_error():
        async with anyio.create_task_group() as group:
            try:
                yield group
            finally:
                group.cancel_scope.cancel()
