"""The transport over streamable HTTP: the SDK's own, on a client that bounds what it reads."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from ollm_tui.decode.counted import size_text
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.oauth import lacking_scopes
from ollm_tui.mcp.stdio import MAX_LINE_LENGTH
from ollm_tui.mcp.tokens import NOT_TAKEN, TOO_NARROW, ServerTokens
from ollm_tui.providers.proxy import proxy_for

_CONNECT_S: Final = 10.0
_SILENT_S: Final = 300.0
"""A stream of a server may be silent for long; calls have limits of their own."""
_BAD: Final = 400
_UNAUTHORIZED: Final = 401


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
            if size > MAX_LINE_LENGTH:
                raise httpx2.ReadError(f"The answer is longer than {size_text(MAX_LINE_LENGTH)}.")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


class Refusals:
    """What the server answered last instead of a message."""

    def __init__(self, log: ServerLog, tokens: ServerTokens | None = None) -> None:
        """Note refusals; `tokens` is where a sign-in is kept, if the server takes one."""
        self._log = log
        self._tokens = tokens
        self.words = ""
        self.is_unknown = False
        """Whether the server does not know the user, or no longer."""
        self.is_too_narrow = False
        """Whether the last refusal was of something that the sign-in does not cover."""
        self.ended = anyio.Event()
        """Set when no further request makes sense."""

    async def look(self, response: httpx2.Response) -> None:
        """Note an answer that is an error."""
        code = response.status_code
        if code < _BAD or code == _UNAUTHORIZED:
            self.is_too_narrow = False
            return
        scopes = lacking_scopes(response)
        self.is_too_narrow = scopes is not None
        if scopes is None:
            self._note(f"It answered with HTTP {code}.")
        else:
            self._note(self._tokens.wider_advice(scopes) if self._tokens else TOO_NARROW)

    async def look_for_user(self, response: httpx2.Response) -> None:
        """Note that the server does not know the user, where no sign-in can be renewed."""
        if response.status_code == _UNAUTHORIZED:
            self.forget()

    def forget(self) -> None:
        """Note that the server does not know the user."""
        self._note(self._tokens.advice if self._tokens is not None else NOT_TAKEN)
        self.is_unknown = True
        self.ended.set()

    def _note(self, words: str) -> None:
        self.words = words
        self._log.add(words)


def http_client(
    url: str, headers: Mapping[str, str], refusals: Refusals, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """Return a client for the requests to a server."""
    hooks = [refusals.look] if auth is not None else [refusals.look, refusals.look_for_user]
    return httpx2.AsyncClient(
        headers=dict(headers),
        timeout=httpx2.Timeout(_CONNECT_S, read=_SILENT_S),
        transport=BoundedAnswers(proxy=proxy_for(url, None, "")),
        trust_env=False,
        event_hooks={"response": hooks},
        auth=auth,
    )


@asynccontextmanager
async def http_transport(
    url: str,
    headers: Mapping[str, str],
    refusals: Refusals,
    auth: httpx2.Auth | None = None,
) -> AsyncIterator[tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]]:
    """Connect the streams of a session with an address."""
    client = http_client(url, headers, refusals, auth)
    async with client, streamable_http_client(url, http_client=client) as (received, outgoing):
        yield received, outgoing
