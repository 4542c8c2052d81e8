"""What all remote streams share: time limits, abort, exactly one end; decoders parse the bytes."""

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeGuard

import anyio
from anyio.abc import TaskGroup

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, integer
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    MediaDelta,
    PromptProgress,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Withdrawn,
)
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.body.unsupported import OnLeftOut
from ollm_tui.providers.http_errors import http_error
from ollm_tui.providers.http_faults import NO_FIRST_BYTE, STALLED
from ollm_tui.providers.response_reader import LAST_LOOK_S, ResponseReader
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport
from ollm_tui.tasks import task_group

LAST_BYTES_S = 0.05
"""How long to wait for the last bytes of a complete answer, so that its connection is reusable."""
MAX_REQUESTS = 8
"""The first one, and the repetitions without a refused field."""
_OUTPUT = (TextDelta, ThinkingDelta, ToolCallEvent, MediaDelta)
MIN_PIECES = 4
MIN_DURATION_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """What to send, how to read the answer, and how to adapt to a refusal."""

    path: str
    body: Callable[[OnLeftOut], JsonObject]
    """Makes the request's body; raises `AIError` for what cannot be sent."""
    decoder: Callable[[], AnswerDecoder]
    adapt: Callable[[JsonObject, AIError, OnLeftOut], JsonObject | None]
    """Returns the body in the form that the error asks for, or None if there is none."""
    wait_until_ready: Callable[[AIError], Awaitable[bool]] | None = None
    """Waits if the error means that the server is starting; returns whether it is ready now."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """Finds out what the body depends on, before it is made."""


@asynccontextmanager
async def answer_stream(
    transport: Transport, plan: RequestPlan, signal: AbortSignal | None
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Send the request and yield its events; leaving the block closes the connection."""
    async with task_group(cancelled_at_end=True) as group:
        stream = AnswerStream(group, transport, plan)
        unsubscribe = signal.subscribe(stream.abort) if signal else None
        try:
            yield stream
            await stream.drain()
        finally:
            if unsubscribe:
                unsubscribe()
            stream.close()


class AnswerStream(AsyncIterator[ProviderEvent]):
    """The events of one answer."""

    def __init__(self, group: TaskGroup, transport: Transport, plan: RequestPlan) -> None:
        self._group = group
        self._transport = transport
        self._plan = plan
        self._decoder = plan.decoder()
        self._reader: ResponseReader | None = None
        self._events: deque[ProviderEvent] = deque()
        self._left_out: list[ProviderEvent] = []
        """Events about fields that were left out; they precede the answer."""
        self._started_at = time.monotonic()
        self._alive_at = self._read_at = self._started_at
        self._pace = Pace()
        self._is_aborted = False
        self._is_answering = False
        self._ended = False
        self._waiting: anyio.CancelScope | None = None

    async def __anext__(self) -> ProviderEvent:
        if self._ended:
            raise StopAsyncIteration
        while not self._events and not self._is_aborted:
            await self._fetch_events()
        if self._is_aborted:
            self._events.clear()
            self._events.append(Finish("abort"))
        event = self._events.popleft()
        if isinstance(event, Finish | ErrorEvent):
            self._ended = True
            if isinstance(event, Finish):
                return self._with_timings(event)
        return event

    def abort(self) -> None:
        """Close the connection at once; the next event is `Finish("abort")`."""
        self._is_aborted = True
        if self._waiting is not None:
            self._waiting.cancel()
        if self._reader is not None:
            self._reader.close()

    def close(self) -> None:
        """Close the connection at once and discard what has not been read."""
        if self._reader is not None:
            self._reader.dispose()

    async def drain(self) -> None:
        """After a complete answer, wait for its last bytes, so that the connection is reusable."""
        if self._reader is not None and self._ended and not self._is_aborted:
            self._reader.hurry()
            with anyio.move_on_after(LAST_BYTES_S):
                await self._reader.finished.wait()

    async def _fetch_events(self) -> None:
        try:
            with anyio.move_on_after(max(self._time_left(), LAST_LOOK_S)) as clock:
                self._collect(await (self._read() if self._is_answering else self._send()))
            if clock.cancelled_caught:
                await self._check_late_bytes()
        except AIError as error:
            error.provider = error.provider or self._transport.spec.name
            self._collect(self._decoder.fail(error))
        else:
            if not (self._events or self._time_left()):  # what arrived was no sign of life
                self._collect(self._decoder.fail(self._timeout_error()))

    async def _check_late_bytes(self) -> None:
        """Read what arrived while the program was held up and the time limit passed."""
        before = self._decoder.activity
        if self._is_answering:
            with anyio.move_on_after(LAST_LOOK_S):
                self._collect(await self._read())
        if not self._events and self._decoder.activity == before:
            self._collect(self._decoder.fail(self._timeout_error()))

    def _time_left(self) -> float:
        limits = self._transport.spec
        if self._pace.first_at is None:
            end = self._read_at + limits.first_byte_timeout_s
        else:
            end = self._alive_at + limits.idle_timeout_s
        return max(0.0, end - time.monotonic())

    def _timeout_error(self) -> AIError:
        limits, endpoint = self._transport.spec, self._transport.endpoint
        if self._pace.first_at is None:
            return endpoint.fault(NO_FIRST_BYTE, seconds=limits.first_byte_timeout_s)
        return endpoint.fault(STALLED, seconds=limits.idle_timeout_s)

    async def _send(self) -> list[ProviderEvent]:
        if self._plan.prepare is not None:
            with anyio.CancelScope() as self._waiting:
                await self._plan.prepare()
            if self._is_aborted:
                return []
        body = self._plan.body(self._left_out.append)
        for _ in range(MAX_REQUESTS - 1):
            error = await self._send_body(body)
            if error is None:
                return []
            adapted = self._plan.adapt(body, error, self._left_out.append)
            if adapted is not None:
                body = adapted
            elif not await self._wait_until_ready(error):
                raise error
        if error := await self._send_body(body):
            raise error
        return []

    async def _wait_until_ready(self, error: AIError) -> bool:
        if self._plan.wait_until_ready is not None and self._transport.spec.waits_for_start:
            with anyio.CancelScope() as self._waiting:
                return not self._is_aborted and await self._plan.wait_until_ready(error)
        return False

    async def _send_body(self, body: JsonObject) -> AIError | None:
        self.close()
        reader: ResponseReader | None = None
        with anyio.CancelScope() as self._waiting:
            reader = await self._transport.start(self._group, "POST", self._plan.path, body)
        self._reader = reader
        if reader is None or self._is_aborted:  # while the request was made
            self.close()
            return None
        head = await reader.read_head()
        if 200 <= head.status < 300:
            self._is_answering = True
            return None
        reason = await reader.read_error_body(MAX_ERROR_BYTES, self._transport.spec.list_timeout_s)
        return http_error(head, reason, self._transport.endpoint)

    async def _read(self) -> list[ProviderEvent]:
        if self._reader is None:
            return self._decoder.finish()
        before = self._decoder.activity
        chunk = await self._reader.read()
        events = self._decoder.feed(chunk) if chunk else self._decoder.finish()
        if self._decoder.activity != before:
            self._alive_at = time.monotonic()
        return events

    def _collect(self, events: list[ProviderEvent]) -> None:
        self._events += self._left_out
        self._left_out.clear()
        was_silent = self._pace.first_at is None
        if was_silent and any(isinstance(event, PromptProgress) for event in events):
            self._read_at = time.monotonic()  # a long prompt is read for minutes
        self._pace.note(events, time.monotonic())
        if was_silent and self._pace.first_at is not None:
            self._alive_at = self._pace.first_at
            if self._reader is not None:
                self._reader.gather()
        for event in events:
            self._append(event)

    def _append(self, event: ProviderEvent) -> None:
        """Add an event; text joins the text before it that has not been read yet.

        Each event that is passed on costs more than reading a piece of text from the server.
        """
        last = self._events[-1] if self._events else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            if event.index == last.index:
                self._events[-1] = TextDelta(last.delta + event.delta, event.index)
                return
        elif _is_plain_thinking(event) and _is_plain_thinking(last) and event.index == last.index:
            self._events[-1] = ThinkingDelta(last.delta + event.delta, event.index)
            return
        self._events.append(event)

    def _with_timings(self, event: Finish) -> Finish:
        """Add what only the client can measure; the server's own figures stay."""
        known, first = event.timings or Timings(), self._pace.first_at
        timings = replace(
            known,
            first_token_s=None if first is None else first - self._started_at,
            total_s=time.monotonic() - self._started_at,
            tokens_per_s=known.tokens_per_s or self._pace.speed(event.usage),
        )
        return replace(event, timings=timings)


