"""The port through which files and the hub's replies come over HTTP; `runtime` fills it in."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """What is asked for; the secret never shows in its repr."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Without what identifies the caller."""
    token: str | None = field(default=None, repr=False)
    """Sent as `Authorization: Bearer`, to the origin of `url` alone: never along a redirect to
    another scheme, host or port."""
    redirects: int = 5
    """How many are followed."""


class Fetched(Protocol):
    """An answer whose body has not been read yet."""

    @property
    def status(self) -> int:
        """The status after all redirects."""
        ...

    @property
    def url(self) -> str:
        """Where it came from in the end, without name, password and query."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers, names in lower case."""
        ...

    @property
    def first_headers(self) -> Mapping[str, str]:
        """Those of the first answer, before any redirect: the hub names a file's sum there."""
        ...

    def pieces(self) -> AsyncIterator[bytes]:
        """Give the body as it comes, as it was sent: nothing is decoded.

        Raises:
            AIError: STREAM_INCOMPLETE when it broke off, TIMEOUT when it stood still.
        """
        ...


class Fetcher(Protocol):
    """Asks servers for files."""

    def fetch(self, request: FetchRequest) -> AbstractAsyncContextManager[Fetched]:
        """Ask; any status is an answer. Leaving the block has closed the connection.

        Raises:
            AIError: no server answered, or a redirect leads nowhere or away from HTTPS.
        """
        ...
