"""The HTTP client of one server: connections, proxy, certificates and time limits; no redirects.

A connection that got more than its reply is closed: the rest would be read as the next reply.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from urllib.parse import SplitResult, quote

import anyio
import anyio.to_thread
import h11
import httpcore
import httpx

from ollm_tui import __version__
from ollm_tui.config.backends import MAX_AUTHORITIES_BYTES
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import is_plain_local
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.watched_stream import WatchedStream

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
        text = read_bounded(spec.ca_file, MAX_AUTHORITIES_BYTES).decode("latin-1")
        # Never empty, which would mean the default authorities.
        return ssl.create_default_context(cadata=text.encode("ascii", "replace").decode() + "\n")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The authority file {spec.ca_file} of provider {spec.name} cannot be read.",
            hint="ca_file must name a PEM file.",
            provider=spec.name,
        ) from error


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
