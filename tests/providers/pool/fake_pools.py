"""Members of a pool that tests tell what to do, without a server behind them."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.base import gather

CAPABILITY = ModelCapability(frozenset({"text"}), frozenset({"text"}), frozenset({"stream"}))
ANSWER: tuple[ProviderEvent, ...] = (TextDelta("one "), TextDelta("two"), Finish("stop"))


def usual_answer() -> list[ProviderEvent]:
    return [*ANSWER]


def refused(address: str) -> AIError:
    return AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"Server does not answer at {address}.",
        details={"fault": "refused"},
        retryable=True,
    )


@dataclass
class Puppet:
    """A server whose health, models and answers are fields of it."""

    address: str
    name: str = "team"
    label: str = "Team"
    up: bool = True
    models: Sequence[str] = ("tiny",)
    error: AIError | None = None
    """What every request is answered with."""
    hold: anyio.Event | None = None
    """What a request waits for before its first event."""
    asked: int = 0
    listed: int = 0
    open: int = 0
    streaming_format: StreamingFormat = "sse"
    answer: Callable[[], list[ProviderEvent]] = usual_answer

    def chat_stream(self, request: Request) -> ProviderStream:
        return self._stream(request)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        return await gather(self.chat_stream(request))

    def capabilities(self) -> Sequence[ModelCapability]:
        return (CAPABILITY,)

    async def list_models(self) -> Sequence[ModelInfo]:
        self.listed += 1
        if self.hold is not None:
            await self.hold.wait()
        if not self.up:
            raise refused(self.address)
        return [ModelInfo(name=name) for name in self.models]

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        self.asked += 1
        self.open += 1
        try:
            yield self._events(request)
        finally:
            self.open -= 1

    async def _events(self, request: Request) -> AsyncIterator[ProviderEvent]:
        if self.hold is not None:
            await self.hold.wait()
        if not self.up:
            yield ErrorEvent(refused(self.address))
        elif self.error is not None:
            yield ErrorEvent(self.error)
        elif request.model not in self.models:
            yield ErrorEvent(AIError(ErrorCode.MODEL_NOT_FOUND, "No such model.", status=404))
        else:
            for event in self.answer():
                yield event
