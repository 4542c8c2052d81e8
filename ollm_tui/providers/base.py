"""Building blocks of providers: `BaseProvider` to subclass, `gather`, and `UnusableProvider`."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Self, get_args

import anyio
from anyio.abc import ObjectSendStream

from ollm_tui.config.foreign import foreign_code
from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.decode.json_fields import present
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.provider_events import (
    End,
    ErrorEvent,
    Finish,
    LeftOut,
    ProviderEvent,
    TextDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.media.several import answer_request
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.tasks import cancelled_by, task_group

BUFFERED_EVENTS = 32
"""Number of events that an answer may be ahead of a slow reader."""
_EVENTS = get_args(ProviderEvent)


class BaseProvider(ABC):
    """A provider to subclass: implement `stream`, and the rules for answers are kept for you.

    Every answer has exactly one end, an exception becomes that end, `request.signal` stops the
    answer at once, and `stream` is closed however the caller leaves. Add the methods of
    `SupportsList`, `SupportsDispose` and the other protocols for everything else your provider
    supports.
    """

    streaming_format: StreamingFormat = "none"
    """The wire format of answers."""

    def __init__(self, spec: ProviderSpec | str) -> None:
        """Take the settings of `[providers.NAME]`, or just a name."""
        self.spec = ProviderSpec(name=spec, kind=spec) if isinstance(spec, str) else spec
        self.name = self.spec.name
        """The scheme of its models' addresses: `name://model`."""
        self.label = self.spec.label or self.spec.name
        """The display name."""

    @abstractmethod
    def stream(self, request: Request) -> AsyncIterator[str | ProviderEvent]:
        """Answer a request: an async generator of text and of events from `provider_events`.

        It may end with a `Finish` that has the reason and the usage. Raise `AIError` for a failure.
        Close what you opened in a `finally` block.
        """
        ...

    def chat_stream(self, request: Request) -> ProviderStream:
        """Stream the events of an answer."""
        return self._answer(request)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Return a whole `Response`, or with `request.stream` a stream.

        Raises:
            AIError: What `stream` raised, or ABORTED.
        """
        return await answer_request(self.chat_stream, request, gather)

    def capabilities(self) -> Sequence[ModelCapability]:
        """Return what its models can do as far as it is known in advance, by default nothing."""
        return ()

    @asynccontextmanager
    async def _answer(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        send, receive = anyio.create_memory_object_stream[ProviderEvent](BUFFERED_EVENTS)
        async with task_group() as group, receive:
            group.start_soon(self._produce, request, send)
            try:
                yield receive
            finally:
                group.cancel_scope.cancel()

    async def _produce(self, request: Request, send: ObjectSendStream[ProviderEvent]) -> None:
        end: End = Finish("abort")
        async with send:
            with cancelled_by(request.signal) as scope:
                try:
                    with foreign_code(f"The provider {self.name} failed", self._unexpected):
                        end = await self._pass_on(request, send)
                except AIError as error:
                    error.provider = error.provider or self.name
                    end = ErrorEvent(error)
            # An error raised while a stopped answer was closed is not a failure of the answer.
            await send.send(Finish("abort") if scope.cancel_called else end)

    async def _pass_on(self, request: Request, send: ObjectSendStream[ProviderEvent]) -> End:
        has_calls = False
        generator = self.stream(request)
        async with aclosing(generator) as events:  # type: ignore[type-var]
            async for event in events:
                match event:
                    case str():
                        await send.send(TextDelta(event))
                    case Finish() | ErrorEvent():
                        return event
                    case _ if isinstance(event, _EVENTS):
                        has_calls = has_calls or isinstance(event, ToolCallEvent)
                        await send.send(event)
                    case _:
                        raise self._no_event(event)
        return Finish("tool_calls" if has_calls else "stop")

    def _no_event(self, event: object) -> AIError:
        return AIError(
            ErrorCode.INTERNAL_ERROR,
            f"The provider {self.label} gave {type(event).__name__}, neither text nor an event.",
            hint="Its `stream` must yield text or events from `provider_events`.",
            provider=self.name,
        )

    def _unexpected(self, error: BaseException) -> AIError:
        return AIError(
            ErrorCode.INTERNAL_ERROR,
            f"The provider {self.label} failed ({type(error).__name__}).",
            hint="The log has the details.",
            provider=self.name,
        )


async def gather(stream: ProviderStream) -> Response:
    """Read a stream to its end and return it as one `Response`.

    Raises:
        AIError: The error that the stream ended with, or ABORTED.
    """
    assembler = MessageAssembler()
    left_out: list[JsonValue] = []
    async with stream as events:
        finish = await _last(events, assembler, left_out)
    if finish.reason == "abort":
        raise AIError(ErrorCode.ABORTED, "The request was stopped.")
    message = assembler.message()
    return Response(
        content=message.content if message else (),
        finish_reason=finish.reason,
        usage=finish.usage,
        tool_calls=assembler.calls,
        metadata=present({"raw_reason": finish.raw_reason, "left_out": left_out or None}),
    )


async def _last(
    events: AsyncIterator[ProviderEvent], assembler: MessageAssembler, left_out: list[JsonValue]
) -> Finish:
    async for event in events:
        match event:
            case ErrorEvent(error=error):
                raise error
            case Finish():
                return event
            case LeftOut(field=field):
                left_out.append(field)
            case _:
                assembler.add(event)
    raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer has no end.")


class EndedStream:
    """An answer that ended before it began; unlike a generator, it needs no closing."""

    def __init__(self, end: End) -> None:
        self._events = iter((end,))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ProviderEvent:
        for event in self._events:
            return event
        raise StopAsyncIteration


class UnusableProvider:
    """Takes the place of a provider with invalid settings; every request raises the reason."""

    streaming_format: StreamingFormat = "none"

    def __init__(self, name: str, label: str, problem: AIError) -> None:
        self.name = name
        self.label = label
        self._problem = problem

    @property
    def problem(self) -> AIError:
        """Why the provider cannot be used."""
        return self._problem.with_traceback(None)

    @asynccontextmanager
    async def chat_stream(self, _request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        """Stream the problem as the only event."""
        yield EndedStream(ErrorEvent(self._problem))

    async def invoke(self, _request: Request) -> Response | ProviderStream:
        """Raise the problem."""
        raise self.problem

    async def list_models(self) -> Sequence[ModelInfo]:
        """Raise the problem."""
        raise self.problem

    def capabilities(self) -> Sequence[ModelCapability]:
        """Return nothing."""
        return ()
