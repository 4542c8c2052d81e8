"""Plain connections on loopback, for servers that break the rules of HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream


@asynccontextmanager
async def raw_server(connection: Callable[[SocketStream], Awaitable[None]]) -> AsyncIterator[int]:
    """Serve connections by this function; gives the port, and ends them when it is left."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, connection)
        try:
            yield listener.extra(SocketAttribute.local_port)
        finally:
            group.cancel_scope.cancel()


async def keep_open(stream: SocketStream) -> None:
    """Read what comes, and answer nothing."""
    async with stream:
        with suppress(anyio.BrokenResourceError):
            async for _ in stream:
                pass


def sending(answer: bytes) -> Callable[[SocketStream], Awaitable[None]]:
    """Answer any request with these bytes and close."""

    async def connection(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(answer)

    return connection
