"""Gaps in a text filled by an engine of this machine, which is loaded for it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.media_ports import SupportsInfill
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers.base import EndedStream
from ollm_tui.providers.media.inputs import gap_of

E = TypeVar("E")


@asynccontextmanager
async def infill_stream(
    provider: str,
    lease: Callable[[AsyncExitStack, Request], Awaitable[E | None]],
    client: Callable[[E], Awaitable[SupportsInfill]],
    request: Request,
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    """Stream the text between the input and its suffix; entering the block loads the model.

    `lease` keeps the model loaded until its stack closes, and returns None if the request was
    stopped before; `client` is how its engine is asked.

    Raises:
        AIError: what cannot be sent.
    """
    gap_of(request, "num_ctx", "keep_alive")
    async with AsyncExitStack() as stack:
        try:
            engine = await lease(stack, request)
        except AIError as error:
            error.provider = provider
            yield EndedStream(ErrorEvent(error))
            return
        if engine is None:
            yield EndedStream(Finish("abort"))
            return
        # They are about loading the model, which the engine itself does not take.
        options = replace(request.options, num_ctx=None, keep_alive=None)
        adapter = await client(engine)
        yield await stack.enter_async_context(adapter.infill(replace(request, options=options)))
