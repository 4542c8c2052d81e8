"""An engine's answer with what only its supervisor knows: load time, and why it broke off."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Timings
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    LeftOut,
    PromptProgress,
    ProviderEvent,
)
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.plan import CachedChat, EnginePlan
from ollm_tui.providers.embedded.prompt_states import note_answer
from ollm_tui.providers.embedded.supervisor import Engine

EXIT_WAIT_S = 0.5
"""A connection breaks a moment before the end of its process is noticed."""


class EngineStream(AsyncIterator[ProviderEvent]):
    """The events of one answer; `load_s` is the part of the wait that was loading.

    It begins with the reason why the previous engine was replaced, unless that was reported before,
    and with `notes`.
    """

    def __init__(
        self,
        events: AsyncIterator[ProviderEvent],
        engine: Engine[EnginePlan],
        load_s: float,
        read_chat: CachedChat | None = None,
        notes: Sequence[ProviderEvent] = (),
    ) -> None:
        self._events = events
        self._notes = [*notes]
        self._engine = engine
        self._load_s = load_s
        self._read_chat = read_chat
        self._has_begun = False
        self.is_complete = False
        """Whether the engine has ended its answer by itself."""

    async def __anext__(self) -> ProviderEvent:
        if self._engine.replaced is not None:
            report, self._engine.replaced = self._engine.replaced, None
            return report
        if self._notes:
            return self._notes.pop(0)
        event = await anext(self._events)
        match event:
            case Finish():
                self.is_complete = event.reason != "abort"
                if self.is_complete:
                    note_answer(self._engine, self._read_chat, event.usage)
                timings = _with_load(event.timings, self._load_s)
                return replace(event, timings=timings) if self._load_s else event
            case ErrorEvent():
                return replace(event, error=await self._explained(event.error))
            case LeftOut() | PromptProgress():
                return event
            case _:
                self._has_begun = True
                return event

    async def _explained(self, error: AIError) -> AIError:
        """Replace a connection error with the end of the engine, if that caused it."""
        if error.status is not None:
            return error
        with anyio.move_on_after(EXIT_WAIT_S):
            await self._engine.exited.wait()
        if not self._engine.exited.is_set():
            return error
        reason = self._engine.crash or failures.unloaded(self._engine.plan.name)
        reason.provider = error.provider
        reason.retryable = not self._has_begun
        return reason


def _with_load(timings: Timings | None, load_s: float) -> Timings:
    """Add the load to the waiting times, which are measured from the request."""
    timings = timings or Timings()
    return replace(
        timings,
        load_s=load_s,
        first_token_s=None if timings.first_token_s is None else timings.first_token_s + load_s,
        total_s=None if timings.total_s is None else timings.total_s + load_s,
    )
