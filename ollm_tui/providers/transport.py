"""The HTTP client of one adapter, for streams and for small JSON replies.

Requests go only to the server's own origin and follow no redirects, so that a key stays there.
"""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import anyio
import httpx
from anyio import to_thread
from anyio.abc import TaskGroup

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonValue
from ollm_tui.providers.base_url import join, shown_address, url_secrets, userinfo
from ollm_tui.providers.body.content import encoded_body
from ollm_tui.providers.body.error_body import is_markup
from ollm_tui.providers.client import make_client, own_headers
from ollm_tui.providers.http_errors import http_error
from ollm_tui.providers.http_faults import LIMIT, SLOW, UNSENDABLE, WEB_PAGE, Endpoint
from ollm_tui.providers.proxy import proxy_for
from ollm_tui.providers.response_reader import ResponseReader
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.tasks import task_group

MAX_REPLY_BYTES = 16 * 1024 * 1024
AT_ONCE_BYTES = 1024 * 1024
"""What is parsed on the event loop; more is parsed in a thread."""
MAX_ERROR_BYTES = 256 * 1024
CLOSE_S = 2.0
COUNT_S = 1.0
"""How long a server may count tokens: a prompt waits for it, and an estimate can replace it."""


class Transport:
    """The connections to one server.

    `endpoint` is how error messages name it, without its address; `keys` are the headers with
    credentials.
    """

    def __init__(
        self, spec: ProviderSpec, url: str, endpoint: Endpoint, keys: Mapping[str, str]
    ) -> None:
        self.url = _without_secrets(url)
        self._address = urlsplit(url)
        self.spec = spec
        self._problem = spec.problem
        self._proxy: str | None = None
        try:
            self._proxy = proxy_for(url, spec.proxy, spec.name)
        except AIError as error:
            self._problem = self._problem or error
        self.endpoint = replace(
            endpoint,
            address=shown_address(url),
            proxy=shown_address(self._proxy) if self._proxy else "",
            has_key=bool(spec.api_key or spec.headers),
            secrets=_secrets(spec, url, self._proxy or ""),
        )
        user = userinfo(url)
        self._user = httpx.BasicAuth(*user) if user else None
        self._headers = _checked({**keys, **spec.headers}, self.endpoint)
        self._client: httpx.AsyncClient | None = None
        self._opening = anyio.Lock(fast_acquire=True)

    async def start(
        self, group: TaskGroup, method: str, path: str, body: JsonMapping | None = None
    ) -> ResponseReader:
        """Send a request in a child task of `group`, which also reads and closes the response.

        Raises:
            AIError: BAD_REQUEST if the request cannot be made.
        """
        if body is None:
            return await self._started(group, method, path, None, {})
        content = await encoded_body(body, self.endpoint)
        headers = {"content-type": "application/json", "content-length": str(len(content))}
        return await self._started(group, method, path, content, headers)

    async def upload(
        self, group: TaskGroup, path: str, pieces: AsyncIterator[bytes], size: int
    ) -> ResponseReader:
        """Send a body of `size` bytes that is too large for memory; else as `start`."""
        headers = {"content-type": "application/octet-stream", "content-length": str(size)}
        return await self._started(group, "POST", path, pieces, headers)

    async def _started(
        self,
        group: TaskGroup,
        method: str,
        path: str,
        content: bytes | AsyncIterable[bytes] | None,
        headers: Mapping[str, str],
    ) -> ResponseReader:
        client = await self._open_client()
        url = path if path.startswith(("http://", "https://")) else join(self.url, path)
        try:
            request = client.build_request(method, url, content=content, headers=headers)
        except (httpx.InvalidURL, ValueError) as error:
            raise self.endpoint.fault(UNSENDABLE) from error
        if _origin(request.url) != _origin(httpx.URL(self.url)):
            # The client adds the credentials to whatever it sends.
            raise self.endpoint.fault(UNSENDABLE)
        reader = ResponseReader(client, request, self.endpoint)
        group.start_soon(reader.run)
        return reader

    async def json(
        self,
        method: str,
        path: str,
        body: JsonMapping | None = None,
        *,
        within_s: float | None = None,
        max_bytes: int = MAX_REPLY_BYTES,
    ) -> JsonValue:
        """Send a request and parse its small reply; an empty one is None.

        Raises:
            AIError: any failure, including the time limit `within_s`.
        """
        start = partial(self.start, method=method, path=path, body=body)
        return await self._exchange(start, within_s, max_bytes)

    async def post(
        self, path: str, content: bytes, content_type: str, *, within_s: float, max_bytes: int
    ) -> JsonValue:
        """Send a body that is no JSON, and parse the small reply; else as `json`."""
        headers = {"content-type": content_type, "content-length": str(len(content))}
        start = partial(self._started, method="POST", path=path, content=content, headers=headers)
        return await self._exchange(start, within_s, max_bytes)

    async def _exchange(
        self,
        start: Callable[[TaskGroup], Awaitable[ResponseReader]],
        within_s: float | None,
        max_bytes: int,
    ) -> JsonValue:
        limit = self.spec.list_timeout_s if within_s is None else within_s
        reply: JsonValue = None
        try:
            with anyio.fail_after(limit):
                async with task_group() as group:
                    reader = await start(group)
                    try:
                        reply = await self._reply(reader, max_bytes)
                    finally:
                        reader.dispose()
        except TimeoutError:
            raise self.endpoint.fault(SLOW, seconds=limit) from None
        return reply

    async def aclose(self) -> None:
        """Close all connections; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await client.aclose()

    async def _reply(self, reader: ResponseReader, max_bytes: int) -> JsonValue:
        head = await reader.read_head()
        if not 200 <= head.status < 300:
            error = await reader.read_error_body(MAX_ERROR_BYTES, self.spec.list_timeout_s / 2)
            raise http_error(head, error, self.endpoint)
        body = await reader.read_all(max_bytes + 1)
        if len(body) > max_bytes:
            raise self.endpoint.fault(LIMIT, limit=f"a reply of more than {max_bytes} bytes")
        if len(body) > AT_ONCE_BYTES:
            return await to_thread.run_sync(self._parsed, body, abandon_on_cancel=True)
        return self._parsed(body)

    def _parsed(self, body: bytearray) -> JsonValue:
        text = body.decode("utf-8-sig", errors="replace").strip()
        if is_markup(text):
            raise self.endpoint.fault(WEB_PAGE)
        try:
            return parse_json(text) if text else None
        except LimitPassed as error:
            raise self.endpoint.fault(LIMIT, limit=str(error)) from error
        except BadJson as error:
            raise self.endpoint.error(
                ErrorCode.ENGINE_ERROR,
                f"{self.endpoint.label} sent a reply that is no JSON ({error}).",
                "Check the address: it may belong to another program.",
                fault="no_json",
            ) from error

    async def _open_client(self) -> httpx.AsyncClient:
        if self._problem is not None:
            raise self._problem.with_traceback(None)
        async with self._opening:  # concurrent requests read the certificates once
            if self._client is None:
                self._client = await make_client(
                    self.spec,
                    self._address,
                    headers=self._headers,
                    auth=self._user,
                    proxy=self._proxy,
                )
            return self._client


def _checked(headers: Mapping[str, str], endpoint: Endpoint) -> dict[str, str]:
    for name, value in headers.items():
        if not (name + value).isascii() or any(ord(c) < 0x20 or c == "\x7f" for c in name + value):
            raise endpoint.error(
                ErrorCode.BAD_REQUEST,
                f"The header {name!r} of provider {endpoint.provider} cannot be sent.",
                "An API key or header may hold only ASCII letters, digits and signs.",
                fault="header",
            )
    return own_headers() | {name.lower(): value for name, value in headers.items()}


def _without_secrets(url: str) -> str:
    """Return a URL without user info and query, which the client adds."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx leaves out the default port of a scheme


def _secrets(spec: ProviderSpec, *urls: str) -> tuple[str, ...]:
    of_urls = (secret for url in urls for secret in url_secrets(url))
    return (spec.api_key or "", *of_urls, *spec.headers.values())
