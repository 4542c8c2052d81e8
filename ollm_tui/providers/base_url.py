"""Base URLs of servers, the URLs of their endpoints, and what a URL says about its server."""

import ipaddress
import socket
from collections.abc import Iterator
from urllib.parse import SplitResult, parse_qs, parse_qsl, unquote, urlsplit, urlunsplit

from ollm_tui.config import urls
from ollm_tui.config.urls import LOOPBACK_OF, STANDARD_PORTS, split_web_url
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode

_VERSION = lazy_re(r"/v\d+[a-z0-9]*(?=/|$)")
_SCHEME = lazy_re(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_ENDPOINTS = lazy_re(r"/(chat/completions|completions|messages|models)$")


def ollama_url(value: str | None) -> str:
    """Return the base URL for an address of Ollama; None means its default address.

    Raises:
        AIError: BAD_REQUEST if the value is not the address of a web server.
    """
    try:
        return urls.ollama_url(value or "")
    except ValueError as error:
        raise _unusable() from error


def openai_url(value: str) -> str:
    """Return the base URL to which `/chat/completions` or `/messages` is added.

    Raises:
        AIError: BAD_REQUEST if the value is not the address of a web server.
    """
    parts = split_url(value)
    path = _ENDPOINTS.sub("", parts.path.rstrip("/"))
    if not _VERSION.search(path) and "api-version" not in parse_qs(parts.query):
        path += "/v1"
    return urlunsplit(parts._replace(path=path, fragment=""))


def server_root(url: str) -> str:
    """Return a base URL without its version segment and everything after it."""
    parts = urlsplit(url)
    path = parts.path
    if version := _VERSION.search(path):
        path = path[: version.start()]
    return urlunsplit(parts._replace(path=path.rstrip("/")))


def join(base: str, path: str) -> str:
    """Add a path, which may have a query, to a base URL, keeping the query of the base."""
    parts = urlsplit(base)
    path, _, own_query = path.partition("?")
    query = "&".join(part for part in (parts.query, own_query) if part)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, query=query))


def split_url(value: str) -> SplitResult:
    """Split an address, which may lack its scheme.

    Raises:
        AIError: BAD_REQUEST if it is not the address of a web server.
    """
    text = value.strip().strip("\"'").strip()
    if not _SCHEME.match(text):
        text = f"http://{text}"
    parts = split_web_url(text)
    if parts is None:
        raise _unusable()
    loopback = LOOPBACK_OF.get(parts.hostname or "")
    return parts if loopback is None else parts._replace(netloc=_with_host(parts, loopback))


def _with_host(parts: SplitResult, host: str) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    shown = f"[{host}]" if ":" in host else host
    return f"{user}{at}{shown}" + (f":{parts.port}" if parts.port else "")


def _unusable() -> AIError:
    return AIError(
        ErrorCode.BAD_REQUEST,
        "The server's address is not usable.",
        hint="Write it like http://localhost:8080 or https://example.com/v1.",
    )


def shown_address(url: str) -> str:
    """Return host and port as people write them, without user, path and scheme."""
    parts = urlsplit(url)
    name = "localhost" if is_loopback(url) else parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    port = parts.port
    return shown if port is None or port == STANDARD_PORTS.get(parts.scheme) else f"{shown}:{port}"


def userinfo(url: str) -> tuple[str, str] | None:
    """Return the user name and the password in a URL, or None."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    return unquote(parts.username), unquote(parts.password or "")


def url_secrets(url: str) -> Iterator[str]:
    """Yield the secrets in a URL: its password, raw and decoded, and its query values."""
    parts = urlsplit(url)
    if parts.password:
        yield from {parts.password, unquote(parts.password)}
    yield from (value for name, value in parse_qsl(parts.query) if name != "api-version")


def is_loopback(url: str) -> bool:
    """Whether a URL points to this machine, however it is spelled."""
    name = (urlsplit(url).hostname or "").removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return _is_short_loopback(name)
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def _is_short_loopback(name: str) -> bool:
    """Whether this is a loopback address that only `inet_aton` reads, such as `127.1`."""
    if not name[:1].isdigit():
        return False
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name)).is_loopback
    except OSError:
        return False


def is_plain_local(url: str) -> bool:
    """Whether a URL stays on this machine without TLS, so that no certificates are needed."""
    return url.startswith("http://") and is_loopback(url)
