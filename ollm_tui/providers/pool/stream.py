"""An answer of a pool: members are asked in turn until one begins to answer.

States of `PooledStream`:

* ``opening``: a child task asks members, one after another. A member that is gone, or does not
  have the model, leads to the next one, with a `Rerouted`; none left leads to ``ended``.
* ``answering``: a member gave its first event. Its stream is read as it is, whatever comes: after
  the first event no other member is asked. Its end leads to ``ended``.
* ``ended``: the one end has been given.

The child task enters and leaves the member's stream, so that no scope of the reader lies between.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, LeftOut, ProviderEvent, Rerouted
from ollm_tui.protocol.request import Request
from ollm_tui.providers.pool.choice import MemberSelection
from ollm_tui.providers.pool.faults import nobody
from ollm_tui.providers.pool.health import Attempt
from ollm_tui.providers.single_error import single_error

_NO_END = ErrorEvent(
    AIError(ErrorCode.STREAM_INCOMPLETE, "The answer ended without an end marker.")
)


@asynccontextmanager
async def pooled_stream(
    choice: MemberSelection, request: Request
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Ask, and give the events; leaving the block has closed the connection."""
    with single_error():
        async with anyio.create_task_group() as group:
            stream = PooledStream(choice, request)
            group.start_soon(stream.run)
            try:
                yield stream
                if stream.ended:
                    stream.release()
                else:
                    group.cancel_scope.cancel()
            except BaseException:
                group.cancel_scope.cancel()
                raise


class PooledStream(AsyncIterator[ProviderEvent]):
    """The events of one answer, each given once."""

    def __init__(self, choice: MemberSelection, request: Request) -> None:
        self._choice = choice
        self._request = request
        room = len(choice.members) + 1
        self._send, self._opening = anyio.create_memory_object_stream[ProviderEvent](room)
        self._answer: AsyncIterator[ProviderEvent] | None = None
        self._held: deque[ProviderEvent] = deque()
        """What a member gave after its opening event, and before anyone listened."""
        self._left = anyio.Event()
        self.ended = False

    def __aiter__(self) -> AsyncIterator[ProviderEvent]:
        return self

    async def __anext__(self) -> ProviderEvent:
        """Give the next event."""
        if self.ended:
            raise StopAsyncIteration
        event = await self._next()
        self.ended = isinstance(event, Finish | ErrorEvent)
        return event

    async def _next(self) -> ProviderEvent:
        if self._answer is not None and not self._opening.statistics().current_buffer_used:
            return self._held.popleft() if self._held else await anext(self._answer)
        return await self._opening.receive()

    def release(self) -> None:
        """Let the child task leave the member's stream."""
        self._left.set()

    async def run(self) -> None:
        """Ask members until one answers; stay in its stream until released."""
        errors: list[AIError] = []
        with self._send, self._opening:
            for member in self._choice.asked_in_turn(self._request.model):
                if errors:
                    self._send.send_nowait(Rerouted(errors[-1], attempt=len(errors)))
                with self._choice.roster.attempt(member) as attempt:
                    error = await self._ask(attempt)
                if error is None:
                    return
                errors.append(error)
            end = nobody(self._choice.name, self._choice.label, errors)
            self._send.send_nowait(ErrorEvent(end))
            await self._left.wait()

    async def _ask(self, attempt: Attempt) -> AIError | None:
        """Pass a member's answer on, or give the reason to ask another one."""
        adapter = self._choice.members[attempt.member].adapter
        async with adapter.chat_stream(self._request) as events:
            said: list[ProviderEvent] = []
            first = await anext(events, _NO_END)
            while isinstance(first, LeftOut):
                said.append(first)
                first = await anext(events, _NO_END)
            if isinstance(first, ErrorEvent):
                if self._choice.judge(attempt, first.error, self._request.model):
                    return first.error
            elif not (isinstance(first, Finish) and first.reason == "abort"):
                attempt.answered()
            opening, *held = (*said, first)
            self._held += held
            self._answer = events
            self._send.send_nowait(opening)
            await self._left.wait()
        return None
