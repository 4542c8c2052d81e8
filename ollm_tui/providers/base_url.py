"""Where a server is: every form people write an address in, as one URL to dial.

`OLLAMA_HOST` has the rules of Ollama's own client (envconfig/config.go). A base URL of an
OpenAI-compatible server is taken as it is when its path holds a version, else `/v1` is added.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ollm_tui.protocol.errors import AIError, ErrorCode

OLLAMA_PORT = 11434
_DEFAULT_PORTS = {"http": 80, "https": 443}
_VERSION = re.compile(r"/v\d+[a-z0-9]*(?=/|$)")
_ENDPOINTS = re.compile(r"/(chat/completions|completions|models)$")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_UNSPECIFIED = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, slots=True)
class _Host:
    scheme: str
    name: str
    port: int
    path: str

    def url(self, name: str) -> str:
        shown = f"[{name}]" if ":" in name else name
        return f"{self.scheme}://{shown}:{self.port}{self.path}"


def ollama_host(value: str) -> str:
    """Give the URL that an `OLLAMA_HOST` value literally means."""
    host = _read_host(value)
    return host.url(host.name)


def ollama_url(value: str | None) -> str:
    """Give the URL to dial for an `OLLAMA_HOST` value; "all interfaces" means this machine."""
    host = _read_host(value or "")
    return host.url(_UNSPECIFIED.get(host.name, host.name))


def _read_host(value: str) -> _Host:
    text = value.strip().strip("\"'").strip()
    scheme, mark, rest = text.partition("://")
    if not mark:
        scheme, rest = "http", text
    default_port = _DEFAULT_PORTS.get(scheme, OLLAMA_PORT) if mark else OLLAMA_PORT
    if not mark and rest.partition("/")[0] == "ollama.com":
        scheme, default_port = "https", 443
    place, _, path = rest.partition("/")
    name, port = _split_port(place, default_port)
    if not text:
        name = "127.0.0.1"
    path = path.strip("/")
    return _Host(scheme, name, port, f"/{path}" if path else "")


def _split_port(place: str, default: int) -> tuple[str, int]:
    place = place.rpartition("@")[2]
    if place.startswith("["):
        name, _, rest = place[1:].partition("]")
        return name, _port(rest.removeprefix(":"), default)
    if place.count(":") > 1:
        return place, default
    name, _, port = place.partition(":")
    return name, _port(port, default)


def _port(text: str, default: int) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 5 or int(text) > 65535:
        return default
    return int(text)


def openai_url(value: str) -> str:
    """Give the base URL whose `/chat/completions` answers.

    Raises:
        AIError: BAD_REQUEST when the value is no address of a web server.
    """
    parts = split_url(value)
    path = _ENDPOINTS.sub("", parts.path.rstrip("/"))
    if not _VERSION.search(path):
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
    """Add a path to a base URL; its query stays at the end."""
    parts = urlsplit(base)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))


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
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The server's address is not usable.",
            hint="Write it like http://localhost:8080 or https://example.com/v1.",
        )
    if parts.hostname in _UNSPECIFIED:
        parts = parts._replace(netloc=_with_host(parts, _UNSPECIFIED[parts.hostname]))
    return parts


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


def is_loopback(url: str) -> bool:
    """Whether a URL means this machine."""
    name = urlsplit(url).hostname or ""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_plain_local(url: str) -> bool:
    """Whether a URL stays on this machine without TLS, so that no certificates are needed."""
    return url.startswith("http://") and is_loopback(url)
