"""Which engines answer on this machine at the ports they usually have.

Several engines imitate others and share ports, so each is known by something only it says.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import httpx

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.base_url import is_loopback, is_plain_local, server_root

PATIENCE_S = 1.0
LIMIT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A path that one engine answers in its own way."""

    path: str
    key: str
    """A key of the JSON object that the answer has to hold."""
    value: str | None = None
    """What that key has to be; None takes anything."""


FINGERPRINTS: Mapping[str, tuple[Fingerprint, ...]] = {
    "kobold": (Fingerprint("/api/extra/version", "result", "KoboldCpp"),),
    "llamacpp": (Fingerprint("/props", "default_generation_settings"),),
    "lmstudio": (Fingerprint("/api/v1/models", "models"), Fingerprint("/api/v0/models", "data")),
    "vllm": (Fingerprint("/version", "version"),),
    "localai": (Fingerprint("/v1/models", "data"),),
    "ollama": (Fingerprint("/api/version", "version"),),
}
IMITATED: Mapping[str, tuple[str, ...]] = {
    "localai": ("llamacpp", "kobold", "lmstudio", "vllm"),
    "vllm": ("kobold", "llamacpp"),
    "lmstudio": ("kobold", "llamacpp"),
}
"""An engine whose sign others show too, and those others."""


async def answers_as(backend: str, base_url: str) -> bool:
    """Whether the server at `base_url` is of this kind; a silent one costs at most a second."""
    async with httpx.AsyncClient(
        timeout=PATIENCE_S,
        trust_env=not is_loopback(base_url),
        verify=not is_plain_local(base_url),
    ) as client:
        with anyio.move_on_after(PATIENCE_S):
            if not await _shows(client, base_url, backend):
                return False
            for other in IMITATED.get(backend, ()):
                if await _shows(client, base_url, other):
                    return False
            return True
    return False


async def _shows(client: httpx.AsyncClient, base_url: str, backend: str) -> bool:
    root = server_root(base_url)
    for mark in FINGERPRINTS[backend]:
        reply = await _json(client, root + mark.path)
        if mark.key in reply and mark.value in (None, reply[mark.key]):
            return True
    return False


async def _json(client: httpx.AsyncClient, url: str) -> JsonObject:
    """Give the JSON object at `url`; an empty one when there is none."""
    try:
        async with client.stream("GET", url, headers={"accept-encoding": "identity"}) as reply:
            body = b""
            async for piece in reply.aiter_raw():
                body += piece
                if len(body) > LIMIT_BYTES:
                    return {}
            found = json.loads(body) if reply.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
