"""Secrets that are planted, and every form in which they might turn up again."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

import anyio
from anyio.abc import SocketStream

from tests.support.http_server import raw_server


def coded(secret: str) -> set[bytes]:
    """Give every form in which a secret may have been written."""
    data = secret.encode()
    forms = {data, quote(secret, safe="").encode(), data[::-1]}
    for before in range(3):
        whole = base64.b64encode(b"x" * before + data + b"x")
        forms.add(whole[4 : 4 + len(data)])
    return forms


@dataclass
class Ear:
    """A server that nobody gave a key to; it writes down every byte."""

    port: int = 0
    received: bytearray = field(default_factory=bytearray)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"


@asynccontextmanager
async def listening() -> AsyncIterator[Ear]:
    """Answer whatever is asked with an empty object until the block ends."""
    ear = Ear()

    async def connection(stream: SocketStream) -> None:
        async with stream:
            try:
                while True:
                    ear.received += await stream.receive()
                    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async with raw_server(connection) as port:
        ear.port = port
        yield ear
