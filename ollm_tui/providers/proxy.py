"""Through which proxy a server is asked: the provider's own, the environment's, or none.

This machine is never asked through a proxy: what is meant for it would leave it, with the key.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies

from ollm_tui.config.connection import NO_PROXY
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import is_loopback

_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, setting: str | None, provider: str) -> str | None:
    """Give the URL of the proxy that a request to `url` takes; None for the direct way.

    Raises:
        AIError: BAD_REQUEST for a proxy of the environment that cannot be used.
    """
    if is_loopback(url) or setting == NO_PROXY:
        return None
    if setting is not None:
        return setting
    found = environment_proxy(url, getproxies())
    if found is not None and not _is_usable(found):
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The proxy that the environment names is not usable.",
            hint="It must be like http://proxy.example:3128: see HTTP_PROXY, HTTPS_PROXY and "
            f"ALL_PROXY.{_without(provider)}",
            provider=provider or None,
        )
    return found


def _without(provider: str) -> str:
    """Say how a provider goes without a proxy; there is no setting for other servers."""
    return f' `proxy = "none"` below [providers.{provider}] goes without one.' if provider else ""


def environment_proxy(url: str, proxies: Mapping[str, str]) -> str | None:
    """Give the proxy that the variables mean, by scheme; `no` lists who is asked directly."""
    parts = urlsplit(url)
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found or _is_exempt(url, proxies.get("no", "")):
        return None
    return found if "://" in found else f"http://{found}"


def _is_exempt(url: str, listed: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    entries = (entry.strip().lower() for entry in listed.split(","))
    return any(_covers(entry, host, port) for entry in entries if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of NO_PROXY means a host: a name with all below it, or a network."""
    if entry == "*":
        return True
    entry = entry.partition("://")[2] or entry
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except (ValueError, TypeError):
        pass
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit():
        if int(wanted) != port:
            return False
        entry = name
    entry = entry.strip("[]").removesuffix(".").removeprefix("*").removeprefix(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _is_usable(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
