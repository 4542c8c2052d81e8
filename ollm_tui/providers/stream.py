"""The shell of every remote stream: clocks, abort, one end; what the wire says is a decoder's job.

States and transitions of `AnswerStream`:

* ``asking``: the request is on its way. A refusal of a field that can be left out leads back here,
  once for each field, and so does one because the server is still starting, after a wait; any other
  failure leads to ``ended``.
* ``answering``: pieces come and are decoded. The decoder's end, a fault, a clock or the abort
  signal lead to ``ended``.
* ``ended``: the one `Finish` or `ErrorEvent` has been given; nothing follows.
"""

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import anyio
from anyio.abc import TaskGroup

from ollm_tui.decode.json_fields import as_object, integer
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.http_faults import idle, no_first_byte
from ollm_tui.providers.response_reader import ResponseReader
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport

LAST_BYTES_S = 0.05
"""How long the end of a complete answer is awaited, so that its connection can be used again."""
LAST_LOOK_S = 0.1
"""A clock that ran out while nobody read, or while the program was held up, is believed when what
has come is no sign of life."""
MAX_REQUESTS = 8
"""The first, and those without a field that the one before was refused for."""


Preparation: TypeAlias = Callable[[], Awaitable[None]]


class StreamDecoder(Protocol):
    """Bytes of one answer to events, with exactly one end."""

    @property
    def ended(self) -> bool:
        """Whether the closing event was given."""
        ...

    @property
    def life(self) -> int:
        """Grows with every sign that the server is at work."""
        ...

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        """Give the events that this chunk completes."""
        ...

    def finish(self) -> list[ProviderEvent]:
        """End of the body."""
        ...

    def break_off(self, error: AIError) -> list[ProviderEvent]:
        """End the answer with a failure from outside the stream."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """What to send, how to read the answer, and what to leave out where it is refused."""

    path: str
    body: Callable[[], JsonObject]
    """Makes the request; raises `AIError` for what cannot be asked."""
    decoder: Callable[[], StreamDecoder]
    adapt: Callable[[JsonObject, AIError], JsonObject | None]
    """Gives the request without the field that the error names, None if that is no way out."""
    ready: Callable[[AIError], Awaitable[bool]] | None = None
    """Waits while the error means that the server is still starting; tells whether it did so."""
    prepare: Preparation | None = None
    """Finds out what the body depends on."""
    said: list[ProviderEvent] = field(default_factory=list)
    """What these have to say to a person; it is given before the answer."""


@asynccontextmanager
async def answer_stream(
    transport: Transport, question: RequestPlan, signal: AbortSignal | None
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Ask, and give the events; leaving the block has closed the connection."""
    with single_error():
        async with anyio.create_task_group() as group:
            stream = AnswerStream(group, transport, question)
            unsubscribe = signal.subscribe(stream.abort) if signal else None
            try:
                yield stream
                await stream.see_out()
            finally:
                if unsubscribe:
                    unsubscribe()
                stream.close()
                group.cancel_scope.cancel()


