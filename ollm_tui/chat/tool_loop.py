"""The calls of one turn, run concurrently; each ends once: done, failed, refused or stopped.

Results are emitted as they come and stored in the order of the calls.
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import anyio

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import TextContent
from ollm_tui.protocol.chat_events import Emit
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import (
    CANCELLED,
    INTERRUPTED,
    STOPPED,
    ToolCall,
    ToolResult,
    ToolSchema,
)
from ollm_tui.tasks import cancelled_by, single_error


class ToolOffer(Protocol):
    """The tools of one prompt; the model is offered exactly those that may run."""

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The schemas that are sent to the model."""

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call; every failure is a result, and so is a tool that is not on offer."""


@runtime_checkable
class StreamsOutput(Protocol):
    """An offer whose tools may show output while they run."""

    def listen(self, call_id: str, show: Callable[[str], None]) -> None:
        """Have `show` called with the end of a call's output while it runs."""


@runtime_checkable
class KeepsResults(Protocol):
    """An offer that knows how a call ended, also one that ended while it was being stopped."""

    def result_of(self, call_id: str) -> ToolResult | None:
        """Return the result of a call, or None if it has not ended or is unknown."""


@runtime_checkable
class TracksUntrustedInput(Protocol):
    """An offer for which it matters whether the model has read something before."""

    def mark_untrusted(self) -> None:
        """Count what was read earlier in the same turn."""


class OffersTools(Protocol):
    """The tool runner, as a prompt uses it; tests put offers of their own in its place."""

    def offer(self, names: Sequence[str]) -> ToolOffer:
        """Offer the tools of these names; unknown names are left out."""


class NothingOffered:
    """Runs no call; the result is the reason."""

    schemas: tuple[ToolSchema, ...] = ()

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def run(self, call: ToolCall) -> ToolResult:
        """Refuse."""
        return ToolResult(call_id=call.id, name=call.name, content=self._reason, is_error=True)


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that has not ended."""

    call: ToolCall
    since: float
    """When it began, in seconds of the monotonic clock."""


class ToolRound:
    """Runs the calls of one turn and keeps the result of each."""

    def __init__(
        self,
        offer: ToolOffer,
        calls: Sequence[ToolCall],
        *,
        turn: int,
        limit: int,
        next_block: Callable[[], str],
    ) -> None:
        self._offer = offer
        self._calls = tuple(calls)
        self._turn = turn
        self._limit = limit
        self._blocks = {call.id: next_block() for call in self._calls}
        self._results: dict[str, ToolResult] = {}
        self._running: dict[str, tuple[RunningCall, anyio.CancelScope]] = {}

    @property
    def running(self) -> tuple[RunningCall, ...]:
        """The calls that have not ended, in their order."""
        return tuple(running for running, _scope in self._running.values())

    def cancel(self, call_id: str) -> bool:
        """Cancel one call, and let the others go on; False if it does not run."""
        if call_id not in self._running:
            return False
        self._running[call_id][1].cancel()
        return True

    async def run(self, emit: Emit, signal: AbortSignal) -> bool:
        """Run them all; return False if the signal stopped them."""
        with cancelled_by(signal) as scope, single_error():
            async with anyio.create_task_group() as group:
                for number, call in enumerate(self._calls):
                    group.start_soon(self._one, number, call, emit)
        if not scope.cancelled_caught:
            return True
        for call in self._calls:
            if call.id not in self._results:
                await self._end(call, self._stopped(call), emit)
        return False

    def messages(self, *, by_user: bool) -> list[Message]:
        """Return one tool message for each call, in call order.

        Those that have not ended were stopped, by the user or by the end of the prompt's time.
        """
        content = STOPPED if by_user else INTERRUPTED
        return [
            _message(self._results.get(call.id) or self._stopped(call, content))
            for call in self._calls
        ]

    async def _one(self, number: int, call: ToolCall, emit: Emit) -> None:
        block = self._blocks[call.id]
        await emit(chat_events.ToolCallStart(call=call, turn=self._turn, block=block))
        result = self._refused(call) if number >= self._limit else await self._alone(call, emit)
        await self._end(call, result, emit)

    async def _alone(self, call: ToolCall, emit: Emit) -> ToolResult:
        """Run a call that can be cancelled without the others."""
        with anyio.CancelScope() as scope:
            self._running[call.id] = RunningCall(call, time.monotonic()), scope
            try:
                return await self._run(call, emit)
            finally:
                del self._running[call.id]
        return self._stopped(call, CANCELLED)

    async def _run(self, call: ToolCall, emit: Emit) -> ToolResult:
        """Run a call, and emit the newest of its output as fast as that is taken."""
        if not isinstance(self._offer, StreamsOutput):
            return await self._offer.run(call)
        newest = _Newest()
        self._offer.listen(call.id, newest.put)
        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(self._relay, call, newest, emit)
                result = await self._offer.run(call)
                group.cancel_scope.cancel()
        return result

    async def _relay(self, call: ToolCall, newest: "_Newest", emit: Emit) -> None:
        block = self._blocks[call.id]
        while True:
            output = await newest.take()
            await emit(
                chat_events.ToolCallOutput(call=call, output=output, turn=self._turn, block=block)
            )

    async def _end(self, call: ToolCall, result: ToolResult, emit: Emit) -> None:
        self._results[call.id] = result
        block = self._blocks[call.id]
        await emit(
            chat_events.ToolCallResult(call=call, result=result, turn=self._turn, block=block)
        )

    def _refused(self, call: ToolCall) -> ToolResult:
        most = counted(self._limit, "call")
        text = f"Not run: {most} in one turn is the limit. Ask again in the next."
        return ToolResult(call_id=call.id, name=call.name, content=text, is_error=True)

    def _stopped(self, call: ToolCall, content: str = STOPPED) -> ToolResult:
        """Return the result of a stopped call; one that had ended all the same keeps its own."""
        kept = self._offer.result_of(call.id) if isinstance(self._offer, KeepsResults) else None
        if kept is not None and kept.interruption != "stopped":
            return kept
        return ToolResult(
            call_id=call.id, name=call.name, content=content, is_error=True, interruption="stopped"
        )


class _Newest:
    """The newest text; one that was not taken in time is replaced."""

    def __init__(self) -> None:
        self._text = ""
        self._came = anyio.Event()

    def put(self, text: str) -> None:
        """Replace the text."""
        self._text = text
        self._came.set()

    async def take(self) -> str:
        """Wait for a text that was not taken."""
        await self._came.wait()
        self._came = anyio.Event()
        return self._text


def _message(result: ToolResult) -> Message:
    failed = {"is_error": True} if result.is_error else {}
    shown = {} if result.display is None else {"display": result.display}
    return Message(
        "tool",
        [TextContent(result.content), *result.media] if result.media else result.content,
        name=result.name,
        tool_call_id=result.call_id,
        metadata={"outcome": result.outcome, **failed, **shown},
    )
