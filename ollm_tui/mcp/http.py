"""The transport over streamable HTTP: the SDK's own, on a client that bounds what it reads."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from ollm_tui.decode.counted import size_text
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.stdio import LONGEST_LINE
from ollm_tui.providers.proxy import proxy_for

_CONNECT_S: Final = 10.0
_SILENT_S: Final = 300.0
"""A stream of a server may be silent for long; calls have limits of their own."""
_BAD: Final = 400
_UNAUTHORIZED: Final = 401
NEEDS_SIGN_IN: Final = (
    "It wants a sign-in. OAuth is not supported yet: set a token as `headers.Authorization`."
)


class BoundedAnswers(httpx2.AsyncHTTPTransport):
    """Ends an answer that is one JSON text and too long; events are bounded one by one."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for data in self._stream:
            size += len(data)
            if size > LONGEST_LINE:
                raise httpx2.ReadError(f"The answer is longer than {size_text(LONGEST_LINE)}.")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class Refusals:
    """What the server answered last instead of a message."""

    def __init__(self, log: ServerLog) -> None:
        self._log = log
        self.words = ""

    async def look(self, response: httpx2.Response) -> None:
        """Note an answer that is an error."""
        code = response.status_code
        if code >= _BAD:
            self.words = (
                NEEDS_SIGN_IN if code == _UNAUTHORIZED else f"It answered with HTTP {code}."
            )
            self._log.add(self.words)


@asynccontextmanager
async def http_transport(
    url: str, headers: Mapping[str, str], refusals: Refusals
) -> AsyncIterator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]]:
    """Connect the streams of a session with an address."""
    timeout = httpx2.Timeout(_CONNECT_S, read=_SILENT_S)
    client = httpx2.AsyncClient(
        headers=dict(headers),
        timeout=timeout,
        transport=BoundedAnswers(proxy=proxy_for(url, None, "")),
        trust_env=False,
        event_hooks={"response": [refusals.look]},
    )
    async with client, streamable_http_client(url, http_client=client) as (received, outgoing):
        yield received, outgoing
