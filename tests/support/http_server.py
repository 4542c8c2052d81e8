"""A small HTTP/1.1 server on loopback that tests can make misbehave, and that notices who leaves.

It runs in the loop of the test (`serve`), in a thread (`in_thread`), or as a program of its own
(`run_alone`), which prints its address and tells under `/_seen` how many answers it is giving.
"""

import json
import re
import socket
import ssl
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass, field
from http.client import responses
from typing import Any, TypeVar

import anyio
from anyio.abc import AnyByteStream, SocketAttribute, SocketListener, SocketStream
from anyio.from_thread import start_blocking_portal
from anyio.streams.tls import TLSListener

JSON = "application/json"
Made = TypeVar("Made")
Headers = Mapping[str, str]


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, object]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


@dataclass
class Server:
    url: str = ""
    port: int = 0
    received: list[Received] = field(default_factory=list)
    disconnects: list[float] = field(default_factory=list)
    """When a client left in the middle of an answer, by the system's monotonic clock."""
    connections: int = 0
    answering: int = 0
    opened: int = 0

    async def settled(self, within_s: float = 5.0) -> None:
        with anyio.fail_after(within_s):
            while self.answering:
                await anyio.sleep(0.001)


class Left(Exception):
    """The client closed its end, or the script closed ours."""


class ClientLeft(Left):
    """Writing showed that the client closed its end."""


class Reply:
    """The answer to one request, in whatever pieces and states a test wants."""

    def __init__(self, stream: AnyByteStream) -> None:
        self._stream = stream
        self.started = False
        self.chunked = False

    async def start(
        self, status: int = 200, content_type: str = JSON, headers: Headers | None = None
    ) -> None:
        self.chunked = True
        framing = {"content-type": content_type, "transfer-encoding": "chunked"}
        await self.head(status, framing | dict(headers or {}))

    async def write(self, data: bytes) -> None:
        if data:
            await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def whole(
        self,
        body: bytes,
        status: int = 200,
        content_type: str = JSON,
        headers: Headers | None = None,
    ) -> None:
        framing = {"content-type": content_type, "content-length": str(len(body))}
        await self.head(status, framing | dict(headers or {}))
        await self.raw(body)

    async def json(self, value: object, status: int = 200) -> None:
        await self.whole(json.dumps(value).encode(), status)

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are, past the rules of HTTP."""
        try:
            await self._stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            raise ClientLeft from None

    def cut(self) -> None:
        raise Left

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and those headers that have a value."""
        self.started = True
        reason = responses.get(status, "Whatever")
        lines = [f"HTTP/1.1 {status} {reason}", *(f"{k}: {v}" for k, v in headers.items() if v)]
        await self.raw("\r\n".join([*lines, "", ""]).encode())


