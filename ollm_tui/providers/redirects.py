"""Where a request goes, and which redirects it follows; pure."""

from dataclasses import replace
from urllib.parse import SplitResult, quote, urljoin, urlunsplit

from ollm_tui.config.urls import STANDARD_PORTS, split_web_url
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import shown_address
from ollm_tui.providers.http_faults import Endpoint

MAX_URL_BYTES = 8 * 1024
_STATUSES = frozenset({301, 302, 303, 307, 308})
_KEPT = "%/?:@!$&'()*+,;=~-._[]"
"""Characters of a path that are not percent-encoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One request on the way to a file."""

    parts: SplitResult = field(repr=False)
    """Without user info and fragment."""
    sends_credentials: bool
    """Whether the request may carry credentials."""

    @property
    def url(self) -> str:
        """The URL without its query, which may hold a secret."""
        return urlunsplit(self.parts._replace(query=""))

    @property
    def origin(self) -> tuple[str, str, int | None]:
        """Scheme, host and port."""
        scheme = self.parts.scheme
        return scheme, self.parts.hostname or "", self.parts.port or STANDARD_PORTS[scheme]

    def endpoint(self, secrets: tuple[str, ...], proxy: str | None) -> Endpoint:
        """Return how error messages name this server."""
        address = shown_address(self.url)
        return Endpoint(
            provider="",
            label=address,
            address=address,
            start_hint="Check the address and the network.",
            proxy=shown_address(proxy) if proxy else "",
            secrets=secrets,
        )


def first_hop(url: str) -> Hop:
    """Return the request for a URL.

    Raises:
        AIError: BAD_REQUEST if it is not an HTTP URL.
    """
    parts = _checked(url)
    if parts is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The address of the file is not usable.",
            hint="Write it like https://example.com/model.gguf.",
        )
    return Hop(parts=parts, sends_credentials=True)


def is_redirect(status: int, location: str | None) -> bool:
    """Whether a response is a redirect."""
    return status in _STATUSES and bool(location)


def next_hop(hop: Hop, location: str, endpoint: Endpoint) -> Hop:
    """Return the request that follows a redirect; credentials stay with the first origin.

    Raises:
        AIError: the redirect is malformed, or leads away from HTTPS.
    """
    base = urlunsplit(hop.parts)
    parts = _checked(_joined(base, location)) if len(location) <= MAX_URL_BYTES else None
    if parts is None:
        raise _refused(endpoint, "a redirect to what is no address of a web server")
    if hop.parts.scheme == "https" and parts.scheme != "https":
        raise _refused(
            endpoint, f"a redirect without encryption, to {shown_address(parts.geturl())}"
        )
    following = replace(hop, parts=parts)
    is_same = following.origin == hop.origin
    return replace(following, sends_credentials=hop.sends_credentials and is_same)


def too_many_redirects(endpoint: Endpoint, followed: int) -> AIError:
    """The redirects do not end."""
    return _refused(endpoint, f"more than {followed} redirects")


def _refused(endpoint: Endpoint, what: str) -> AIError:
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{endpoint.address} answered with {what}, which was not followed.",
        "Check the address: it may belong to another program, a proxy or a login page.",
        fault="redirect",
    )


def _joined(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError:
        return ""


def _checked(url: str) -> SplitResult | None:
    if len(url) > MAX_URL_BYTES or any(ord(char) <= 0x20 or ord(char) == 0x7F for char in url):
        return None
    parts = split_web_url(url)
    return parts and parts._replace(
        netloc=parts.netloc.rpartition("@")[2],
        path=quote(parts.path, safe=_KEPT) or "/",
        fragment="",
    )
