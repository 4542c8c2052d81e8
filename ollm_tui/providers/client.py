"""The HTTP client of one server: connections, proxy, certificates and time limits; no redirects.

A connection that got more than its reply is closed: the rest would be read as the next reply.
"""

import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from urllib.parse import SplitResult, quote

import anyio
import anyio.to_thread
import h11
import httpcore
import httpx

from ollm_tui import __version__
from ollm_tui.config.backends import LARGEST_AUTHORITIES
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import is_plain_local
from ollm_tui.providers.spec import ProviderSpec

_OF_A_QUERY = "%/?:@!$&'()*+,;=~-._"
OWN_QUERY = "own_query"
"""Request extension with a query that is sent but never logged."""
HANG_UP = "hang_up"
"""Response extension with a function that tells the server at once that no more is wanted."""


def own_headers() -> dict[str, str]:
    """Return the headers of every request: the user agent, and that nothing is to be compressed."""
    return {"accept-encoding": "identity", "user-agent": f"ollm-tui/{__version__}"}


def sent_query(query: str) -> str:
    """Percent-encode a query, leaving encoded characters as they are."""
    return quote(query, safe=_OF_A_QUERY)


class _WithQuery(httpx.AsyncBaseTransport):
    """Adds the base URL's query and `OWN_QUERY` behind the client, which logs whole URLs."""

    def __init__(self, inner: httpx.AsyncBaseTransport, query: str) -> None:
        self._inner = inner
        self._query = query.encode("ascii")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request with the query in front of its own."""
        own = str(request.extensions.get(OWN_QUERY, "")).encode("ascii")
        if not self._query and not own:
            return await self._inner.handle_async_request(request)
        query = b"&".join(part for part in (self._query, request.url.query, own) if part)
        full_request = httpx.Request(
            request.method,
            request.url.copy_with(query=query),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(full_request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


async def make_client(
    spec: ProviderSpec,
    url: SplitResult,
    *,
    headers: Mapping[str, str],
    auth: httpx.Auth | None,
    proxy: str | None,
) -> httpx.AsyncClient:
    """Make the client of a server, with a proxy that the caller has chosen.

    Certificates are read in a thread, because that is slow and the disk may not respond.

    Raises:
        AIError: BAD_REQUEST if the file of authorities cannot be read.
    """
    verify = await _verification(spec, url.geturl())
    transport = CleanConnections(
        verify=verify, proxy=None if proxy is None else _proxy(proxy, verify)
    )
    return httpx.AsyncClient(
        auth=auth,
        headers=headers,
        transport=_WithQuery(transport, sent_query(url.query)),
        trust_env=False,  # the proxy is chosen; the variables of certificates are in `verify`
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=spec.connect_timeout_s),
    )


def _proxy(url: str, verify: ssl.SSLContext | bool) -> httpx.Proxy:
    context = verify if isinstance(verify, ssl.SSLContext) else None
    return httpx.Proxy(url, ssl_context=context if url.startswith("https:") else None)


async def _verification(spec: ProviderSpec, url: str) -> ssl.SSLContext | bool:
    """Return how to verify certificates; plain HTTP to this machine does not load any."""
    if spec.ca_file is None and is_plain_local(url):
        return False
    return await anyio.to_thread.run_sync(_context, spec, abandon_on_cancel=True)


def _context(spec: ProviderSpec) -> ssl.SSLContext:
    if spec.ca_file is None:
        return httpx.create_ssl_context()
    try:
        # The text around the certificates may be in any language.
        text = read_bounded(spec.ca_file, LARGEST_AUTHORITIES).decode("latin-1")
        # Never empty, which would mean the default authorities.
        return ssl.create_default_context(cadata=text.encode("ascii", "replace").decode() + "\n")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The authority file {spec.ca_file} of provider {spec.name} cannot be read.",
            hint="ca_file must name a PEM file.",
            provider=spec.name,
        ) from error


PIECE_BYTES = 64 * 1024
MOST_BYTES = 1024 * 1024
"""More than the event loop reads at once, so that nothing stays unseen in anyio's queue."""
LAST_LOOK_S = 0.001
"""How long a TLS stream is read for bytes past the reply, because only reading finds them."""
GATHER_S = 0.012
"""Time between two reads from a slow server, in which what it sends gathers: less than a frame."""
BUSY_BYTES = 16 * 1024
"""A server that sends so much between two reads is fast, and is read without a pause."""
STALE_S = 1.0
"""How soon after a request an end is taken as one that was on its way when it was sent."""


