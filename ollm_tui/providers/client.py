"""The HTTP client of one server: its proxy, its certificates, its clocks; no redirects."""

import ssl
from collections.abc import Mapping

import httpx

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.base_url import is_plain_local
from ollm_tui.providers.spec import ProviderSpec


def make_client(
    spec: ProviderSpec,
    url: str,
    *,
    headers: Mapping[str, str],
    auth: httpx.Auth | None,
    proxy: str | None,
) -> httpx.AsyncClient:
    """Make the client; `proxy` has been chosen by who knows the server.

    Raises:
        AIError: BAD_REQUEST for a file of authorities that cannot be read.
    """
    verify = _verification(spec, url)
    return httpx.AsyncClient(
        auth=auth,
        headers=headers,
        verify=verify,
        proxy=None if proxy is None else _proxy(proxy, verify),
        trust_env=False,  # the proxy is chosen; the variables of certificates are in `verify`
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=spec.connect_timeout_s),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=4),
    )


def _proxy(url: str, verify: ssl.SSLContext | bool) -> httpx.Proxy:
    context = verify if isinstance(verify, ssl.SSLContext) else None
    return httpx.Proxy(url, ssl_context=context if url.startswith("https:") else None)


def _verification(spec: ProviderSpec, url: str) -> ssl.SSLContext | bool:
    """Give how to check certificates; plain HTTP to this machine saves loading them all."""
    if spec.ca_file is None:
        return False if is_plain_local(url) else httpx.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=spec.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The authority file {spec.ca_file} of provider {spec.name} cannot be read.",
            hint="ca_file has to name a PEM file.",
            provider=spec.name,
        ) from error
