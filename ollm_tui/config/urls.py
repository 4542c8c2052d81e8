"""URLs: reading addresses by the rules of OLLAMA_HOST, checking, and showing without secrets.

Only OLLAMA_HOST itself falls back to the default: elsewhere another server would be asked. An
invalid address is a `ValueError`, whose message does not repeat it.
"""

from collections.abc import Mapping
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

from ollm_tui.config.backends import BACKEND, OLLAMA
from ollm_tui.lazy import lazy_re

STANDARD_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
LOOPBACK_OF: Mapping[str, str] = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""The host to dial for an address that means every interface."""
_FORBIDDEN = lazy_re(r"[\s\x00-\x20\x7f-\x9f#\\<>\"']")
_SHOWN_QUERIES = frozenset({"api-version"})
_END_OF_HOST = lazy_re(r"[/?]")
_HOST = lazy_re(r"[A-Za-z0-9._-]+")
_MAX_PORT = 65535
SECRET = "«set»"
NO_PROXY = "none"
"""The setting `proxy` for direct connections."""


def split_web_url(url: str) -> SplitResult | None:
    """Split the URL of something on a web server; return None for anything else."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in STANDARD_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_usable else None


def ollama_url(text: str, *, lenient: bool = True) -> str:
    """Return the base URL of an Ollama server; `lenient` reads it as Ollama reads OLLAMA_HOST."""
    text = text.strip().strip("\"'").strip()
    if text == "ollama.com":
        return "https://ollama.com"
    return _base_url(text, BACKEND[OLLAMA].port or 80, lenient=lenient)


def server_url(text: str, default_port: int | None = None) -> str:
    """Return the base URL of any other server; `default_port` is for addresses without a scheme."""
    text = text.strip().strip("\"'").strip()
    if not text:
        raise ValueError("The address is empty.")
    return _base_url(text, default_port or 80, lenient=False)


def _base_url(text: str, bare_port: int, *, lenient: bool) -> str:
    head, mark, rest = text.partition("://")
    scheme, rest = (head.lower(), rest) if mark else ("http", text)
    standard_port = STANDARD_PORTS.get(scheme)
    if standard_port is None:
        raise ValueError("An address begins with http:// or https://.")
    if _FORBIDDEN.search(rest):
        raise ValueError("An address cannot have spaces, quotes, backslashes or `#`.")
    rest, _, query = rest.partition("?")
    netloc, _, path = rest.partition("/")
    user, at, netloc = netloc.rpartition("@")
    if not user.isascii() or "[" in user or "]" in user:
        raise ValueError("Name and password have characters that must be percent-encoded.")
    default_port = standard_port if mark else bare_port
    host, port_text = _split(netloc)
    if not lenient:
        _require_host(host, port_text)
    host = _known_host(LOOPBACK_OF.get(host, host))
    port = _port(port_text, default_port, lenient=lenient)
    shown_host = f"[{host}]" if ":" in host else host
    shown_port = "" if port == standard_port else f":{port}"
    path = path.rstrip("/")
    url = f"{scheme}://{user}{at}{shown_host}{shown_port}" + (f"/{path}" if path else "")
    return f"{url}?{query}" if query else url


def _require_host(host: str, port: str | None) -> None:
    """Refuse an address without a host, or with only a number."""
    if not host and not port:
        raise ValueError("The address names no server.")
    if host.isascii() and host.isdigit() and port is None:
        raise ValueError("A port without a host is written with a colon in front.")


def _known_host(host: str) -> str:
    """Return a host as it is looked up: in lower case, an international name in ASCII."""
    if ":" in host:
        return host
    if not host.isascii():
        # Imported here because few hosts have such a name.
        import idna

        try:
            host = idna.encode(host, uts46=True, std3_rules=True).decode("ascii")
        except idna.IDNAError as error:
            raise ValueError("The name of the server is not valid.") from error
    if not _HOST.fullmatch(host):
        raise ValueError("The name of the server is not valid.")
    return host.lower()


def _split(netloc: str) -> tuple[str, str | None]:
    """Split host and port; an IPv6 address without a port needs no brackets."""
    if netloc.startswith("["):
        host, closed, tail = netloc[1:].partition("]")
        if not closed or (tail and not tail.startswith(":")):
            raise ValueError("The brackets of the IPv6 address do not match.")
        return _ipv6(host), tail[1:] or None
    if netloc.count(":") > 1:
        return _ipv6(netloc), None
    host, colon, port = netloc.partition(":")
    return host, port if colon else None


def _ipv6(host: str) -> str:
    try:
        return str(IPv6Address(host))
    except ValueError as error:
        raise ValueError("The IPv6 address is not valid.") from error


def _port(text: str | None, default: int, *, lenient: bool) -> int:
    if text is None:
        return default
    if text.isascii() and text.isdigit() and 0 < int(text[:6]) <= _MAX_PORT:
        return int(text)
    if lenient:
        return default
    raise ValueError(f"A port is a number from 1 to {_MAX_PORT}.")


def url_origin(url: str) -> str:
    """Return scheme, host and port, which is what a key is bound to."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{_END_OF_HOST.split(rest, maxsplit=1)[0].rpartition('@')[2]}".lower()


def shown_url(url: str) -> str:
    """Return a URL with its secrets replaced: user name, password and query values."""
    address, _, query = url.partition("?")
    scheme, mark, rest = address.partition("://")
    netloc, slash, path = rest.partition("/")
    user, at, host = netloc.rpartition("@")
    shown = f"{scheme}{mark}{SECRET if user else ''}{at}{host}{slash}{path}"
    return f"{shown}?{'&'.join(map(_shown_query, query.split('&')))}" if query else shown


def _shown_query(part: str) -> str:
    name, mark, value = part.partition("=")
    return part if name in _SHOWN_QUERIES or not value else f"{name}{mark}{SECRET}"
