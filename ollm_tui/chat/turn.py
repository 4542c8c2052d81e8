"""`Turn`: one provider call, from its request to the message that it leaves.

States: asking -> answering -> ended; a failure before the answer began may lead back to asking,
which is told as `Retrying`. It ends exactly once, with the provider's `Finish` or
`ErrorEvent`; a provider that stops without one has broken its contract and ends it as
STREAM_INCOMPLETE. Whatever arrived is in `partial()` at every moment, also after a cancellation.
"""

from collections.abc import Awaitable, Callable, Mapping

import anyio

from ollm_tui.chat.retries import wait_before
from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol import chat_events, provider_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.request import Request

Emit = Callable[[chat_events.ChatEvent], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]


class Turn:
    """Streams one answer and remembers what came."""

    def __init__(
        self,
        adapter: ProviderAdapter,
        request: Request,
        *,
        number: int,
        next_block: Callable[[], str],
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self._adapter = adapter
        self._request = request
        self._number = number
        self._next_block = next_block
        self._sleep = sleep
        self._assembler = MessageAssembler()
        self._blocks: list[str] = []

    async def run(self, emit: Emit) -> provider_events.End:
        """Ask, emit deltas as they come, and give the provider's end."""
        retries = 0
        while True:
            end = await self._ask(emit)
            if isinstance(end, provider_events.Finish) or self._blocks or self.partial():
                return end
            retries += 1
            wait_s = wait_before(retries, end.error)
            if wait_s is None:
                return end
            await emit(
                chat_events.Retrying(
                    attempt=retries, wait_s=wait_s, error=end.error, turn=self._number
                )
            )
            if await self._is_stopped_within(wait_s):
                return provider_events.Finish("abort")

    async def _is_stopped_within(self, seconds: float) -> bool:
        signal = self._request.signal
        with anyio.CancelScope() as scope:
            unsubscribe = signal.subscribe(scope.cancel) if signal else None
            try:
                await self._sleep(seconds)
            finally:
                if unsubscribe:
                    unsubscribe()
        return scope.cancelled_caught

    async def _ask(self, emit: Emit) -> provider_events.End:
        async with self._adapter.chat_stream(self._request) as events:
            async for event in events:
                match event:
                    case provider_events.Finish() | provider_events.ErrorEvent():
                        return event
                    case _:
                        self._assembler.add(event)
                        if shown := self._shown(event):
                            await emit(shown)
        return provider_events.ErrorEvent(
            AIError(ErrorCode.STREAM_INCOMPLETE, "The answer ended without an end mark.")
        )

    def partial(self, metadata: Mapping[str, JsonValue] | None = None) -> Message | None:
        """Give the message as far as it has come; None when nothing came."""
        return self._assembler.message(metadata)

    def _shown(self, event: provider_events.ProviderEvent) -> chat_events.ChatEvent | None:
        match event:
            case provider_events.TextDelta(delta=delta, index=0) if delta:
                return chat_events.TextDelta(delta=delta, turn=self._number, block=self._block())
            case provider_events.ThinkingDelta(delta=delta, index=0) if delta:
                return chat_events.ThinkingDelta(
                    delta=delta, turn=self._number, block=self._block()
                )
            case provider_events.MediaDelta():
                return chat_events.MediaDelta(
                    modality=event.modality,
                    data=event.data,
                    step=event.step,
                    total_steps=event.total_steps,
                    turn=self._number,
                    block=self._block(),
                )
            case _:
                return None

    def _block(self) -> str:
        while len(self._blocks) < max(1, self._assembler.block_number):
            self._blocks.append(self._next_block())
        return self._blocks[-1]
