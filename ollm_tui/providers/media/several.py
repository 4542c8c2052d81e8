"""Several answers to one request: `n` of `extra_body`, with every provider that streams answers.

Each answer is a request of its own, since few protocols have a field for it and none of them says
how such answers end. They are asked for at the same time, and a seed counts up.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, TypeAlias

import anyio
from anyio.abc import ObjectSendStream

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import ProviderEvent
from ollm_tui.protocol.request import Request, Response
from ollm_tui.tasks import task_group

MAX_ANSWERS: Final = 16
BUFFERED_EVENTS: Final = 32
Ask: TypeAlias = Callable[[Request], ProviderStream]
Gather: TypeAlias = Callable[[ProviderStream], Awaitable[Response]]


async def answer_request(ask: Ask, request: Request, gather: Gather) -> Response | ProviderStream:
    """Return the answer, or with `request.stream` its stream; of several, all of them.

    In a stream each has its own end, and its events have its index; a `Response` is the first one
    with the `others`.

    Raises:
        AIError: any failure; BAD_REQUEST for a number of answers beyond the limits.
    """
    requests = _requests(request)
    if request.stream:
        return ask(request) if len(requests) == 1 else _streams(ask, requests)
    if len(requests) == 1:
        return await gather(ask(request))
    responses: dict[int, Response] = {}

    async def get(index: int) -> None:
        responses[index] = await gather(ask(requests[index]))

    async with task_group() as group:
        for index in range(len(requests)):
            group.start_soon(get, index)
    first, *others = (responses[index] for index in range(len(requests)))
    return replace(first, others=tuple(others))


def _requests(request: Request) -> Sequence[Request]:
    """Return a request for each answer."""
    options, body = request.options, dict(request.options.extra_body or {})
    count = body.pop("n", None)
    if count is None or (count == 1 and not isinstance(count, bool)):
        return (request,)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_ANSWERS:
        raise AIError(ErrorCode.BAD_REQUEST, f"`n` takes a whole number from 1 to {MAX_ANSWERS}.")
    seeds = [None if options.seed is None else options.seed + number for number in range(count)]
    return [
        replace(request, options=replace(options, seed=seed, extra_body=body or None))
        for seed in seeds
    ]


@asynccontextmanager
async def _streams(
    ask: Ask, requests: Sequence[Request]
) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
    send, receive = anyio.create_memory_object_stream[ProviderEvent](BUFFERED_EVENTS)
    async with task_group() as group, receive:
        async with send:
            for index, request in enumerate(requests):
                group.start_soon(_pass_on, ask, request, index, send.clone())
        try:
            yield receive
        finally:
            group.cancel_scope.cancel()


async def _pass_on(
    ask: Ask, request: Request, index: int, send: ObjectSendStream[ProviderEvent]
) -> None:
    async with send, ask(request) as events:
        async for event in events:
            await send.send(replace(event, index=index))
