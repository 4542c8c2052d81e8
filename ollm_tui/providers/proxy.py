"""The proxy for requests to a server; those to this machine never use one, and stay here."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies

from ollm_tui.config.urls import NO_PROXY, STANDARD_PORTS, split_web_url
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import is_loopback


def proxy_for(url: str, setting: str | None, provider: str) -> str | None:
    """Return the URL of the proxy for requests to `url`, or None for a direct connection.

    Raises:
        AIError: BAD_REQUEST if the environment names an invalid proxy.
    """
    if is_loopback(url) or setting == NO_PROXY:
        return None
    if setting is not None:
        return setting
    proxy = environment_proxy(url, getproxies())
    if proxy is not None and split_web_url(proxy) is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The proxy that the environment names is not usable.",
            hint="It must be like http://proxy.example:3128: see HTTP_PROXY, HTTPS_PROXY and "
            f"ALL_PROXY.{_without(provider)}",
            provider=provider or None,
        )
    return proxy


def _without(provider: str) -> str:
    return f' `proxy = "none"` below [providers.{provider}] goes without one.' if provider else ""


def environment_proxy(url: str, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy from the environment, by scheme; `no` lists the exempt hosts."""
    parts = urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or _is_exempt(url, proxies.get("no", "")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_exempt(url: str, listed: str) -> bool:
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    port = parts.port or STANDARD_PORTS.get(parts.scheme)
    entries = (entry.strip().lower() for entry in listed.split(","))
    return any(_covers(entry, host, port) for entry in entries if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of NO_PROXY covers a host: as a name, a parent domain or a network."""
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