def asked_part(asked: Headers, size: int, etag: str | None) -> tuple[int, Headers, int, int]:
    """Give status and headers of what is asked for of a file, and where it begins and ends."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.get("range", ""))
    condition = asked.get("if-range")
    first, last = found.groups() if found else ("", "")
    is_another = condition is not None and (condition != etag or etag.startswith("W/"))
    if is_another or not (first or last):
        return 200, {}, 0, size
    start = int(first) if first else max(0, size - int(last))
    end = min(int(last) + 1, size) if first and last else size
    if start >= end:
        return 416, {"content-range": f"bytes */{size}"}, 0, 0
    return 206, {"content-range": f"bytes {start}-{end - 1}/{size}"}, start, end


Handler = Callable[[Received, Reply], Awaitable[None]]


class FakeServer(ABC):
    """A handler whose `answer` gives JSON or bytes, also with a status; None where it replied."""

    async def __call__(self, request: Received, reply: Reply) -> None:
        answer = await self.answer(request, reply)
        body, *how = answer if isinstance(answer, tuple) else (answer,)
        if isinstance(body, bytes):
            await reply.whole(body, *how)
        elif body is not None:
            await reply.json(body, *how)

    @abstractmethod
    async def answer(self, request: Received, reply: Reply) -> object: ...


@asynccontextmanager
async def serve(
    handler: Handler,
    server: Server | None = None,
    *,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
) -> AsyncIterator[Server]:
    """Answer requests with `handler` until the block ends."""
    server = server or Server()

    async def connection(stream: AnyByteStream) -> None:
        server.connections += 1
        server.opened += 1
        try:
            async with stream:
                await _Connection(stream, handler, server).run()
        finally:
            server.connections -= 1

    async with raw_server(connection, tls=tls, port=port) as server.port:
        server.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
        yield server


@asynccontextmanager
async def raw_server(
    connection: Callable[[Any], Awaitable[None]],
    *,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
) -> AsyncIterator[int]:
    """Serve connections by this function; gives the port, and ends them when it is left."""
    # By its address alone: looking a host up takes a thread, and ending the loop another one.
    bound = socket.create_server(("127.0.0.1", port), backlog=1024)
    tcp = await SocketListener.from_socket(bound)
    listener = TLSListener(tcp, tls, standard_compatible=False) if tls else tcp
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, connection, group)
        try:
            yield tcp.extra(SocketAttribute.local_port)
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


@contextmanager
def threaded(served: AbstractAsyncContextManager[Made]) -> Iterator[Made]:
    """Run a server in a thread, for tests that have no event loop."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(served) as made:
        yield made


def in_thread(handler: Handler) -> AbstractContextManager[Server]:
    return threaded(serve(handler))


def run_alone(handler: Handler) -> None:
    """Answer requests until killed; the first line of output is the address."""

    async def with_report(request: Received, reply: Reply) -> None:
        if request.path == "/_seen":
            await reply.json({"answering": server.answering})
        else:
            await handler(request, reply)

    server = Server()

    async def forever() -> None:
        async with serve(with_report, server):
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            await anyio.sleep_forever()

    anyio.run(forever)


class _Connection:
    def __init__(self, stream: AnyByteStream, handler: Handler, server: Server) -> None:
        self._stream, self._handler, self._server = stream, handler, server
        self._buffer = bytearray()
        self._news = anyio.Event()
        self._gone = False
        self._answering: anyio.CancelScope | None = None

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen)
            try:
                while (request := await self._request()) is not None:
                    await self._answer(request)
            except Left:
                pass
            group.cancel_scope.cancel()

    async def _listen(self) -> None:
        try:
            while True:
                self._buffer += await self._stream.receive()
                self._wake()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._gone = True
            self._note_left()
            self._wake()

    def _note_left(self) -> None:
        """Count a client that leaves in mid-answer once, as it is read or written first."""
        if self._answering is not None:
            self._server.disconnects.append(time.monotonic())
            self._answering.cancel()
            self._answering = None

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def _request(self) -> Received | None:
        while b"\r\n\r\n" not in self._buffer:
            if self._gone:
                return None
            if self._buffer and not self._buffer[:1].isalpha():
                await Reply(self._stream).raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return None
            await self._news.wait()
        head, _, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < len(head) + 4 + length:
            if self._gone:
                return None
            await self._news.wait()
        rest = bytes(self._buffer[len(head) + 4 :])
        self._buffer[:] = rest[length:]
        return Received(method, path, headers, rest[:length])

    async def _answer(self, request: Received) -> None:
        self._server.received.append(request)
        self._server.answering += 1
        reply = Reply(self._stream)
        try:
            with anyio.CancelScope() as self._answering:
                await self._handler(request, reply)
                if not reply.started:
                    await reply.whole(b"", 204)
                elif reply.chunked:
                    await reply.raw(b"0\r\n\r\n")
        except ClientLeft:
            self._note_left()
            raise
        finally:
            self._answering = None
            self._server.answering -= 1
        if self._gone:
            raise Left
