"""KoboldCpp's events: whether it may still be writing, and what its `length` means."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Self

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import GenerationOptions


class KoboldStream:
    """The events of one answer."""

    def __init__(self, events: AsyncIterator[ProviderEvent], options: GenerationOptions) -> None:
        self._events = events
        self._options = options
        self._ended = False
        self.may_be_writing = False
        """Whether the server was asked and has not told of an end."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ProviderEvent:
        """Give the next event."""
        if not self._ended:
            self.may_be_writing = True
        event = await anext(self._events)
        match event:
            case Finish():
                self._ended = True
                self.may_be_writing = event.reason == "abort"
                return self._corrected(event)
            case ErrorEvent():
                self._ended = True
                # What the server said itself is its end; after a silence it may go on for long.
                self.may_be_writing = event.error.code == ErrorCode.TIMEOUT
            case _:
                pass
        return event

    def _corrected(self, end: Finish) -> Finish:
        """Give `length` as `stop` where one of the request's own stop sequences may have ended it.

        The server reports both as `length`; only as many tokens as were allowed are the limit.
        """
        if end.reason != "length" or not self._options.stop:
            return end
        written = end.usage.completion_tokens if end.usage else None
        allowed = self._options.max_tokens
        if written is not None and allowed is not None and written >= allowed:
            return end
        return replace(end, reason="stop")
