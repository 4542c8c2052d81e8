"""Answers of a provider that cannot stream, as a stream of few events."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from ollm_tui.protocol.blocks import (
    AudioContent,
    ImageContent,
    MediaData,
    TextContent,
    ThinkingContent,
    VideoContent,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    MediaDelta,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request, Response


def cannot_stream(adapter: ProviderAdapter, error: AIError) -> bool:
    """Whether this is the error of a provider that gives whole answers only."""
    return adapter.streaming_format == "none" and error.code == ErrorCode.UNSUPPORTED_FEATURE


@asynccontextmanager
async def whole_answer(
    adapter: ProviderAdapter, request: Request
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Ask without streaming; a failure is the one closing event, as in a stream."""
    yield _events(adapter, request)


async def _events(adapter: ProviderAdapter, request: Request) -> AsyncIterator[ProviderEvent]:
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
                yield MediaDelta(modality=block.type, data=b"")  # so that it is spoken of
    for call in response.tool_calls:
        yield ToolCallEvent(call)
    reason = response.finish_reason or ("tool_calls" if response.tool_calls else "stop")
    yield Finish(reason, response.usage)


def _raw(data: MediaData | None) -> bytes:
    """Give the bytes of media; none of what is only linked to, or is no base64."""
    if isinstance(data, bytes):
        return data
    try:
        return base64.b64decode((data or "").rpartition(",")[2], validate=True)
    except ValueError:
        return b""
