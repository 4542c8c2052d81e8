"""Which engine answers at an address: probed there only, without a key, and cached."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path

import anyio
import httpx

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.providers.base_url import server_root, split_url
from ollm_tui.providers.client import make_client, own_headers
from ollm_tui.providers.fingerprint import PATHS, Engine, ProbeReply, identify
from ollm_tui.providers.proxy import proxy_for
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.tasks import task_group

TIMEOUT_S = 1.0
"""Time limit for a probe, in seconds."""
LIMIT_BYTES = 1_000_000
MAX_AGE_S = 30.0
HEAD_START_S = 0.1
"""How long the first request may take before the others are sent anyway."""
REFUSED = "no answer"
CONNECTIONS = 4
"""Connections to one server at once: small ones let no more than five wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """How to reach a server, if not in the default way."""

    ca_file: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    """As in a provider's settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The result of probing an address."""

    engine: Engine | None
    """None if nothing answered."""
    latency_s: float | None = None
    """Until the first reply."""
    failure: str | None = None
    """Why nothing answered, in a few words."""


@dataclass(slots=True)
class _CacheEntry:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    result: ProbeResult | None = None
    taken_at: float = 0.0


class Discovery:
    """Probes each server once, however many callers want to know, and again when that is old."""

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        max_age_s: float = MAX_AGE_S,
        clock: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._timeout_s = timeout_s
        self._max_age_s = max_age_s
        self._clock = clock
        self._cache: dict[str, _CacheEntry] = {}

    async def look(self, base_url: str, options: ConnectionOptions | None = None) -> ProbeResult:
        """Identify the engine at an address, from the cache while that is fresh."""
        root = _root(base_url)
        entry = self._cache.setdefault(root, _CacheEntry())
        async with entry.lock:
            if entry.result is None or self._clock() - entry.taken_at >= self._max_age_s:
                entry.result = await probe(root, options, timeout_s=self._timeout_s)
                entry.taken_at = self._clock()
            return entry.result

    def known(self, base_url: str) -> ProbeResult | None:
        """Return the cached result for an address, however old."""
        entry = self._cache.get(_root(base_url))
        return entry.result if entry else None

    def forget(self) -> None:
        """Empty the cache."""
        self._cache.clear()


async def probe(
    base_url: str, options: ConnectionOptions | None = None, *, timeout_s: float = TIMEOUT_S
) -> ProbeResult:
    """Identify the engine at an address; takes `timeout_s` at most."""
    replies: dict[str, ProbeReply] = {}
    first: list[float] = []
    failures: list[str] = []
    began = anyio.current_time()

    def take(path: str, reply: ProbeReply) -> None:
        first.append(anyio.current_time())
        replies[path] = reply

    async def ask(client: httpx.AsyncClient, path: str) -> None:
        try:
            async with limit:
                await _ask(client, root + path, partial(take, path))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            failures.append(_failure_text(error))
        has_first_reply.set()

    has_first_reply = anyio.Event()
    root = _root(base_url)
    limit = anyio.CapacityLimiter(CONNECTIONS)
    with anyio.move_on_after(timeout_s):
        async with (
            await _client(root, options or ConnectionOptions()) as client,
            task_group() as group,
        ):
            # Most ports are closed: one refusal answers all requests.
            group.start_soon(ask, client, PATHS[0])
            with anyio.move_on_after(HEAD_START_S):
                await has_first_reply.wait()
            for path in () if REFUSED in failures else PATHS[1:]:
                group.start_soon(ask, client, path)
    engine = identify(replies)
    return ProbeResult(
        engine=engine,
        latency_s=first[0] - began if first else None,
        failure=None if engine else next(iter(failures), "no answer in time"),
    )


def _root(base_url: str) -> str:
    parts = split_url(base_url)
    return server_root(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl())


async def _client(root: str, options: ConnectionOptions) -> httpx.AsyncClient:
    spec = ProviderSpec(name="probe", kind="probe", ca_file=options.ca_file)
    proxy = proxy_for(root, options.proxy, spec.name)
    return await make_client(spec, split_url(root), headers=own_headers(), auth=None, proxy=proxy)


async def _ask(client: httpx.AsyncClient, url: str, take: Callable[[ProbeReply], None]) -> None:
    """Pass on the head of a reply as soon as it arrives, and the whole reply if it ends."""
    async with client.stream("GET", url) as reply:
        head = ProbeReply(reply.status_code, server=reply.headers.get("server", ""))
        take(head)
        if reply.status_code != HTTPStatus.OK:
            return
        body = bytearray()
        async for piece in reply.aiter_raw():
            body += piece
            if len(body) > LIMIT_BYTES:
                return
        take(replace(head, body=_json(bytes(body))))


def _json(body: bytes) -> JsonValue:
    try:
        return parse_json(body.decode("utf-8-sig", errors="replace"))
    except BadJson:
        return None


def _failure_text(error: Exception) -> str:
    match error:
        case httpx.ConnectTimeout() | httpx.ReadTimeout() | httpx.PoolTimeout():
            return "no answer in time"
        case httpx.ConnectError():
            return REFUSED
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return "the address cannot be used"
        case _:
            return "it does not speak HTTP as it should"
