"""The stream of one connection: what came too early or unasked, and when it is read."""

import asyncio
import math
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import httpcore

PIECE_BYTES = 64 * 1024
MOST_BYTES = 1024 * 1024
"""More than the event loop reads at once, so that nothing stays unseen in anyio's queue."""
LAST_LOOK_S = 0.001
"""How long a TLS stream is read for bytes past the reply, because only reading finds them."""
GATHER_S = 0.011
"""Time between two looks at what a slow server sends, which gathers meanwhile."""
LOOKS = 3
"""After so many what gathered is passed on: as often as a frame is drawn."""
SLOW_RATE = 127.0
"""Events a second; what comes more slowly is passed on at once."""
RATE_S = 0.05
"""How long events are counted to know their rate."""
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_EVENT_ENDS = b"}\n", b"}\r\n"
BUSY_BYTES = 16 * 1024
"""A server that sends so much between two reads is fast, and is read without a pause."""
STALE_S = 1.0
"""How soon after a request an end is taken as one that was on its way when it was sent."""


class WatchedStream(httpcore.AsyncNetworkStream):
    """A network stream that knows what arrived before it was due and what was not requested.

    `close_idle` closes the connections beside it that wait for a request. With `gathers` set, until
    the next request, what comes faster than at `SLOW_RATE` is passed on when nothing came for
    `GATHER_S`, when the reply is whole, and after `LOOKS`: what is passed on costs far more than to
    look for it.
    """

    def __init__(
        self,
        inner: httpcore.AsyncNetworkStream,
        close_idle: Callable[[], Awaitable[None]],
        *,
        is_secure: bool = False,
    ) -> None:
        self._inner = inner
        self._close_idle = close_idle
        self._is_secure = is_secure
        self._unread = b""
        self._is_sending = False
        self._requests = 0
        self._sent_at = 0.0
        self._has_reply = False
        self._is_early = False
        self._is_hung_up = False
        self.gathers = False
        self._may_read_at = 0.0
        self._pause = anyio.Event()
        """Set when what gathered is to be passed on."""
        self._gathering = bytearray()
        self._looks = 0
        self._is_slow = False
        self._events = 0.0
        self._counted_from: float | None = None
        self._next_look: asyncio.TimerHandle | None = None
        self._fault: httpcore.ReadError | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether the reply began before its request was sent, and may belong to an earlier one."""
        return self._is_early and self._requests > 1

    async def is_drained(self) -> bool:
        """Whether the last exchange was in order, left nothing to read, and was not hung up."""
        if self._is_early or self._unread or self._gathering or self._is_hung_up:
            return False
        if not self._is_secure:
            return True
        # Records may wait in buffers of the TLS layer, where only reading finds them.
        with anyio.move_on_after(LAST_LOOK_S) as look, suppress(httpcore.NetworkError):
            await self._inner.read(1)
        return look.cancelled_caught

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as httpcore has it
        """Return received bytes; what exceeds `max_bytes` is kept for the next call.

        Raises:
            ConnectionNotAvailable: The server seems to have closed the idle connection before.
        """
        self._is_sending = False
        try:
            data = self._unread or await self._gathered(timeout)
        except httpcore.ReadError:
            await self._refuse_if_stale()
            raise
        if not data:
            await self._refuse_if_stale()
        self._has_reply = True
        self._unread = data[max_bytes:]
        return data[:max_bytes]

    def hurry(self) -> None:
        """Read at once from now on: nothing but the end of the reply is to come."""
        self.gathers = False
        self._pause.set()

    def hang_up(self) -> None:
        """Send the end of the connection at once.

        Closing takes another turn of the event loop, in which a frame may be drawn.
        """
        self._is_hung_up = True
        connection: socket.socket | None = self._inner.get_extra_info("socket")
        if connection is not None:
            with suppress(OSError):  # the server was faster
                connection.shutdown(socket.SHUT_WR)

    async def _gathered(self, timeout: float | None) -> bytes:  # noqa: ASYNC109 - as above
        if not self.gathers:
            return await self._inner.read(MOST_BYTES, timeout)
        if self._fault is None and (pause := self._may_read_at - time.monotonic()) > 0:
            await self._rest(pause)
        data = bytes(self._gathering)
        self._gathering.clear()
        if self._fault is not None and not data:
            raise self._fault
        data = data or await self._inner.read(MOST_BYTES, timeout)
        if data and self._is_secure:
            data += self._decrypted()
        now = time.monotonic()
        self._note_rate(data, now)
        self._may_read_at = now + (0.0 if self._is_slow or len(data) >= BUSY_BYTES else GATHER_S)
        return data

    def _note_rate(self, data: bytes, now: float) -> None:
        began = self._counted_from
        if began is not None:
            # A file has no events, and nobody reads it as it comes.
            self._events += sum(map(data.count, _EVENT_ENDS)) or math.inf
        if began is None or now - began > RATE_S:
            self._is_slow = began is not None and self._events < SLOW_RATE * (now - began)
            self._events, self._counted_from = 0.0, now

    async def _rest(self, seconds: float) -> None:
        self._pause, self._looks = anyio.Event(), 0
        self._look_in(seconds)
        try:
            await self._pause.wait()
        finally:
            if self._next_look is not None:
                self._next_look.cancel()

    def _look_in(self, seconds: float) -> None:
        # Without a task, which costs as much as what it would read.
        self._next_look = asyncio.get_running_loop().call_later(seconds, self._look_for_more)

    def _look_for_more(self) -> None:
        self._looks += 1
        try:
            piece = _received(self._inner)
        except httpcore.ReadError as error:
            self._fault, piece = error, b""
        if self._is_secure:
            piece += self._decrypted()
        self._gathering += piece
        is_due = not piece or self._looks == LOOKS or self._fault is not None
        is_much = len(self._gathering) >= BUSY_BYTES
        if is_due or is_much or self._gathering.endswith(_LAST_CHUNK):
            self._pause.set()
        else:
            self._look_in(GATHER_S)

    def _decrypted(self) -> bytes:
        """Return what is in all TLS records that have arrived; reading the stream gives but one.

        A fault is kept for the next read.
        """
        session, text = self._inner.get_extra_info("ssl_object"), b""
        try:
            while isinstance(session, ssl.SSLObject) and (piece := session.read(PIECE_BYTES)):
                text += piece
        except ssl.SSLWantReadError:
            pass  # the next record is not whole yet
        except ssl.SSLError as error:
            self._fault = httpcore.ReadError(str(error))
        return text

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as above
        """Send bytes, checking before each piece whether the reply has begun already.

        Raises:
            ConnectionNotAvailable: There are unread bytes before a further request is sent.
        """
        for start in range(0, len(buffer), PIECE_BYTES):
            self._look()
            self._sent_at = time.monotonic()
            await self._inner.write(buffer[start : start + PIECE_BYTES], timeout)

    async def _refuse_if_stale(self) -> None:
        """Have httpcore send the request again if it probably never reached the server.

        llama.cpp, for one, closes after each streamed reply without announcing it. But a server may
        close because of the request, so it is sent again only once: with no idle connection left
        httpcore opens a new one, on which nothing is sent again.
        """
        is_soon = time.monotonic() - self._sent_at < STALE_S
        if self._requests > 1 and not self._has_reply and is_soon:
            await self._close_idle()
            raise httpcore.ConnectionNotAvailable

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - as above
    ) -> httpcore.AsyncNetworkStream:
        """Return the stream on top of a TLS session on this one."""
        secure = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        return WatchedStream(secure, self._close_idle, is_secure=True)

    def get_extra_info(self, info: str) -> object:
        """Return facts about the connection."""
        return self._inner.get_extra_info(info)

    def _look(self) -> None:
        is_first = not self._is_sending
        if is_first:
            self._is_sending = True
            self._has_reply = self.gathers = False
            self._is_slow, self._events, self._counted_from = False, 0.0, None
            self._requests += 1
        if self._is_secure and self._requests == 1:
            return  # session tickets come unasked
        if self._inner.get_extra_info("is_readable"):
            if is_first and self._requests > 1:
                raise httpcore.ConnectionNotAvailable
            self._is_early = True


def _received(stream: httpcore.AsyncNetworkStream) -> bytes:
    """Return what has arrived, and nothing if only the event loop can tell.

    Over TLS it is given to the session, and nothing is returned.

    Raises:
        ReadError: the connection is broken.
    """
    inner = getattr(stream, "_stream", None)
    records = getattr(inner, "_read_bio", None)
    if not isinstance(records, ssl.MemoryBIO):
        return _from_socket(inner)
    records.write(_from_socket(getattr(inner, "transport_stream", None)))
    return b""


def _from_socket(stream: object) -> bytes:
    """Return what has arrived on a plain socket of anyio's, and nothing as above.

    The loop does not watch the socket between two reads of anyio's stream. To watch it again and to
    be woken costs it three turns, and reading alone a tenth of one.

    Raises:
        ReadError: the connection is broken.
    """
    transport, protocol = getattr(stream, "_transport", None), getattr(stream, "_protocol", None)
    if os.name != "posix" or not isinstance(transport, asyncio.Transport) or protocol is None:
        return b""
    if transport.is_reading() or transport.is_closing():
        return b""
    if getattr(protocol, "read_queue", True) or getattr(protocol, "is_at_eof", True):
        return b""
    try:
        return os.read(transport.get_extra_info("socket").fileno(), PIECE_BYTES)
    except BlockingIOError:
        return b""
    except OSError as error:
        raise httpcore.ReadError(str(error)) from error
