"""What a slow server sends gathers for a frame, but for the end of its reply."""

import errno
import socket
import time
from asyncio.trsock import TransportSocket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from unittest.mock import AsyncMock

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import httpcore
import pytest
from httpcore._backends.anyio import AnyIOStream

from ollm_tui.providers import read_coalescer
from ollm_tui.providers.watched_stream import WatchedStream


class Pieces(httpcore.AsyncNetworkStream):
    """A connection that gives the same bytes for each read."""

    def __init__(self, data: bytes = b".") -> None:
        self._data = data
        self.reads = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.reads += 1
        return self._data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None: ...

    async def aclose(self) -> None: ...

    def get_extra_info(self, info: str) -> object:
        return None


async def nothing() -> None: ...


@pytest.fixture
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no pause be over before the read that is to wait for it, however busy the machine."""
    monkeypatch.setattr(read_coalescer, "time", SimpleNamespace(monotonic=lambda: 1000.0))


@pytest.mark.parametrize("hurries", [True, False])
async def test_the_end_of_a_reply_does_not_wait(
    hurries: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_coalescer, "GATHER_S", 3600.0)
    pieces = Pieces()
    stream = WatchedStream(pieces, nothing)
    stream.gathers = True
    assert await stream.read(100) == b"."
    async with anyio.create_task_group() as group:
        group.start_soon(stream.read, 100)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert pieces.reads == 1
        if hurries:
            stream.hurry()
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        assert pieces.reads == 1 + hurries
        group.cancel_scope.cancel()
    if hurries:
        assert await stream.read(100) == b"."
        assert pieces.reads == 3, "nor does what is read after it"


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[WatchedStream, socket.socket]]:
    """A stream that gathers, and the socket of its server."""
    near, far = socket.socketpair()
    inner = AnyIOStream(await anyio.abc.SocketStream.from_socket(near))
    stream = WatchedStream(inner, nothing)
    stream.gathers = True
    with far:
        yield stream, far
    await stream.aclose()


@asynccontextmanager
async def waiting(stream: WatchedStream, far: socket.socket) -> AsyncIterator[list[bytes]]:
    """Let a further read wait for its frame; yield what it returned so far."""
    far.sendall(b"begun")
    assert await stream.read(100) == b"begun"
    received: list[bytes] = []

    async def read() -> None:
        received.append(await stream.read(1_000_000))

    stream._coalescer._may_read_at = time.monotonic() + 3600
    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await until(lambda: stream._coalescer._watched is not None)
        yield received
        group.cancel_scope.cancel()


async def until(is_so: Callable[[], bool]) -> None:
    """Let the event loop turn until something is so."""
    with anyio.fail_after(5):
        while not is_so():
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(("is_watched", "gather_s"), [(True, 0.0), (False, 0.0), (False, 0.001)])
async def test_what_gathers_comes_whole_and_in_order_with_its_end(
    is_watched: bool, gather_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_coalescer, "GATHER_S", gather_s)
    if is_watched:
        monkeypatch.setattr(read_coalescer, "_idle_transport", lambda _stream: None)
    sent = b"".join(b"%d," % number for number in range(20_000))
    async with connected() as (stream, far):
        got = b""
        for start in range(0, len(sent), 30_000):
            far.sendall(sent[start : start + 30_000])
            if start != 60_000:  # once two pieces wait
                got += await stream.read(1_000_000)
            else:
                got += await stream.read(7)  # of which the rest is kept
        far.close()
        while piece := await stream.read(1_000_000):
            got += piece
        assert got == sent


class Looks:
    """Keeps what looks into the socket have brought, and how many failed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._look = read_coalescer._arrived
        self.pieces: list[bytes] = []
        self.failures = 0
        monkeypatch.setattr(read_coalescer, "_arrived", self)

    def __call__(self, stream: httpcore.AsyncNetworkStream) -> bytes:
        try:
            self.pieces.append(self._look(stream))
        except httpcore.ReadError:
            self.failures += 1
            raise
        return self.pieces[-1]


@pytest.mark.usefixtures("stopped_clock")
async def test_what_is_read_past_the_loop_is_whole_and_in_order_with_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_coalescer, "GATHER_S", 0.02)
    looks = Looks(monkeypatch)
    async with connected() as (stream, far):
        far.sendall(b"begun,")
        received = await stream.read(100)
        for number in range(8):
            far.sendall(b"%d," % number)
            received += await stream.read(100)
        far.close()
        while data := await stream.read(100):
            received += data
        assert received == b"begun,0,1,2,3,4,5,6,7,"
        assert any(looks.pieces), "the socket itself was read"


