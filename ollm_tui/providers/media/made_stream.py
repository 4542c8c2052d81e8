"""Work that ends with a whole `Response`, as a stream of its steps and then of what was made."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
from anyio.abc import ObjectSendStream

from ollm_tui.protocol.blocks import ImageContent, VideoContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import Modality
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import (
    DrawingProgress,
    ErrorEvent,
    Finish,
    MediaDelta,
    ProviderEvent,
)
from ollm_tui.protocol.request import Request, Response
from ollm_tui.tasks import task_group

Make: TypeAlias = Callable[[Request, ReportDrawing], Awaitable[Response]]


@asynccontextmanager
async def made_stream(
    make: Make, request: Request, modality: Modality
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Stream the steps of the work, then each picture or video under its index."""
    send, receive = anyio.create_memory_object_stream[ProviderEvent](32)
    async with task_group() as group, receive:
        group.start_soon(_make_into, send, make, request, modality)
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()


async def _make_into(
    send: ObjectSendStream[ProviderEvent], make: Make, request: Request, modality: Modality
) -> None:
    async def report(progress: DrawingProgress) -> None:
        step, total = progress.step, progress.total_steps
        if step is not None or progress.preview:
            await send.send(
                MediaDelta(
                    modality=modality, data=progress.preview, step=step or 0, total_steps=total
                )
            )

    async with send:
        try:
            response = await make(request, report)
        except AIError as error:
            is_stop = error.code == ErrorCode.ABORTED
            await send.send(Finish("abort") if is_stop else ErrorEvent(error))
            return
        for index, block in enumerate(response.content):
            match block:
                case ImageContent(data=bytes() as data) | VideoContent(data=bytes() as data):
                    await send.send(MediaDelta(modality=modality, data=data, index=index))
        await send.send(Finish(response.finish_reason or "stop", response.usage))
