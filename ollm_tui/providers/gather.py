"""A whole `Response` from a stream: what `invoke` gives when nobody wants to watch."""

from collections.abc import AsyncIterator

from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import Response


async def gather(stream: ProviderStream) -> Response:
    """Read a stream to its end.

    Raises:
        AIError: what the stream ended with, or ABORTED.
    """
    assembler = MessageAssembler()
    async with stream as events:
        finish = await _last(events, assembler)
    if finish.reason == "abort":
        raise AIError(ErrorCode.ABORTED, "The request was stopped.")
    message = assembler.message()
    return Response(
        content=message.content if message else (),
        finish_reason=finish.reason,
        usage=finish.usage,
        tool_calls=assembler.calls,
        metadata={} if finish.raw_reason is None else {"raw_reason": finish.raw_reason},
    )


async def _last(events: AsyncIterator[ProviderEvent], assembler: MessageAssembler) -> Finish:
    async for event in events:
        match event:
            case ErrorEvent(error=error):
                raise error
            case Finish():
                return event
            case _:
                assembler.add(event)
    raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer has no end.")