@pytest.mark.usefixtures("stopped_clock")
async def test_a_connection_that_breaks_in_a_pause_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_coalescer, "GATHER_S", 0.1)
    looks = Looks(monkeypatch)
    async with connected() as (stream, far):
        await stream.write(b"never read")
        stream.gathers = True
        far.sendall(b"begun")
        assert await stream.read(100) == b"begun"
        far.close()
        with pytest.raises(httpcore.ReadError):
            await stream.read(100)
        assert looks.failures == 1


@pytest.mark.usefixtures("stopped_clock")
@pytest.mark.parametrize(
    ("looks", "passed_on"),
    [
        ([b"a", b"b", b"c", b"d", b"e", b"f", b"g"], b"abcdef"),
        ([b"a", b"", b"", b"", b"b"], b"a"),
        ([b"a", b"", b"", b"b", b"", b"c", b"d"], b"abc"),
        ([b"a", b"b\r\n0\r\n\r\n", b"c"], b"ab\r\n0\r\n\r\n"),
        ([b"a" * 20_000, b"b"], b"a" * 20_000),
        ([b"a", httpcore.ReadError("broken")], b"a"),
    ],
    ids=[
        "as often as a frame is drawn",
        "once no more comes",
        "although one look saw nothing",
        "at the end",
        "much at once",
        "a fault",
    ],
)
async def test_what_gathers_is_passed_on(
    looks: list[bytes | httpcore.ReadError], passed_on: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = iter(looks)

    def received(_stream: object) -> bytes:
        found = next(waiting)
        if isinstance(found, bytes):
            return found
        raise found

    monkeypatch.setattr(read_coalescer, "_arrived", received)
    monkeypatch.setattr(read_coalescer, "GATHER_S", 0.001)
    stream = WatchedStream(Pieces(), nothing)
    stream.gathers = True
    stream._coalescer._may_read_at = 1000.001
    assert await stream.read(1_000_000) == passed_on
    if isinstance(looks[-1], httpcore.ReadError):
        with pytest.raises(httpcore.ReadError):
            await stream.read(100)


@pytest.mark.parametrize(
    "last",
    [b"b\r\n0\r\n\r\n", b"b" * read_coalescer.BUSY_BYTES, b""],
    ids=["the end of a reply", "much", "the end of the connection"],
)
async def test_an_end_wakes_whoever_waits(last: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_coalescer, "GATHER_S", 3600.0)
    async with connected() as (stream, far), waiting(stream, far) as received:
        for part in (b"a", b"b"):
            far.sendall(part)
            await until(lambda: stream._coalescer._received.endswith(part))  # noqa: B023
        assert not received, "words alone wait for their frame"
        if last:
            far.sendall(last)
        else:
            far.close()
        await until(lambda: bool(received))
        assert received == [b"ab" + last]


async def test_a_connection_that_is_watched_is_closed_at_once() -> None:
    async with connected() as (stream, far):
        async with waiting(stream, far):
            assert stream._coalescer._watched is not None
        await stream.aclose()
        far.settimeout(5)
        assert await anyio.to_thread.run_sync(far.recv, 1) == b"", "no copy of it is left open"


async def test_without_a_free_file_descriptor_the_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with connected() as (stream, far):
        far.sendall(b"begun,")
        received = await stream.read(100)
        monkeypatch.setattr(TransportSocket, "dup", refused)
        far.sendall(b"more")
        with anyio.fail_after(5):
            received += await stream.read(100)
    assert received == b"begun,more"


def refused(_socket: TransportSocket) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


async def test_a_fast_server_wakes_the_event_loop_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_coalescer, "GATHER_S", 3600.0)
    monkeypatch.setattr(read_coalescer, "MAX_WAKES", 3)
    async with connected() as (stream, far), waiting(stream, far) as received:
        for number in range(1, 4):
            assert stream._coalescer._watched is not None
            far.sendall(b".")
            await until(lambda: len(stream._coalescer._received) == number)  # noqa: B023
        assert stream._coalescer._watched is None
        assert not received


@pytest.mark.parametrize(
    ("text", "rate", "waits"),
    [
        (b'{"done":false}\n', 100, False),
        (b'data: {"done":false}\r\n\r\n', 100, False),
        (b'{"done":false}\n', 200, True),
        (b"part of a file", 100, True),
    ],
)
async def test_what_comes_as_slowly_as_people_read_does_not_wait(
    text: bytes, rate: float, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = WatchedStream(Pieces(text), nothing)
    stream.gathers = True
    now = 1000.0
    monkeypatch.setattr(read_coalescer, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(stream._coalescer, "_rest", rest := AsyncMock())
    for _ in range(20):
        await stream.read(1_000_000)
        rest.reset_mock()
        now += 1 / rate
    await stream.read(1_000_000)
    assert rest.called == waits
