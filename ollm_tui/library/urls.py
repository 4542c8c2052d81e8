"""Addresses on the web: which server one means, and how much of one may be stored."""

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from ollm_tui.config.urls import STANDARD_PORTS, split_web_url
from ollm_tui.lazy import lazy_re

_DOUBTFUL = lazy_re(r"[\s\\\x00-\x20\x7f-\x9f]")
_HARMLESS_QUERIES: Final = frozenset({"download"})
_LINK = lazy_re(r"<([^<>]{1,4096})>([^<>]*)")
_RELATION = lazy_re(r';\s*rel\s*=\s*"?([^";,]*)', re.IGNORECASE)
Origin = tuple[str, str, int]


def origin_of(url: str) -> Origin | None:
    """Return scheme, host and port; None for an ambiguous address."""
    parts = split_web(url)
    if parts is None or "@" in parts.netloc or not parts.netloc.isascii():
        return None
    port = parts.port if parts.port is not None else STANDARD_PORTS[parts.scheme]
    return parts.scheme, (parts.hostname or "").rstrip("."), port


def split_web(url: str) -> SplitResult | None:
    """Split an http(s) address; None for anything else."""
    return None if _DOUBTFUL.search(url) else split_web_url(url)


def without_secrets(url: str) -> str:
    """Return an address without name, password and every query that may be a secret."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name in _HARMLESS_QUERIES]
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, urlencode(kept), ""))


def has_secrets(url: str) -> bool:
    """Whether `without_secrets` would leave anything out."""
    parts = urlsplit(url)
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return "@" in parts.netloc or not _HARMLESS_QUERIES.issuperset(names)


def bare_url(url: str) -> str:
    """Return an address without name, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def next_page(header: str) -> str | None:
    """Return the next page's address from a `Link` header; None on the last page."""
    for address, parameters in _LINK.findall(header):
        relation = _RELATION.search(parameters)
        if relation is not None and "next" in relation[1].lower().split():
            return str(address)
    return None
