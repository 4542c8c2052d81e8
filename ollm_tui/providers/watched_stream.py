"""The stream of one connection: what came too early or unasked, and when it is read."""

import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import httpcore

from ollm_tui.providers.read_coalescer import MAX_BYTES, PIECE_BYTES, ReadCoalescer

LAST_LOOK_S = 0.001
"""How long a TLS stream is read for bytes past the reply, because only reading finds them."""
STALE_S = 1.0
"""How soon after a request an end is taken as one that was on its way when it was sent."""


class WatchedStream(httpcore.AsyncNetworkStream):
    """A network stream that knows what arrived before it was due and what was not requested.

    `close_idle` closes the connections beside it that wait for a request. With `gathers` set, until
    the next request, what comes fast is passed on a few times a second, as `ReadCoalescer` does it.
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
        self._coalescer = ReadCoalescer(inner, is_secure=is_secure)

    @property
    def is_doubtful(self) -> bool:
        """Whether the reply began before its request was sent, and may belong to an earlier one."""
        return self._is_early and self._requests > 1

    async def is_drained(self) -> bool:
        """Whether the last exchange was in order, left nothing to read, and was not hung up."""
        if self._is_early or self._unread or not self._coalescer.is_empty or self._is_hung_up:
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
            data = self._unread or await self._received(timeout)
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
        self._coalescer.hurry()

    async def _received(self, timeout: float | None) -> bytes:  # noqa: ASYNC109 - as above
        if self.gathers:
            return await self._coalescer.read(timeout)
        return await self._inner.read(MAX_BYTES, timeout)

    def hang_up(self) -> None:
        """Send the end of the connection at once.

        Closing takes another turn of the event loop, in which a frame may be drawn.
        """
        self._is_hung_up = True
        connection: socket.socket | None = self._inner.get_extra_info("socket")
        if connection is not None:
            with suppress(OSError):  # the server was faster
                connection.shutdown(socket.SHUT_WR)

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
            self._coalescer.begin()
            self._requests += 1
        if self._is_secure and self._requests == 1:
            return  # session tickets come unasked
        if self._inner.get_extra_info("is_readable"):
            if is_first and self._requests > 1:
                raise httpcore.ConnectionNotAvailable
            self._is_early = True
