"""From the address of a server to the URLs of its endpoints, and what an address tells.

A base URL of an OpenAI-compatible server is taken as it is when it holds a version, in its path or
as `api-version` in its query; else `/v1` is added. A query stays on every request.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator
from urllib.parse import SplitResult, parse_qs, parse_qsl, unquote, urlsplit, urlunsplit

from ollm_tui.config import hosts
from ollm_tui.protocol.errors import AIError, ErrorCode

_DEFAULT_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"/v\d+[a-z0-9]*(?=/|$)")
_ENDPOINTS = re.compile(r"/(chat/completions|completions|messages|models)$")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_UNSPECIFIED = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def ollama_url(value: str | None) -> str:
    """Give the URL to dial for an address of Ollama; none is Ollama's usual one.

    Raises:
        AIError: BAD_REQUEST when the value is no address of a web server.
    """
    try:
        return hosts.ollama_url(value or "")
    except ValueError as error:
        raise _unusable() from error


def openai_url(value: str) -> str:
    """Give the base URL whose `/chat/completions` or `/messages` answers.

    Raises:
        AIError: BAD_REQUEST when the value is no address of a web server.
    """
    parts = split_url(value)
    path = _ENDPOINTS.sub("", parts.path.rstrip("/"))
    if not _VERSION.search(path) and "api-version" not in parse_qs(parts.query):
        path += "/v1"
    return urlunsplit(parts._replace(path=path, fragment=""))


def server_root(url: str) -> str:
    """Give a base URL without its version segment and all that follows it."""
    parts = urlsplit(url)
    path = parts.path
    if found := _VERSION.search(path):
        path = path[: found.start()]
    return urlunsplit(parts._replace(path=path.rstrip("/")))


def join(base: str, path: str) -> str:
    """Add a path, which may have a query, to a base URL; the base's own query stays."""
    parts = urlsplit(base)
    path, _, asked = path.partition("?")
    query = "&".join(part for part in (parts.query, asked) if part)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, query=query))


def split_url(value: str) -> SplitResult:
    """Divide an address that may lack its scheme.

    Raises:
        AIError: BAD_REQUEST when it is no address of a web server.
    """
    text = value.strip().strip("\"'").strip()
    if not _SCHEME.match(text):
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        usable = parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise _unusable()
    if parts.hostname in _UNSPECIFIED:
        parts = parts._replace(netloc=_with_host(parts, _UNSPECIFIED[parts.hostname]))
    return parts


def _unusable() -> AIError:
    return AIError(
        ErrorCode.BAD_REQUEST,
        "The server's address is not usable.",
        hint="Write it like http://localhost:8080 or https://example.com/v1.",
    )


def _with_host(parts: SplitResult, name: str) -> str:
    user, mark, _ = parts.netloc.rpartition("@")
    shown = f"[{name}]" if ":" in name else name
    return f"{user}{mark}{shown}" + (f":{parts.port}" if parts.port else "")


def shown_address(url: str) -> str:
    """Give host and port as a person writes them, without user, path and scheme."""
    parts = urlsplit(url)
    name = "localhost" if is_loopback(url) else parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    port = parts.port
    return shown if port is None or port == _DEFAULT_PORTS.get(parts.scheme) else f"{shown}:{port}"


def url_secrets(url: str) -> Iterator[str]:
    """Give what of an address nobody may see: its password, also decoded, and what it asks with."""
    parts = urlsplit(url)
    if parts.password:
        yield from {parts.password, unquote(parts.password)}
    yield from (value for name, value in parse_qsl(parts.query) if name != "api-version")


def is_loopback(url: str) -> bool:
    """Whether a URL means this machine, however its address is spelled."""
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
    """Whether this is 127.0.0.1 as only the oldest function reads it: `127.1`, `0x7f.1`."""
    if not name[:1].isdigit():
        return False
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name)).is_loopback
    except OSError:
        return False


def is_plain_local(url: str) -> bool:
    """Whether a URL stays on this machine without TLS, so that no certificates are needed."""
    return url.startswith("http://") and is_loopback(url)
