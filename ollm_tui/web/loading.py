"""One page over HTTP: a GET without credentials, to an address that was checked, within limits.

There is no proxy: it would look up the name itself, so that nothing could be checked here.
"""

import ssl
from collections.abc import Iterable, Mapping, Sequence
from email.message import Message
from typing import Final

import anyio
import anyio.to_thread
import httpcore

from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.web.addresses import (
    AddressProblem,
    Networks,
    Resolve,
    WebAddress,
    check_address,
    look_up,
    numeric_address,
)
from ollm_tui.web.page import LOADING_S, MAX_REDIRECTS, LoadedPage, LoadFailure, Unpacking

CONNECT_S: Final = 4.0
CLOSE_S: Final = 0.5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_ACCEPT: Final = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1"


def request_headers(address: WebAddress, accept: str = _ACCEPT) -> Mapping[str, str]:
    """Return all headers of a request."""
    return {
        "Host": address.netloc,
        "User-Agent": "ollm-tui",
        "Accept": accept,
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked, whatever the name stands for by now."""

    def __init__(self, addresses: Sequence[str], network: httpcore.AsyncNetworkBackend) -> None:
        self._addresses = addresses
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- as the library has it
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        del host, timeout, local_address, socket_options
        problem: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            try:
                return await self._network.connect_tcp(address, port, CONNECT_S)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
        raise problem

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 -- as the library has it
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no page is there."""
        del path, timeout, socket_options
        raise httpcore.ConnectError("no address")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)


class PageLoader:
    """Loads pages; private networks only as far as they are allowed."""

    def __init__(
        self,
        allowed: Networks = (),
        *,
        resolve: Resolve = look_up,
        network: httpcore.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
        within_s: float = LOADING_S,
    ) -> None:
        self.allowed = allowed
        self._resolve = resolve
        self._network = network or httpcore.AnyIOBackend()
        self._tls = tls
        self._within_s = within_s

    async def load(self, address: WebAddress, *, accept: str = _ACCEPT) -> LoadedPage:
        """Return a page, or the part that came in time.

        Raises:
            LoadFailure: nothing came, or nothing may be asked for.
        """
        arrived: list[LoadedPage] = []
        with anyio.move_on_after(self._within_s):
            return await self._follow(address, accept, arrived)
        if not arrived:
            raise LoadFailure(f"{address.host} did not answer within {self._within_s:g} s.")
        arrived[-1].stopped = f"after {self._within_s:g} s"
        return arrived[-1]

    async def _follow(
        self, address: WebAddress, accept: str, arrived: list[LoadedPage]
    ) -> LoadedPage:
        """Follow redirects that stay with the host; each one is checked anew."""
        at = address
        for _hop in range(MAX_REDIRECTS + 1):
            page, location = await self._get(at, accept, arrived)
            if location is None:
                return page
            try:
                at = at.target_of(location)
            except AddressProblem as problem:
                raise LoadFailure(f"It redirects to no page: {problem}") from None
            if not at.is_covered_by(address):
                page.elsewhere = at.url
                return page
        raise LoadFailure(f"Stopped: over {MAX_REDIRECTS} redirects.")

    async def checked(self, address: WebAddress) -> Sequence[str]:
        """Look up a host once, and check every address that it stands for.

        Raises:
            LoadFailure: it has none, or one that may not be reached.
        """
        number = numeric_address(address.host)
        try:
            numbers = [number] if number else await self._resolve(address.host, address.port)
            for one in numbers:
                check_address(one, self.allowed)
        except AddressProblem as problem:
            raise LoadFailure(str(problem)) from None
        except (OSError, UnicodeError):
            raise LoadFailure(f"{address.host} was not found.") from None
        if not numbers:
            raise LoadFailure(f"{address.host} was not found.")
        return numbers

    async def _get(
        self, address: WebAddress, accept: str, arrived: list[LoadedPage]
    ) -> tuple[LoadedPage, str | None]:
        """Send one request; return the page, and where it redirects to."""
        network = CheckedNetwork(await self.checked(address), self._network)
        if address.scheme == "https" and self._tls is None:
            self._tls = await anyio.to_thread.run_sync(_make_tls, abandon_on_cancel=True)
        pool = httpcore.AsyncConnectionPool(
            self._tls, max_connections=1, http2=False, network_backend=network
        )
        where = httpcore.URL(
            scheme=address.scheme, host=address.host, port=address.port, target=address.target
        )
        try:
            async with pool.stream(
                "GET", where, headers=[*request_headers(address, accept).items()]
            ) as response:
                headers = _read_headers(response.headers)
                page = _page_of(address, response.status, headers)
                arrived.append(page)
                if response.status in _REDIRECTS and "location" in headers:
                    return page, headers["location"]
                body = Unpacking(headers.get("content-encoding", ""), page)
                async for piece in response.aiter_stream():
                    if not body.take(piece):
                        break
                return page, None
        except httpcore.TimeoutException:
            raise LoadFailure(f"{address.host} did not answer in time.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise LoadFailure(f"{address.host} cannot be reached: {_reason(error)}.") from None
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await pool.aclose()


def _read_headers(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """Return headers by their lower-case names; of two alike, the first."""
    read: dict[str, str] = {}
    for name, value in headers:
        read.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return read


def _page_of(address: WebAddress, status: int, headers: Mapping[str, str]) -> LoadedPage:
    content = Message()
    content["content-type"] = headers.get("content-type", "")[:200]
    charset = content.get_param("charset", "")
    return LoadedPage(
        address,
        status,
        content.get_content_type() if headers.get("content-type") else "",
        charset if isinstance(charset, str) else "",
    )


def _make_tls() -> ssl.SSLContext:
    # httpx finds the authorities as every other request of the program does
    import httpx

    return httpx.create_ssl_context()


def _reason(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not valid ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return "it speaks no TLS that ollm knows"
        if isinstance(cause, OSError) and cause.errno:
            return why_unreadable(cause)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpcore.ProtocolError):
        return "it does not speak HTTP"
    return "the connection failed"
