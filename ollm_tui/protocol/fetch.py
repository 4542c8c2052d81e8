"""The port for files and the hub's replies over HTTP; `runtime` fills it in.

It keeps the library from knowing the providers and their HTTP client.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ollm_tui.dataclass import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A request for a file; the token is not in its repr."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers, without authorization."""
    token: str | None = field(default=None, repr=False)
    """Sent as `Authorization: Bearer`, to the origin of `url` alone: never along a redirect to
    another scheme, host or port."""
    redirects: int = 5
    """How many redirects are followed."""


class Fetched(Protocol):
    """A response whose body has not been read yet."""

    @property
    def status(self) -> int:
        """The status after all redirects."""

    @property
    def url(self) -> str:
        """The final URL, without user name, password and query."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with names in lower case."""

    @property
    def first_headers(self) -> Mapping[str, str]:
        """The headers of the first response, before redirects: the hub sends a checksum there."""

    def pieces(self) -> AsyncIterator[bytes]:
        """Return the body as it arrives, without decoding it.

        Raises:
            AIError: STREAM_INCOMPLETE if it breaks off, TIMEOUT if it stalls.
        """


class Fetcher(Protocol):
    """Requests files from servers."""

    def fetch(self, request: FetchRequest) -> AbstractAsyncContextManager[Fetched]:
        """Send a request; any status is a response. Leaving the block closes the connection.

        Raises:
            AIError: no server responded, or a redirect is invalid or leads away from HTTPS.
        """
