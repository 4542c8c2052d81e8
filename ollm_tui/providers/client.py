"""The HTTP client of one server: its proxy, its certificates, its clocks; no redirects."""

import ssl
from collections.abc import Mapping
from urllib.parse import SplitResult, quote

import anyio.to_thread
import httpx

from ollm_tui import __version__
from ollm_tui.config.backends import LARGEST_AUTHORITIES
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import is_plain_local
from ollm_tui.providers.connections import CleanConnections
from ollm_tui.providers.spec import ProviderSpec

_OF_A_QUERY = "%/?:@!$&'()*+,;=~-._"
OWN_QUERY = "own_query"
"""The extension of a request that holds a query which is sent and never logged."""


def own_headers() -> dict[str, str]:
    """Give what every request of this program says: who asks, and that nothing is to be packed."""
    return {"accept-encoding": "identity", "user-agent": f"ollm-tui/{__version__}"}


def sent_query(query: str) -> str:
    """Give a query as it goes over the wire: in ASCII, with what is coded already left so."""
    return quote(query, safe=_OF_A_QUERY)


class _WithQuery(httpx.AsyncBaseTransport):
    """Adds the query of an address to every request: past the client, which logs whole URLs.

    A request may bring a query of its own the same way, as its extension `OWN_QUERY`.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, query: str) -> None:
        self._inner = inner
        self._query = query.encode("ascii")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request with the query in front of its own."""
        own = str(request.extensions.get(OWN_QUERY, "")).encode("ascii")
        if not self._query and not own:
            return await self._inner.handle_async_request(request)
        query = b"&".join(part for part in (self._query, request.url.query, own) if part)
        whole = httpx.Request(
            request.method,
            request.url.copy_with(query=query),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(whole)

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
    """Make the client of a server; `proxy` has been chosen by who knows it.

    Certificates are read in a thread: it takes a while, and their disk may not answer.

    Raises:
        AIError: BAD_REQUEST for a file of authorities that cannot be read.
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
    """Give how to check certificates; plain HTTP to this machine saves loading them all."""
    if spec.ca_file is None and is_plain_local(url):
        return False
    return await anyio.to_thread.run_sync(_context, spec, abandon_on_cancel=True)


def _context(spec: ProviderSpec) -> ssl.SSLContext:
    if spec.ca_file is None:
        return httpx.create_ssl_context()
    try:
        # What stands around the certificates may be a comment in any language.
        text = read_bounded(spec.ca_file, LARGEST_AUTHORITIES).decode("latin-1")
        # Never empty, which would mean the usual authorities.
        return ssl.create_default_context(cadata=text.encode("ascii", "replace").decode() + "\n")
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The authority file {spec.ca_file} of provider {spec.name} cannot be read.",
            hint="ca_file must name a PEM file.",
            provider=spec.name,
        ) from error
