"""Files and replies over HTTP: a child task reads each response, redirects are followed here.

The token goes to the origin of the request and to no other; a query bypasses what logs URLs.
"""

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from http.cookiejar import DefaultCookiePolicy
from urllib.parse import urlsplit

import anyio
import httpx
from anyio.abc import TaskGroup

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched, FetchRequest
from ollm_tui.providers.base_url import is_plain_local, url_secrets, userinfo
from ollm_tui.providers.client import OWN_QUERY, make_client, own_headers, sent_query
from ollm_tui.providers.http_errors import Head
from ollm_tui.providers.http_faults import LIMIT, NO_FIRST_BYTE, STALLED, UNSENDABLE, Endpoint
from ollm_tui.providers.proxy import proxy_for
from ollm_tui.providers.redirects import Hop, first_hop, is_redirect, next_hop, too_many_redirects
from ollm_tui.providers.response_reader import ResponseReader, in_time
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.tasks import task_group

MAX_REDIRECTS = 5
MAX_HEAD_BYTES = 64 * 1024
CLOSE_S = 2.0
_NO_FIRST_BYTE = replace(NO_FIRST_BYTE, hint="The server may be busy: try again.", retryable=True)
_STALLED = replace(STALLED, hint="What arrived is kept; try again for the rest.", retryable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchClocks:
    """How long a server may take, in seconds."""

    connect_s: float = 5
    first_byte_s: float = 60
    """Until the head of a response, at each redirect anew."""
    idle_s: float = 60
    """Between two chunks of the body."""


class HttpFetcher:
    """Fetches files from any server; implements `protocol.fetch.Fetcher`."""

    def __init__(self, clocks: FetchClocks | None = None) -> None:
        self._clocks = clocks or FetchClocks()
        self._clients: dict[tuple[str | None, bool], httpx.AsyncClient] = {}
        self._opening = anyio.Lock(fast_acquire=True)

    @asynccontextmanager
    async def fetch(self, request: FetchRequest) -> AsyncIterator[Fetched]:
        """Send a request and follow redirects; one is returned only if none should be followed."""
        async with task_group() as group:
            answer = await self._follow(group, request)
            try:
                yield answer
            finally:
                answer.dispose()

    async def aclose(self) -> None:
        """Close all connections; a later request opens new ones."""
        clients, self._clients = self._clients, {}
        with anyio.move_on_after(CLOSE_S, shield=True):
            for client in clients.values():
                await client.aclose()

    async def _follow(self, group: TaskGroup, request: FetchRequest) -> "_Response":
        hop = first_hop(request.url)
        wanted = min(request.redirects, MAX_REDIRECTS)
        first: Mapping[str, str] | None = None
        for followed in range(wanted + 1):
            proxy = proxy_for(hop.url, None, "")
            endpoint = hop.endpoint(_secrets(request, hop), proxy)
            reader = await self._start(group, request, hop, endpoint, proxy)
            try:
                head = await self._head(reader, endpoint)
            except BaseException:
                reader.dispose()
                raise
            first = head.headers if first is None else first
            location = head.headers.get("location")
            if not wanted or not is_redirect(head.status, location):
                return _Response(reader, head, first, hop, endpoint, self._clocks)
            reader.dispose()
            if followed < wanted:
                hop = next_hop(hop, location or "", endpoint)
        raise too_many_redirects(endpoint, wanted)

    async def _start(
        self,
        group: TaskGroup,
        request: FetchRequest,
        hop: Hop,
        endpoint: Endpoint,
        proxy: str | None,
    ) -> ResponseReader:
        headers = own_headers() | {name.lower(): value for name, value in request.headers.items()}
        if hop.sends_credentials:
            headers |= _identity(request)
        client = await self._client(hop, proxy)
        query = sent_query(hop.parts.query)
        extensions = {OWN_QUERY: query, "timeout": client.timeout.as_dict()}
        try:
            sent = httpx.Request("GET", hop.url, headers=headers, extensions=extensions)
        except (httpx.InvalidURL, ValueError) as error:
            raise endpoint.fault(UNSENDABLE) from error
        reader = ResponseReader(client, sent, endpoint, decodes=False)
        group.start_soon(reader.run)
        return reader

    async def _head(self, reader: ResponseReader, endpoint: Endpoint) -> Head:
        limit = self._clocks.first_byte_s
        try:
            return _bounded(await in_time(reader.read_head, limit), endpoint)
        except TimeoutError:
            raise endpoint.fault(_NO_FIRST_BYTE, seconds=limit) from None

    async def _client(self, hop: Hop, proxy: str | None) -> httpx.AsyncClient:
        way = proxy, is_plain_local(hop.url)
        async with self._opening:  # concurrent requests read the certificates once
            if way not in self._clients:
                self._clients[way] = await self._make_client(hop, proxy)
            return self._clients[way]

    async def _make_client(self, hop: Hop, proxy: str | None) -> httpx.AsyncClient:
        spec = ProviderSpec(name="", kind="fetch", connect_timeout_s=self._clocks.connect_s)
        try:
            client = await make_client(spec, urlsplit(hop.url), headers={}, auth=None, proxy=proxy)
        except OSError as error:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "The certificates of the authorities cannot be read.",
                hint="SSL_CERT_FILE must name a PEM file.",
            ) from error
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        return client


class _Response(AsyncIterator[bytes]):
    """A response whose body is read by a child task; implements `protocol.fetch.Fetched`."""

    def __init__(
        self,
        reader: ResponseReader,
        head: Head,
        first_headers: Mapping[str, str],
        hop: Hop,
        endpoint: Endpoint,
        clocks: FetchClocks,
    ) -> None:
        self._reader = reader
        self._endpoint = endpoint
        self._idle_s = clocks.idle_s
        self.status = head.status
        self.url = hop.url
        self.headers = head.headers
        self.first_headers = first_headers

    def pieces(self) -> AsyncIterator[bytes]:
        """Return the chunks of the body; the time limit counts only while the caller waits."""
        return self

    def dispose(self) -> None:
        """Close the connection and discard what has not been read."""
        self._reader.dispose()

    async def __anext__(self) -> bytes:
        try:
            chunk = await in_time(self._reader.read, self._idle_s)
        except TimeoutError:
            raise self._endpoint.fault(_STALLED, seconds=self._idle_s) from None
        if not chunk:
            raise StopAsyncIteration
        return chunk


def _identity(request: FetchRequest) -> dict[str, str]:
    if request.token is not None:
        return {"authorization": f"Bearer {request.token}"}
    user = userinfo(request.url)
    if user is None:
        return {}
    return {"authorization": "Basic " + base64.b64encode(":".join(user).encode()).decode()}


def _bounded(head: Head, endpoint: Endpoint) -> Head:
    size = sum(len(name) + len(value) for name, value in head.headers.items())
    if size > MAX_HEAD_BYTES:
        raise endpoint.fault(LIMIT, limit=f"headers of more than {MAX_HEAD_BYTES // 1024} KB")
    return head


def _secrets(request: FetchRequest, hop: Hop) -> tuple[str, ...]:
    return request.token or "", *url_secrets(request.url), *url_secrets(hop.parts.geturl())
