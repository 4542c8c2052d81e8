"""`Turn`: one request to a provider, from its first try to the message that it leaves.

States: asking -> answering -> ended, and back to asking for a retry. It ends exactly once.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import replace
from random import random
from typing import TypeAlias

import anyio

from ollm_tui.chat.readers import AnswerReader, AnswerStart
from ollm_tui.chat.saving import GrowingMessage
from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol import chat_events, provider_events
from ollm_tui.protocol.base64_text import from_base64
from ollm_tui.protocol.blocks import (
    AudioContent,
    ImageContent,
    MediaData,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.protocol.chat_events import Emit
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.provider_events import (
    End,
    ErrorEvent,
    Finish,
    LeftOut,
    MediaDelta,
    PromptProgress,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tasks import cancelled_by

MAX_RETRIES = 2
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 60.0
"""A longer Retry-After is not waited for; the error is shown instead."""
_CONNECTION_FAULTS = frozenset({"refused", "connect_timeout", "dns", "closed"})


def wait_before(retry: int, error: AIError, jitter: Callable[[], float] = random) -> float | None:
    """Return the seconds until retry number `retry`, or None if there is none.

    Retried are failed connections and statuses that may be temporary. The server's Retry-After
    counts; else the wait doubles each time, with jitter.
    """
    if retry > MAX_RETRIES or not error.retryable:
        return None
    if error.status is None and error.details.get("fault") not in _CONNECTION_FAULTS:
        return None
    retry_after_s = error.details.get("retry_after_s")
    if isinstance(retry_after_s, int | float):
        return float(retry_after_s) if retry_after_s <= MAX_WAIT_S else None
    return round(FIRST_WAIT_S * 2.0 ** (retry - 1) * (0.75 + jitter() / 2), 1)


def cannot_stream(adapter: ProviderAdapter, error: AIError) -> bool:
    """Whether this is the error of a provider that cannot stream."""
    return adapter.streaming_format == "none" and error.code == ErrorCode.UNSUPPORTED_FEATURE


async def whole_answer(
    adapter: ProviderAdapter, request: Request
) -> AsyncGenerator[ProviderEvent, None]:
    """Request the whole answer; a failure is the one closing event, as in a stream."""
    try:
        response = await adapter.invoke(replace(request, stream=False))
    except AIError as error:
        aborted = error.code == ErrorCode.ABORTED
        yield Finish("abort") if aborted else ErrorEvent(error)
        return
    assert isinstance(response, Response)
    for block in response.content:
        match block:
            case TextContent(text=text):
                yield TextDelta(text)
            case ThinkingContent(text=text, signature=signature, signer=signer, sealed=sealed):
                yield ThinkingDelta(text, signature=signature, signer=signer, sealed=sealed)
            case ImageContent(data=data) | AudioContent(data=data) | VideoContent(data=data):
                yield MediaDelta(modality=block.type, data=_raw(data))
            case _:
                yield MediaDelta(modality=block.type, data=b"")  # so that it is mentioned
    for call in response.tool_calls:
        yield ToolCallEvent(call)
    reason = response.finish_reason or ("tool_calls" if response.tool_calls else "stop")
    yield Finish(reason, response.usage)


def _raw(data: MediaData | None) -> bytes:
    """Return the bytes of media; empty for a link and for invalid base64."""
    if isinstance(data, bytes):
        return data
    try:
        return from_base64((data or "").rpartition(",")[2])
    except ValueError:
        return b""


def _without_level(effort: str) -> LeftOut:
    """Return the note on an effort of thinking that a model does not have."""
    message = f"This model has no level {effort} of thinking."
    return LeftOut("think.level", AIError(ErrorCode.UNSUPPORTED_FEATURE, message))


Sleep: TypeAlias = Callable[[float], Awaitable[None]]


class Turn:
    """Streams one answer and keeps what arrived."""

    def __init__(  # noqa: PLR0913 -- what one request needs, each named at the call
        self,
        adapter: ProviderAdapter,
        request: Request,
        *,
        number: int,
        next_block: Callable[[], str],
        reader: AnswerReader | None = None,
        sleep: Sleep = anyio.sleep,
        growing: GrowingMessage | None = None,
        used_ids: Collection[str] = (),
        left_out: set[tuple[str, str]] | None = None,
    ) -> None:
        self._adapter = adapter
        self._request = request
        self._number = number
        self._next_block = next_block
        self._reader = reader or AnswerReader()
        self._sleep = sleep
        self._growing = growing
        self._used_ids = set(used_ids)
        self._next_number: dict[str, int] = {}
        self._left_out = set() if left_out is None else left_out
        self._assembler = MessageAssembler()
        self._blocks: list[str] = []
        self._start = AnswerStart()
        self._shown_blocks: dict[str, None] = {}
        """The blocks of text and thinking that were not taken back."""
        self.has_media = False
        """Whether an image, audio or video arrived."""
        self.text_block: str | None = None
        """The id of the newest block of text."""
        plan = request.thinking
        self._is_hidden = plan is not None and not plan.is_visible
        self._is_whole = False
        """Whether the provider cannot stream, so that the whole answer is requested."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the answer."""
        return self._assembler.calls

    @property
    def correction(self) -> str | None:
        """The correction for a call that could not be read."""
        return self._reader.correction

    @property
    def why_no_answer(self) -> chat_events.NoAnswerCause | None:
        """Why the answer has nothing to show; None if it has."""
        message = self.partial()
        if self.has_media or (message is not None and message.text.strip()):
            return None
        if self.calls:
            return "calls"
        content = message.content if message is not None else ()
        return "thinking" if any(isinstance(one, ThinkingContent) for one in content) else "empty"

    def is_cut(self, end: Finish) -> bool:
        """Whether the answer may have ended before the model was done."""
        return self._reader.is_cut(end)

    async def run(self, emit: Emit) -> End:
        """Send the request, with retries, emit deltas as they arrive, and return the end."""
        retries = 0
        while True:
            end = await self._ask(emit)
            if isinstance(end, Finish) or not self._assembler.is_empty:
                return end
            retries += 1
            wait_s = self._wait_before(retries, end.error)
            if wait_s is None:
                return end
            await emit(self._retrying(end.error, retries, wait_s))
            if await self._is_stopped_within(wait_s):
                return Finish("abort")

    def _wait_before(self, retries: int, error: AIError) -> float | None:
        """Return the seconds until the next try, or None; that try may be without streaming."""
        if not self._is_whole and cannot_stream(self._adapter, error):
            self._is_whole = True
            return 0.0
        return wait_before(retries, error)

    def partial(self, metadata: Mapping[str, JsonValue] | None = None) -> Message | None:
        """Return the message as far as it has arrived, or None if nothing has."""
        return self._assembler.message(metadata)

    async def _is_stopped_within(self, seconds: float) -> bool:
        signal = self._request.signal
        with cancelled_by(signal) as scope:
            await self._sleep(seconds)
        return scope.cancelled_caught

    async def _ask(self, emit: Emit) -> End:
        adapter, request = self._adapter, self._request
        if request.thinking is not None and request.thinking.lost_effort is not None:
            await self._tell(_without_level(request.thinking.lost_effort), emit)
        whole = aclosing(whole_answer(adapter, request)) if self._is_whole else None
        async with whole or adapter.chat_stream(request) as events:
            async for event in events:
                if isinstance(event, Finish | ErrorEvent):
                    for late in self._reader.finish(event):
                        await self._take(self._start.feed(late), emit)
                    return event
                if isinstance(event, LeftOut):
                    await self._tell(event, emit)
                    continue
                if isinstance(event, PromptProgress):
                    await emit(self._reading(event))
                    continue
                for read in self._reader.feed(event):
                    await self._take(self._start.feed(read), emit)
        return ErrorEvent(
            AIError(ErrorCode.STREAM_INCOMPLETE, "The answer ended without an end marker.")
        )

    async def _tell(self, event: LeftOut, emit: Emit) -> None:
        """Report a field that was left out of the request, once for each model."""
        known = (self._request.model, event.field)
        if known not in self._left_out:
            self._left_out.add(known)
            instead = f"The answer was requested without `{event.field}`."
            await emit(self._retrying(event.error, instead=instead))

    def _reading(self, event: PromptProgress) -> chat_events.PromptProgress:
        return chat_events.PromptProgress(
            phase="reading", done=event.done, total=event.total, turn=self._number
        )

    def _retrying(
        self, error: AIError, attempt: int = 1, wait_s: float = 0.0, instead: str | None = None
    ) -> chat_events.Retrying:
        return chat_events.Retrying(
            attempt=attempt, wait_s=wait_s, error=error, turn=self._number, instead=instead
        )

    async def _take(self, taken: ProviderEvent, emit: Emit) -> None:
        event = self._with_own_id(taken)
        self._assembler.add(event)
        self.has_media |= isinstance(event, provider_events.MediaDelta) and event.index == 0
        if shown := self._shown(event):
            await emit(shown)
        if self._growing is not None:
            self._growing.take(self._assembler.message)

    def _with_own_id(self, event: ProviderEvent) -> ProviderEvent:
        """Make a call's id unique in the conversation: some servers count from zero each turn."""
        if not isinstance(event, provider_events.ToolCallEvent):
            return event
        given = own_id = event.call.id
        number = self._next_number.get(given, 2)  # a thousand calls may share one id
        while own_id in self._used_ids:
            own_id = f"{given}-{number}"
            number += 1
        self._next_number[given] = number
        self._used_ids.add(own_id)
        return event if own_id == given else replace(event, call=replace(event.call, id=own_id))

    def _shown(self, event: ProviderEvent) -> chat_events.ChatEvent | None:
        number = self._number
        match event:
            case provider_events.TextDelta(delta=delta, index=0) if delta:
                self.text_block = self._shown_block()
                return chat_events.TextDelta(delta=delta, turn=number, block=self.text_block)
            case provider_events.ThinkingDelta(delta=delta, index=0) if delta:
                block, hidden = self._shown_block(), self._is_hidden or None
                return chat_events.ThinkingDelta(
                    delta=delta, turn=number, block=block, hidden=hidden
                )
            case provider_events.Withdrawn(index=0):
                return self._withdrawn()
            case provider_events.Rerouted(error=error, attempt=attempt, instead=instead):
                return self._retrying(error, attempt, instead=instead)
            case provider_events.MediaDelta(index=0):
                return chat_events.MediaDelta(
                    modality=event.modality,
                    data=event.data,
                    step=event.step,
                    total_steps=event.total_steps,
                    turn=number,
                    block=self._block(),
                )
            case _:
                return None

    def _withdrawn(self) -> chat_events.Withdrawn | None:
        blocks, self._shown_blocks, self.text_block = tuple(self._shown_blocks), {}, None
        return chat_events.Withdrawn(blocks=blocks, turn=self._number) if blocks else None

    def _shown_block(self) -> str:
        """Return the block of a piece of text or thinking."""
        block = self._block()
        self._shown_blocks[block] = None
        return block

    def _block(self) -> str:
        while len(self._blocks) < max(1, self._assembler.block_number):
            self._blocks.append(self._next_block())
        return self._blocks[-1]