class Pace:
    """How fast an answer is generated, measured by the client where the server does not say.

    The first piece was generated before it arrived and does not count. An answer that arrived all
    at once, or nearly so, cannot be measured.
    """

    def __init__(self) -> None:
        self.first_at: float | None = None
        """When the first text, thinking, tool call or sound arrived."""
        self._last_at = 0.0
        self._pieces = 0
        self._first_chars = 0
        self._chars = 0
        self._has_thinking = False

    def note(self, events: Iterable[ProviderEvent], now: float) -> None:
        """Count the events that arrived together."""
        output = [event for event in _without_repetitions(events) if isinstance(event, _OUTPUT)]
        if not output:
            return
        chars = sum(map(_length, output))
        if self.first_at is None:
            self.first_at, self._first_chars = now, chars
        self._last_at = now
        self._pieces += 1
        self._chars += chars
        self._has_thinking |= any(isinstance(event, ThinkingDelta) for event in output)

    def speed(self, usage: Usage | None) -> float | None:
        """Return tokens per second, or None if the answer did not arrive as a stream."""
        tokens = usage.completion_tokens if usage is not None else None
        if usage is None or not tokens or self.first_at is None or not self._chars:
            return None
        seconds = self._last_at - self.first_at
        if self._pieces < MIN_PIECES or seconds < MIN_DURATION_S:
            return None
        shown = tokens if self._has_thinking else tokens - _reasoning_tokens(usage)
        return max(0, shown) * (1 - self._first_chars / self._chars) / seconds or None


def _is_plain_thinking(event: ProviderEvent | None) -> TypeGuard[ThinkingDelta]:
    """Whether the event is thinking that neither ends its block nor is one of its own."""
    return isinstance(event, ThinkingDelta) and event == ThinkingDelta(event.delta, event.index)


def _without_repetitions(events: Iterable[ProviderEvent]) -> Iterator[ProviderEvent]:
    """Yield the events but the one that repeats what was taken back."""
    is_repeated = False
    for event in events:
        if not is_repeated:
            yield event
        is_repeated = isinstance(event, Withdrawn)


def _length(event: TextDelta | ThinkingDelta | ToolCallEvent | MediaDelta) -> int:
    if isinstance(event, MediaDelta):
        return 0
    return len(event.call.raw_args) if isinstance(event, ToolCallEvent) else len(event.delta)


def _reasoning_tokens(usage: Usage) -> int:
    """Return the number of thinking tokens that the server did not send."""
    details = as_object(usage.extra.get("completion_tokens_details"))
    return integer(details, "reasoning_tokens") or 0
