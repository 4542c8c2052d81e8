"""A provider that cannot be used, and says why whenever somebody tries."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.provider_events import ErrorEvent, ProviderEvent
from ollm_tui.protocol.request import Request, Response


class UnusableProvider:
    """Stands in the registry for a provider whose settings are wrong."""

    streaming_format: StreamingFormat = "none"

    def __init__(self, name: str, label: str, problem: AIError) -> None:
        self.name = name
        self.label = label
        self._problem = problem

    @property
    def problem(self) -> AIError:
        """What is wrong with its settings."""
        return self._problem.with_traceback(None)

    def chat_stream(self, _request: Request) -> ProviderStream:
        """Give the problem as the only event."""
        return self._stream()

    async def invoke(self, _request: Request) -> Response | ProviderStream:
        """Raise the problem."""
        raise self._problem.with_traceback(None)

    async def list_models(self) -> Sequence[ModelInfo]:
        """Raise the problem."""
        raise self._problem.with_traceback(None)

    def capabilities(self) -> Sequence[ModelCapability]:
        """Nothing."""
        return ()

    @asynccontextmanager
    async def _stream(self) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        async def events() -> AsyncIterator[ProviderEvent]:
            yield ErrorEvent(self._problem)

        yield events()
