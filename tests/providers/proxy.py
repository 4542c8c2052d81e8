"""A real little proxy on loopback: CONNECT and absolute-form; names are mapped by the test."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream, SocketStream

from tests.support.http_server import raw_server


@dataclass
class Proxy:
    url: str = ""
    heads: list[str] = field(default_factory=list)
    """The head of every request as it came, CONNECT among them."""
    asked: list[str] = field(default_factory=list)
    """`METHOD host:port` of every request."""


@asynccontextmanager
async def serve_proxy(
    hosts: Mapping[str, int], *, authorization: str | None = None, refusal: bytes | None = None
) -> AsyncIterator[Proxy]:
    """Pass requests for the names in `hosts` on to these ports of loopback until the block ends.

    With `authorization`, who does not send it is asked for it; `refusal` answers everybody.
    """
    proxy = Proxy()

    async def connection(stream: SocketStream) -> None:
        async with stream:
            try:
                await _serve(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def _serve(stream: SocketStream) -> None:
        head, rest = await _head(stream)
        proxy.heads.append(head)
        method, target, _ = head.split("\r\n", 1)[0].split(" ", 2)
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        place = f"{parts.hostname}:{parts.port or 80}"
        proxy.asked.append(f"{method} {place}")
        if refusal is not None:
            await stream.send(refusal)
            return
        if authorization is not None and f"proxy-authorization: {authorization}" not in head:
            await stream.send(
                b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"
            )
            return
        if place not in hosts:
            await stream.send(b"HTTP/1.1 502 No such host\r\ncontent-length: 0\r\n\r\n")
            return
        async with await anyio.connect_tcp("127.0.0.1", hosts[place]) as server:
            if method == "CONNECT":
                await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                path = parts.path + (f"?{parts.query}" if parts.query else "")
                await server.send(_forwarded(head, method, path) + rest)
            await _both_ways(stream, server)

    async with raw_server(connection) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy


async def _head(stream: ByteStream) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    named = [f"{line.partition(':')[0].lower()}:{line.partition(':')[2]}" for line in lines[1:]]
    return "\r\n".join([lines[0], *named]), rest


def _forwarded(head: str, method: str, path: str) -> bytes:
    """Give a request as a proxy sends it on: without what was meant for the proxy."""
    lines = [line for line in head.split("\r\n")[1:] if not line.startswith("proxy-")]
    return "\r\n".join([f"{method} {path or '/'} HTTP/1.1", *lines, "", ""]).encode("latin-1")


async def _both_ways(one: ByteStream, other: ByteStream) -> None:
    async with anyio.create_task_group() as group:

        async def carry(source: ByteStream, sink: ByteStream) -> None:
            try:
                while True:
                    await sink.send(await source.receive())
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                group.cancel_scope.cancel()

        group.start_soon(carry, one, other)
        group.start_soon(carry, other, one)
