"""A TCP proxy on loopback that spoils what passes through it, in the seven ways of Toxiproxy.

Toxics work on what the server sends. What is left to chance comes from a seed, so that the same
bytes meet the same fate. `FaultProxy` tells how connections ended, as both ends saw it.
"""

import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketAttribute, SocketStream

from tests.support.http_server import raw_server

PIECE = 64 * 1024
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, kw_only=True)
class Toxics:
    """What is done to the answers; nothing unless named."""

    latency_s: float = 0.0
    """Every piece comes so much later, give or take half of it."""
    bytes_per_s: float | None = None
    """Bandwidth."""
    slow_close_s: float = 0.0
    """The end comes so much later than the last byte."""
    timeout_after: int | None = None
    """After so many bytes nothing comes any more, and the connection stays."""
    reset_after: int | None = None
    """After so many bytes the connection is reset."""
    limit_bytes: int | None = None
    """After so many bytes the connection is closed."""
    slices: int | None = None
    """Pieces come cut into slices of about so many bytes."""


@dataclass
class FaultProxy:
    """A running proxy and what it saw."""

    url: str = ""
    accepted: int = 0
    open: int = 0
    """Connections to clients."""
    pieces: list[int] = field(default_factory=list)
    """The sizes of what was passed on to clients."""

    async def quiet(self, within_s: float = 5.0) -> None:
        """Wait until no connection is left."""
        with anyio.fail_after(within_s):
            while self.open:
                await anyio.sleep(0.001)


@asynccontextmanager
async def fault_proxy(upstream: str, toxics: Toxics, seed: int = 1) -> AsyncIterator[FaultProxy]:
    """Stand in front of the server at `upstream`, an address like `http://127.0.0.1:80`."""
    proxy, chance = FaultProxy(), random.Random(seed)
    host, _, port = upstream.removeprefix("http://").partition(":")

    async def accept(client: SocketStream) -> None:
        proxy.accepted += 1
        proxy.open += 1
        try:
            async with client, await anyio.connect_tcp(host, int(port)) as server:
                await _Passage(proxy, toxics, chance).run(client, server)
        finally:
            proxy.open -= 1

    async with raw_server(accept) as own_port:
        proxy.url = f"http://127.0.0.1:{own_port}"
        yield proxy


class _Passage:
    """One connection: requests pass as they are, answers meet the toxics."""

    def __init__(self, proxy: FaultProxy, toxics: Toxics, chance: random.Random) -> None:
        self._proxy = proxy
        self._toxics = toxics
        self._chance = chance
        self._passed = 0

    async def run(self, client: SocketStream, server: SocketStream) -> None:
        """Pass on until either end has closed."""
        async with anyio.create_task_group() as group:

            async def up() -> None:
                try:
                    while True:
                        await server.send(await client.receive(PIECE))
                except _GONE:
                    group.cancel_scope.cancel()

            group.start_soon(up)
            try:
                await self._down(server, client)
            except _GONE:
                await self._pause(self._toxics.slow_close_s)
            group.cancel_scope.cancel()

    async def _down(self, server: SocketStream, client: SocketStream) -> None:
        while True:
            data = await server.receive(PIECE)
            await self._pause(self._toxics.latency_s * self._chance.uniform(0.5, 1.5))
            for piece in self._sliced(data):
                if not await self._pass_on(piece, client):
                    return

    async def _pass_on(self, piece: bytes, client: SocketStream) -> bool:
        """Send a piece, or what of it is allowed; tell whether more may follow."""
        room = self._room()
        allowed = piece if room is None else piece[:room]
        if self._toxics.bytes_per_s:
            await self._pause(len(allowed) / self._toxics.bytes_per_s)
        await client.send(allowed)
        self._passed += len(allowed)
        self._proxy.pieces.append(len(allowed))
        if room is None or len(piece) < room:
            return True
        if self._toxics.timeout_after is not None:
            await anyio.sleep_forever()  # until the client leaves
        if self._toxics.reset_after is not None:
            raw = client.extra(SocketAttribute.raw_socket)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return False

    def _room(self) -> int | None:
        toxics = self._toxics
        limits = (toxics.timeout_after, toxics.reset_after, toxics.limit_bytes)
        named = [limit for limit in limits if limit is not None]
        return max(0, min(named) - self._passed) if named else None

    def _sliced(self, data: bytes) -> list[bytes]:
        if self._toxics.slices is None:
            return [data]
        pieces, at = [], 0
        while at < len(data):
            size = self._chance.randint(1, 2 * self._toxics.slices)
            pieces.append(data[at : at + size])
            at += size
        return pieces

    async def _pause(self, seconds: float) -> None:
        await anyio.sleep(seconds)  # of none too: slices come apart
