"""A hostile page costs a bounded time, traffic and memory, whatever its server sends."""

import json
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from ollm_tui.web.page import MAX_BYTES
from ollm_tui.web.reading import MAX_TEXT_BYTES
from tests.support.http_server import Received, Reply, in_thread

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
]
ROOT = Path(__file__).resolve().parents[2]
MAX_SECONDS = 11.0
"""The time limit of a call, whatever is slow."""
MAX_GROWTH = 30_000_000
"""Bytes of memory; a page of 10 MB is a third of it."""
IN_BUFFERS = 8_000_000
"""Bytes that sockets may hold after the last one that was read."""
PIECE = b"All work and no play. " * 3_000
TEN_GB = 10_000_000_000


@dataclass
class Site:
    """Answers by the path of a page, and counts what it gave."""

    sent: int = 0
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: Received, reply: Reply) -> None:
        if request.path == "/harmless":
            await reply.whole(b"<title>Harmless</title><p>It rains.</p>", 200, "text/html")
            return
        self.asked.append(request.path)
        await ANSWERS[request.path](self, reply)
        if request.path != "/redirects":
            reply.cut()

    async def give(self, reply: Reply, piece: bytes) -> None:
        await reply.raw(piece)
        self.sent += len(piece)

    async def for_ever(self, reply: Reply, piece: bytes, pause_s: float = 0.0) -> None:
        while True:
            await self.give(reply, piece)
            await anyio.sleep(pause_s)


async def ten_gigabytes(site: Site, reply: Reply) -> None:
    await reply.head(200, {"content-type": "text/html", "content-length": str(TEN_GB)})
    await site.for_ever(reply, PIECE)


async def bomb(site: Site, reply: Reply) -> None:
    """10 MB that unpack to 10 GB."""
    await reply.head(200, {"content-type": "text/plain", "content-encoding": "gzip"})
    packer, letters = zlib.compressobj(9, wbits=31), b"a" * (1 << 20)
    for _ in range(TEN_GB >> 20):
        if piece := packer.compress(letters):
            await site.give(reply, piece)


async def packed_twice(site: Site, reply: Reply) -> None:
    body = PIECE * 1000
    for _ in range(2):
        packer = zlib.compressobj(9, wbits=31)
        body = packer.compress(body) + packer.flush()
    await reply.head(200, {"content-type": "text/plain", "content-encoding": "gzip, gzip"})
    await site.give(reply, body)


async def drip(site: Site, reply: Reply) -> None:
    await reply.head(200, {"content-type": "text/plain"})
    await site.for_ever(reply, b"drip ", 0.05)


async def slow_head(site: Site, reply: Reply) -> None:
    await site.give(reply, b"HTTP/1.1 200 OK\r\n")
    await site.for_ever(reply, b"x: y\r\n", 0.3)


async def endless_head(site: Site, reply: Reply) -> None:
    await site.give(reply, b"HTTP/1.1 200 OK\r\nx: ")
    await site.for_ever(reply, b"y" * 65536)


async def redirects(_site: Site, reply: Reply) -> None:
    await reply.whole(b"moved", 302, "text/html", {"location": "/redirects"})


async def no_utf16(site: Site, reply: Reply) -> None:
    await reply.head(200, {"content-type": "text/html; charset=utf-16"})
    await site.give(reply, b"<p>It is no UTF-16.</p>!")


async def binary(site: Site, reply: Reply) -> None:
    await reply.head(200, {"content-type": "text/html"})
    for _ in range(100):
        await site.give(reply, bytes(range(256)) * 400)


async def nested(site: Site, reply: Reply) -> None:
    """9 MB of elements in each other, none of them closed."""
    await reply.head(200, {"content-type": "text/html"})
    for _ in range(90):
        await site.give(reply, b"<p>The rain falls <b>on <i>the plain." * 2_600)


ANSWERS: dict[str, Callable[[Site, Reply], Awaitable[None]]] = {
    "/ten-gigabytes": ten_gigabytes,
    "/bomb": bomb,
    "/packed-twice": packed_twice,
    "/drip": drip,
    "/slow-head": slow_head,
    "/endless-head": endless_head,
    "/redirects": redirects,
    "/no-utf16": no_utf16,
    "/binary": binary,
    "/nested": nested,
}
SAID = {
    "/ten-gigabytes": "Stopped: over 10 MB.",
    "/bomb": "Stopped: over 10 MB.",
    "/packed-twice": "packs the page in a way that ollm did not ask for",
    "/drip": "Stopped: after 7 s.",
    "/slow-head": "did not answer within 7 s",
    "/endless-head": "does not speak HTTP",
    "/redirects": "over 5 redirects",
    "/no-utf16": "It is no UTF-16.",
    "/binary": "It is not text",
    "/nested": "The rain falls",
}


@pytest.fixture
def served() -> Iterator[tuple[Site, str]]:
    site = Site()
    with in_thread(site.answer) as server:
        yield site, server.url


@pytest.mark.parametrize("path", ANSWERS)
def test_a_hostile_page_ends_within_its_limits(path: str, served: tuple[Site, str]) -> None:
    site, url = served
    done = subprocess.run(
        [sys.executable, "-m", "tests.web.fetch_alone", f"{url}{path}"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert SAID[path] in found["content"]
    assert found["seconds"] <= MAX_SECONDS
    assert found["grown"] <= MAX_GROWTH
    assert len(found["content"].encode()) <= MAX_TEXT_BYTES + 2_000
    assert site.sent <= MAX_BYTES + IN_BUFFERS
    assert len(site.asked) <= 6
