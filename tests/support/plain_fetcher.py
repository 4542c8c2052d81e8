"""A fetcher of the tests' own: httpx without any of the care that the real one takes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched, FetchRequest


class PlainFetched:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.url = str(response.url.copy_with(query=None))
        self.headers: Mapping[str, str] = dict(response.headers.items())
        first = response.history[0] if response.history else response
        self.first_headers: Mapping[str, str] = dict(first.headers.items())

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except httpx.HTTPError as error:
            raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer was cut off.") from error


class PlainFetcher:
    """Follows redirects; httpx keeps the token to the first origin."""

    @asynccontextmanager
    async def fetch(self, request: FetchRequest) -> AsyncIterator[Fetched]:
        token = {"authorization": f"Bearer {request.token}"} if request.token else {}
        async with httpx.AsyncClient(follow_redirects=True, verify=False) as client:
            try:
                sent = client.build_request(
                    "GET", request.url, headers={**request.headers, **token}
                )
                response = await client.send(sent, stream=True)
            except httpx.HTTPError as error:
                raise AIError(ErrorCode.SERVICE_UNAVAILABLE, "Nobody answers.") from error
            try:
                yield PlainFetched(response)
            finally:
                await response.aclose()