class WatchedStream(httpcore.AsyncNetworkStream):
    """A network stream that knows what arrived before it was due and what was not requested.

    `close_idle` closes the connections beside it that wait for a request. With `gathers` set, at
    most one read in `GATHER_S` takes what a slow server sends, until the next request: each read
    costs far more than what it reads.
    """

    def __init__(
        self,
        inner: httpcore.AsyncNetworkStream,
        close_idle: Callable[[], Awaitable[None]],
        *,
        is_secure: bool = False,
    ) -> None:
        self._inner = inner
        self._close_idle = close_idle
        self._is_secure = is_secure
        self._unread = b""
        self._is_sending = False
        self._requests = 0
        self._sent_at = 0.0
        self._has_reply = False
        self._is_early = False
        self.gathers = False
        self._may_read_at = 0.0
        self._pause: anyio.CancelScope | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether the reply began before its request was sent, and may belong to an earlier one."""
        return self._is_early and self._requests > 1

    async def is_drained(self) -> bool:
        """Whether the last exchange was in order and left nothing to read."""
        if self._is_early or self._unread:
            return False
        if not self._is_secure:
            return True
        # Records may wait in buffers of the TLS layer, where only reading finds them.
        with anyio.move_on_after(LAST_LOOK_S) as look, suppress(httpcore.NetworkError):
            await self._inner.read(1)
        return look.cancelled_caught

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as httpcore has it
        """Return received bytes; what exceeds `max_bytes` is kept for the next call.

        Raises:
            ConnectionNotAvailable: The server seems to have closed the idle connection before.
        """
        self._is_sending = False
        try:
            data = self._unread or await self._gathered(timeout)
        except httpcore.ReadError:
            await self._refuse_if_stale()
            raise
        if not data:
            await self._refuse_if_stale()
        self._has_reply = True
        self._unread = data[max_bytes:]
        return data[:max_bytes]

    def hurry(self) -> None:
        """Read at once from now on: nothing but the end of the reply is to come."""
        self.gathers = False
        if self._pause is not None:
            self._pause.cancel()

    def hang_up(self) -> None:
        """Send the end of the connection at once.

        Closing takes another turn of the event loop, in which a frame may be drawn.
        """
        connection: socket.socket | None = self._inner.get_extra_info("socket")
        if connection is not None:
            with suppress(OSError):  # the server was faster
                connection.shutdown(socket.SHUT_WR)

    async def _gathered(self, timeout: float | None) -> bytes:  # noqa: ASYNC109 - as above
        if not self.gathers:
            return await self._inner.read(MOST_BYTES, timeout)
        if (pause := self._may_read_at - time.monotonic()) > 0:
            with anyio.CancelScope() as self._pause:
                await anyio.sleep(pause)
        data = await self._inner.read(MOST_BYTES, timeout)
        self._may_read_at = time.monotonic() + (GATHER_S if len(data) < BUSY_BYTES else 0.0)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        """Send bytes, checking before each piece whether the reply has begun already.

        Raises:
            ConnectionNotAvailable: There are unread bytes before a further request is sent.
        """
        for start in range(0, len(buffer), PIECE_BYTES):
            self._look()
            self._sent_at = time.monotonic()
            await self._inner.write(buffer[start : start + PIECE_BYTES], timeout)

    async def _refuse_if_stale(self) -> None:
        """Have httpcore send the request again if it probably never reached the server.

        llama.cpp, for one, closes after each streamed reply without announcing it. But a server may
        close because of the request, so it is sent again only once: with no idle connection left
        httpcore opens a new one, on which nothing is sent again.
        """
        is_soon = time.monotonic() - self._sent_at < STALE_S
        if self._requests > 1 and not self._has_reply and is_soon:
            await self._close_idle()
            raise httpcore.ConnectionNotAvailable

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> httpcore.AsyncNetworkStream:
        """Return the stream on top of a TLS session on this one."""
        secure = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        return WatchedStream(secure, self._close_idle, is_secure=True)

    def get_extra_info(self, info: str) -> object:
        """Return facts about the connection."""
        return self._inner.get_extra_info(info)

    def _look(self) -> None:
        is_first = not self._is_sending
        if is_first:
            self._is_sending = True
            self._has_reply = self.gathers = False
            self._requests += 1
        if self._is_secure and self._requests == 1:
            return  # session tickets come unasked
        if self._inner.get_extra_info("is_readable"):
            if is_first and self._requests > 1:
                raise httpcore.ConnectionNotAvailable
            self._is_early = True


class WatchedBackend(httpcore.AnyIOBackend):
    """Opens connections as `WatchedStream`s."""

    def __init__(self, close_idle: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._close_idle = close_idle

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a server."""
        stream = await super().connect_tcp(host, port, timeout, local_address, socket_options)
        return WatchedStream(stream, self._close_idle)


