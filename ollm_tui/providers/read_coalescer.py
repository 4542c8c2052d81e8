"""`ReadCoalescer`: gathers what a connection receives, to pass it on once a frame.

Passing data on costs far more than receiving it. Data that comes faster than `SLOW_RATE` waits for
its frame, but no longer than until the reply is whole.
"""

import asyncio
import math
import os
import ssl
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import httpcore

if TYPE_CHECKING:
    import socket

PIECE_BYTES = 64 * 1024
MAX_BYTES = 1024 * 1024
"""More than the event loop reads at once, so that nothing stays unseen in anyio's queue."""
GATHER_S = 0.011
"""A period: if nothing more arrives in one, what gathered is passed on."""
LOOKS_PER_PERIOD = 2
"""How often the socket is looked into, so that the end of a reply is seen soon."""
MAX_PERIODS = 3
"""After so many, what gathered is passed on in any case: about as often as a frame is drawn."""
SLOW_RATE = 127.0
"""Events a second; what comes more slowly is passed on at once."""
WATCHED_RATE = 300.0
"""Events a second; up to this rate each wakes the event loop, so that an end is seen at once."""
MAX_WAKES = 24
"""The event loop is woken so often between two reads, and looks by the clock then."""
RATE_S = 0.05
"""How long events are counted to know their rate."""
BUSY_BYTES = 16 * 1024
"""A server that sends so much between two reads is fast, and is read without a pause."""
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_EVENT_ENDS = b"}\n", b"}\r\n"


class ReadCoalescer:
    """Reads a connection with a pause between two reads."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, *, is_secure: bool) -> None:
        self._inner = inner
        self._is_secure = is_secure
        self._pause = anyio.Event()
        """Set when what gathered is to be passed on."""
        self._received = bytearray()
        self._looks = 0
        self._seen = 0
        """How many bytes had been received by the end of the last period."""
        self._next_look: asyncio.TimerHandle | None = None
        self._watched: socket.socket | None = None
        self._wakes = 0
        self._fault: httpcore.ReadError | None = None
        self.begin()

    def begin(self) -> None:
        """Begin with a new request, of whose reply no rate is known."""
        self._may_read_at = 0.0
        self._rate: float | None = None
        self._events = 0.0
        self._counted_from: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was received that was not read."""
        return not self._received

    def hurry(self) -> None:
        """End the pause."""
        self._pause.set()

    async def read(self, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as httpcore has it
        """Return what has gathered, after a pause; wait if it is nothing.

        Raises:
            ReadError: the connection is broken.
        """
        if self._fault is None and (pause := self._may_read_at - time.monotonic()) > 0:
            await self._rest(pause)
        data = bytes(self._received)
        self._received.clear()
        if self._fault is not None and not data:
            raise self._fault
        data = data or await self._inner.read(MAX_BYTES, timeout)
        if data and self._is_secure:
            data += self._decrypted()
        now = time.monotonic()
        self._note_rate(data, now)
        is_slow = self._rate is not None and self._rate < SLOW_RATE
        self._may_read_at = now + (0.0 if is_slow or len(data) >= BUSY_BYTES else GATHER_S)
        return data

    def _note_rate(self, data: bytes, now: float) -> None:
        began = self._counted_from
        if began is not None:
            # A file has no events, and nobody reads it as it comes.
            self._events += sum(map(data.count, _EVENT_ENDS)) or math.inf
        if began is None or now - began > RATE_S:
            self._rate = None if began is None else self._events / (now - began)
            self._events, self._counted_from = 0.0, now

    async def _rest(self, seconds: float) -> None:
        self._pause, self._looks, self._seen = anyio.Event(), 0, 0
        self._look_in(seconds / LOOKS_PER_PERIOD)
        try:
            if self._rate is None or self._rate <= WATCHED_RATE:
                self._watch()
            await self._pause.wait()
        finally:
            if self._next_look is not None:
                self._next_look.cancel()
            self._unwatch()

    def _look_in(self, seconds: float) -> None:
        # Without a task, which costs as much as what it would read.
        self._next_look = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._looks += 1
        self._receive()
        if self._looks % LOOKS_PER_PERIOD == 0:
            if len(self._received) == self._seen or self._looks == LOOKS_PER_PERIOD * MAX_PERIODS:
                self._pause.set()
            self._seen = len(self._received)
        if not self._pause.is_set():
            self._look_in(GATHER_S / LOOKS_PER_PERIOD)

    def _watch(self) -> None:
        """Be woken by what arrives; the socket is duplicated, since asyncio watches no other's."""
        transport = _idle_transport(_plain_stream(self._inner))
        if transport is not None:
            with suppress(OSError):  # no more files may be open: the clock does as well
                self._watched, self._wakes = transport.get_extra_info("socket").dup(), 0
                asyncio.get_running_loop().add_reader(self._watched, self._wake)

    def _unwatch(self) -> None:
        watched, self._watched = self._watched, None
        if watched is not None:
            asyncio.get_running_loop().remove_reader(watched)
            watched.close()

    def _wake(self) -> None:
        self._wakes += 1
        if not self._receive() and not self._is_secure:
            self._pause.set()  # the end of the connection, which wakes it for ever
        if self._pause.is_set() or self._wakes == MAX_WAKES:
            self._unwatch()

    def _receive(self) -> bool:
        """Receive what has arrived, and end the pause if that is not to wait; False if nothing."""
        piece = b""
        try:
            piece = _arrived(self._inner)
        except httpcore.ReadError as error:
            self._fault = error
        if self._is_secure:
            piece += self._decrypted()
        self._received += piece
        is_much = len(self._received) >= BUSY_BYTES
        if is_much or self._fault is not None or self._received.endswith(_LAST_CHUNK):
            self._pause.set()
        return bool(piece)

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


def _arrived(stream: httpcore.AsyncNetworkStream) -> bytes:
    """Return what has arrived, and nothing if only the event loop can tell.

    Over TLS it is given to the session, and nothing is returned.

    Raises:
        ReadError: the connection is broken.
    """
    transport = _idle_transport(_plain_stream(stream))
    if transport is None:
        return b""
    try:
        # To have asyncio watch it again costs three turns of the loop; this, a tenth of one.
        piece = os.read(transport.get_extra_info("socket").fileno(), PIECE_BYTES)
    except BlockingIOError:
        return b""
    except OSError as error:
        raise httpcore.ReadError(str(error)) from error
    records = _records(stream)
    if records is None:
        return piece
    records.write(piece)
    return b""


def _records(stream: httpcore.AsyncNetworkStream) -> ssl.MemoryBIO | None:
    """Return where the records of a TLS session are put."""
    records = getattr(getattr(stream, "_stream", None), "_read_bio", None)
    return records if isinstance(records, ssl.MemoryBIO) else None


def _plain_stream(stream: httpcore.AsyncNetworkStream) -> object:
    """Return the stream of anyio's that has the socket."""
    inner = getattr(stream, "_stream", None)
    return inner if _records(stream) is None else getattr(inner, "transport_stream", None)


def _idle_transport(stream: object) -> asyncio.Transport | None:
    """Return the transport of a plain stream of anyio's, if all that arrived is in its socket.

    The loop does not watch the socket between two reads of the stream.
    """
    transport, protocol = getattr(stream, "_transport", None), getattr(stream, "_protocol", None)
    if os.name != "posix" or not isinstance(transport, asyncio.Transport) or protocol is None:
        return None
    if transport.is_reading() or transport.is_closing():
        return None
    if getattr(protocol, "read_queue", True) or getattr(protocol, "is_at_eof", True):
        return None
    return transport
