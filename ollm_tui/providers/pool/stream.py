"""The stream of a pool: members are tried in turn until one begins to answer.

A child task enters and leaves the member's stream, so that no scope of the reader lies between.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, LeftOut, ProviderEvent, Rerouted
from ollm_tui.protocol.request import Request
from ollm_tui.providers.pool.health import Attempt
from ollm_tui.providers.pool.selection import MemberSelection
from ollm_tui.tasks import task_group

if TYPE_CHECKING:
    from ollm_tui.protocol.ports import ProviderStream

_NO_END = ErrorEvent(
    AIError(ErrorCode.STREAM_INCOMPLETE, "The answer ended without an end marker.")
)


@asynccontextmanager
async def pooled_stream(
    selection: MemberSelection, request: Request, operation: str = "chat_stream"
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Yield the events of the answer; leaving the block closes the connection.

    `operation` is the method of the members that streams it.
    """
    async with task_group() as group:
        stream = PooledStream(selection, request, operation)
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
    """The events of one answer."""

    def __init__(self, selection: MemberSelection, request: Request, operation: str) -> None:
        self._selection = selection
        self._operation = operation
        self._request = request
        room = len(selection.members) + 1
        self._send, self._opening = anyio.create_memory_object_stream[ProviderEvent](room)
        self._answer: AsyncIterator[ProviderEvent] | None = None
        self._held: deque[ProviderEvent] = deque()
        """Events of the member after its opening event, until the reader reaches them."""
        self._left = anyio.Event()
        self.ended = False

    async def __anext__(self) -> ProviderEvent:
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
        """Try members until one answers; stay in its stream until released."""
        errors: list[AIError] = []
        with self._send, self._opening:
            for member in self._selection.candidates(self._request.model):
                if errors:
                    self._send.send_nowait(Rerouted(errors[-1], attempt=len(errors)))
                with self._selection.health.attempt(member) as attempt:
                    error = await self._try_member(attempt)
                if error is None:
                    return
                errors.append(error)
            end = self._selection.no_reply(errors)
            self._send.send_nowait(ErrorEvent(end))
            await self._left.wait()

    async def _try_member(self, attempt: Attempt) -> AIError | None:
        """Pass a member's answer on, or return the error to try another member after."""
        adapter = self._selection.members[attempt.member].adapter
        stream: ProviderStream = getattr(adapter, self._operation)(self._request)
        async with stream as events:
            left_out: list[ProviderEvent] = []
            first = await anext(events, _NO_END)
            while isinstance(first, LeftOut):
                left_out.append(first)
                first = await anext(events, _NO_END)
            if isinstance(first, ErrorEvent):
                if self._selection.record_failure(attempt, first.error, self._request.model):
                    return first.error
            elif not (isinstance(first, Finish) and first.reason == "abort"):
                attempt.note_answer()
            opening, *held = (*left_out, first)
            self._held += held
            self._answer = events
            self._send.send_nowait(opening)
            await self._left.wait()
        return None