class EarlyReply(httpx.RemoteProtocolError):
    """The reply began before its request was sent, so it may belong to an earlier request."""


class CleanConnections(httpx.AsyncHTTPTransport):
    """An HTTP transport that closes a connection after a reply that was not in order."""

    def __init__(self, *, verify: ssl.SSLContext | bool, proxy: httpx.Proxy | None) -> None:
        super().__init__(
            verify=verify,
            proxy=proxy,
            trust_env=False,  # proxy and certificates are chosen by who knows them
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=4),
        )
        # httpx has no parameter for it. Without it no stream is a WatchedStream, and every
        # connection is closed after one reply.
        self._pool._network_backend = WatchedBackend(self._close_idle)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; closing its response decides whether the connection is kept.

        Raises:
            EarlyReply: On a connection that has carried other requests; a refusal may come early.
        """
        response = await super().handle_async_request(request)
        connection = response.extensions.get("network_stream")
        body = response.stream = _ReplyBody(response.stream, connection)
        response.extensions[HANG_UP] = body.hang_up
        if (
            isinstance(connection, WatchedStream)
            and connection.is_doubtful
            and not response.is_error
        ):
            await response.stream.aclose()
            raise EarlyReply("The reply began before the request was sent.", request=request)
        return response

    async def _close_idle(self) -> None:
        assert isinstance(self._pool, httpcore.AsyncConnectionPool)
        for connection in self._pool.connections:
            if connection.is_idle():  # asked of each in its turn: a request may take it meanwhile
                await connection.aclose()


class _ReplyBody(httpx.AsyncByteStream):
    """The body of a reply; closing it closes the connection unless that can be reused."""

    def __init__(self, inner: object, connection: object) -> None:
        assert isinstance(inner, httpx.AsyncByteStream)
        self._inner = inner
        self._connection = (
            connection if isinstance(connection, httpcore.AsyncNetworkStream) else None
        )
        self._is_closing = False

    def hang_up(self) -> None:
        """Tell the server that no more is wanted; a no-op once another request may be sent."""
        if isinstance(self._connection, WatchedStream) and not self._is_closing:
            self._connection.hang_up()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._inner)

    async def aclose(self) -> None:
        self._is_closing = True
        with anyio.CancelScope(shield=True):
            try:
                if self._connection is not None and not await self._is_clean():
                    await self._connection.aclose()
            finally:
                await self._inner.aclose()

    async def _is_clean(self) -> bool:
        if not isinstance(self._connection, WatchedStream):
            return False
        parser = _parser(self._inner)
        if parser is None or parser.trailing_data != (b"", False):
            return False
        return parser.their_state is h11.DONE and await self._connection.is_drained()


def _parser(stream: object) -> h11.Connection | None:
    """Return the parser of a reply, which holds what came after it, or None if httpcore changed."""
    for name in ("_httpcore_stream", "_stream", "_connection", "_h11_state"):
        stream = getattr(stream, name, None)
    return stream if isinstance(stream, h11.Connection) else None
