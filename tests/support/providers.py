"""Providers without a backend: scripted answers for tests of the layers above."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.provider_events import Finish, ProviderEvent
from ollm_tui.protocol.request import Request, Response


@dataclass
class ScriptedProvider:
    """Yields the given events; an `anyio.Event` among them waits until the test sets it."""

    name: str = "scripted"
    script: Sequence[ProviderEvent | anyio.Event | Exception] = (Finish("stop"),)
    models: Sequence[ModelInfo] = ()
    list_error: AIError | None = None
    list_gate: anyio.Event | None = None
    label: str = "Scripted"
    streaming_format: StreamingFormat = "none"
    requests: list[Request] = field(default_factory=list)
    listed: int = 0
    open_streams: int = 0

    def chat_stream(self, request: Request) -> ProviderStream:
        self.requests.append(request)
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        self.open_streams += 1
        try:
            yield self._events(request)
        finally:
            self.open_streams -= 1

    async def _events(self, request: Request) -> AsyncIterator[ProviderEvent]:
        for step in self.script:
            if request.signal and request.signal.aborted:
                yield Finish("abort")
                return
            if isinstance(step, Exception):
                raise step
            if isinstance(step, anyio.Event):
                with anyio.CancelScope() as waiting:
                    if request.signal:
                        request.signal.subscribe(waiting.cancel)
                    await step.wait()
                continue
            yield step

    async def invoke(self, request: Request) -> Response | ProviderStream:
        return self.chat_stream(request)

    def capabilities(self) -> Sequence[ModelCapability]:
        return ()

    async def list_models(self) -> Sequence[ModelInfo]:
        self.listed += 1
        if self.list_gate is not None:
            await self.list_gate.wait()
        if self.list_error is not None:
            raise self.list_error
        return self.models
