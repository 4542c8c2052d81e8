"""A whole `Response` from a stream: what `invoke` gives when nobody wants to watch."""

from collections.abc import AsyncIterator

from ollm_tui.decode.assembler import MessageAssembler
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, LeftOut, ProviderEvent
from ollm_tui.protocol.request import Response


async def gather(stream: ProviderStream) -> Response:
    """Read a stream to its end.

    Raises:
        AIError: what the stream ended with, or ABORTED.
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
        metadata=_metadata(finish, left_out),
    )


def _metadata(finish: Finish, left_out: list[JsonValue]) -> JsonObject:
    found: JsonObject = {}
    if finish.raw_reason is not None:
        found["raw_reason"] = finish.raw_reason
    if left_out:
        found["left_out"] = left_out
    return found


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