class AnswerStream(AsyncIterator[ProviderEvent]):
    """The events of one answer, each given once."""

    def __init__(self, group: TaskGroup, transport: Transport, question: RequestPlan) -> None:
        self._group = group
        self._transport = transport
        self._question = question
        self._decoder = question.decoder()
        self._exchange: ResponseReader | None = None
        self._events: deque[ProviderEvent] = deque()
        self._began = time.monotonic()
        self._alive = self._began
        self._pace = Pace()
        self._aborted = False
        self._answering = False
        self._ended = False
        self._waiting: anyio.CancelScope | None = None

    def __aiter__(self) -> AsyncIterator[ProviderEvent]:
        return self

    async def __anext__(self) -> ProviderEvent:
        """Give the next event."""
        if self._ended:
            raise StopAsyncIteration
        while not self._events and not self._aborted:
            await self._more()
        if self._aborted:
            self._events.clear()
            self._events.append(Finish("abort"))
        event = self._events.popleft()
        if isinstance(event, Finish | ErrorEvent):
            self._ended = True
            if isinstance(event, Finish):
                return self._timed(event)
        return event

    def abort(self) -> None:
        """Close the connection at once; the next event is `Finish("abort")`."""
        self._aborted = True
        if self._waiting is not None:
            self._waiting.cancel()
        if self._exchange is not None:
            self._exchange.close()

    def close(self) -> None:
        """Close the connection at once; nothing more is taken."""
        if self._exchange is not None:
            self._exchange.dispose()

    async def see_out(self) -> None:
        """After a complete answer, let its last bytes come so that the connection stays usable."""
        if self._exchange is not None and self._ended and not self._aborted:
            with anyio.move_on_after(LAST_BYTES_S):
                await self._exchange.finished.wait()

    async def _more(self) -> None:
        try:
            with anyio.move_on_after(max(self._patience(), LAST_LOOK_S)) as clock:
                self._note(await (self._read() if self._answering else self._ask()))
            if clock.cancelled_caught:
                await self._look_again()
        except AIError as error:
            error.provider = error.provider or self._transport.spec.name
            self._note(self._decoder.break_off(error))
        else:
            if not (self._events or self._patience()):  # what had come was no sign of life
                self._note(self._decoder.break_off(self._too_late()))

    async def _look_again(self) -> None:
        """Take what came while the program was held up: the clock ran out before it could."""
        before = self._decoder.life
        if self._answering:
            with anyio.move_on_after(LAST_LOOK_S):
                self._note(await self._read())
        if not self._events and self._decoder.life == before:
            self._note(self._decoder.break_off(self._too_late()))

    def _patience(self) -> float:
        """Seconds until the clock that runs now has run out."""
        limits = self._transport.spec
        if self._pace.first_at is None:
            end = self._began + limits.first_byte_timeout_s
        else:
            end = self._alive + limits.idle_timeout_s
        return max(0.0, end - time.monotonic())

    def _too_late(self) -> AIError:
        limits, place = self._transport.spec, self._transport.place
        if self._pace.first_at is None:
            return no_first_byte(place, limits.first_byte_timeout_s)
        return idle(place, limits.idle_timeout_s)

    async def _ask(self) -> list[ProviderEvent]:
        if self._question.prepare is not None:
            with anyio.CancelScope() as self._waiting:
                await self._question.prepare()
            if self._aborted:
                return []
        body = self._question.body()
        for _ in range(MAX_REQUESTS - 1):
            error = await self._ask_with(body)
            if error is None:
                return []
            adapted = self._question.adapt(body, error)
            if adapted is not None:
                body = adapted
            elif not await self._is_ready_after(error):
                raise error
        if error := await self._ask_with(body):
            raise error
        return []

    async def _is_ready_after(self, error: AIError) -> bool:
        if self._question.ready is not None and self._transport.spec.waits_for_start:
            with anyio.CancelScope() as self._waiting:
                return not self._aborted and await self._question.ready(error)
        return False

    async def _ask_with(self, body: JsonObject) -> AIError | None:
        self.close()
        exchange: ResponseReader | None = None
        with anyio.CancelScope() as self._waiting:
            exchange = await self._transport.start(self._group, "POST", self._question.path, body)
        self._exchange = exchange
        if exchange is None or self._aborted:  # while the request was made
            self.close()
            return None
        head = await exchange.head()
        if 200 <= head.status < 300:
            self._answering = True
            return None
        return await self._refusal(head, exchange)

    async def _refusal(self, head: Head, exchange: ResponseReader) -> AIError:
        said = await exchange.read_words(MAX_ERROR_BYTES, self._transport.spec.list_timeout_s)
        return http_error(head, said, self._transport.place)

    async def _read(self) -> list[ProviderEvent]:
        if self._exchange is None:
            return self._decoder.finish()
        before = self._decoder.life
        chunk = await self._exchange.read()
        events = self._decoder.feed(chunk) if chunk else self._decoder.finish()
        if self._decoder.life != before:
            self._alive = time.monotonic()
        return events

    def _note(self, events: list[ProviderEvent]) -> None:
        if said := self._question.said:
            self._events += said
            said.clear()
        was_silent = self._pace.first_at is None
        self._pace.note(events, time.monotonic())
        if was_silent and self._pace.first_at is not None:
            self._alive = self._pace.first_at
            if self._exchange is not None:
                self._exchange.gathers = True
        self._events += events

    def _timed(self, event: Finish) -> Finish:
        """Add what only the receiving end can measure; the server's own figures stay."""
        known, first = event.timings or Timings(), self._pace.first_at
        timings = replace(
            known,
            first_token_s=None if first is None else first - self._began,
            total_s=time.monotonic() - self._began,
            tokens_per_s=known.tokens_per_s or self._pace.speed(event.usage),
        )
        return replace(event, timings=timings)


class Pace:
    """How fast an answer is written, as seen from here, where the server does not tell.

    Its first piece was written before it came and does not count. An answer that came at once, or
    nearly so, tells nothing.
    """

    def __init__(self) -> None:
        self.first_at: float | None = None
        """When the first text, thinking or call came."""
        self._last_at = 0.0
        self._pieces = 0
        self._first_chars = 0
        self._chars = 0
        self._has_thinking = False

    def note(self, events: Iterable[ProviderEvent], now: float) -> None:
        """Take what came together."""
        output = [event for event in events if isinstance(event, _OUTPUT)]
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
        """Give tokens per second; None where they were not measured over a real stream."""
        tokens = usage.completion_tokens if usage is not None else None
        if usage is None or not tokens or self.first_at is None or not self._chars:
            return None
        seconds = self._last_at - self.first_at
        if self._pieces < FEWEST_PIECES or seconds < SHORTEST_S:
            return None
        shown = tokens if self._has_thinking else tokens - _reasoned(usage)
        return max(0, shown) * (1 - self._first_chars / self._chars) / seconds or None


_OUTPUT = (TextDelta, ThinkingDelta, ToolCallEvent)
FEWEST_PIECES = 4
SHORTEST_S = 0.2


def _length(event: TextDelta | ThinkingDelta | ToolCallEvent) -> int:
    return len(event.call.raw_args) if isinstance(event, ToolCallEvent) else len(event.delta)


def _reasoned(usage: Usage) -> int:
    """Count the tokens of reasoning that the server keeps to itself."""
    details = as_object(usage.extra.get("completion_tokens_details"))
    return integer(details, "reasoning_tokens") or 0
