"""One HTTP request and its response, sent, read and closed by one child task.

However often its reader is cancelled, the connection is closed by a task that is cancelled once.
"""

import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.lowlevel
import httpx

from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.channel import Channel
from ollm_tui.providers.client import HANG_UP
from ollm_tui.providers.http_errors import Head
from ollm_tui.providers.http_faults import CUT, LIMIT, Endpoint, httpx_error
from ollm_tui.providers.watched_stream import WatchedStream

PIECES_AHEAD = 64
PIECE_BYTES = 16 * 1024
AT_ONCE_BYTES = 32 * 1024
"""What `read` joins is at most this and one chunk: decoding it blocks the event loop."""
CLOSE_S = 2.0
LAST_LOOK_S = 0.1
"""How long to look for bytes that arrived while the program was held up, before it is a timeout."""
INFLATED_BYTES = 64 * 1024
FREE_BYTES = 1024 * 1024
MAX_RATIO = 200
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 47}
T = TypeVar("T")


async def in_time(read: Callable[[], Awaitable[T]], limit_s: float) -> T:
    """Await `read` for `limit_s` seconds, and then look once more.

    A program that was held up finds the limit passed although something has arrived.

    Raises:
        TimeoutError: nothing arrived.
    """
    with anyio.move_on_after(limit_s):
        return await read()
    with anyio.fail_after(LAST_LOOK_S):
        return await read()


class BadEncoding(ValueError):
    """The body cannot be decoded safely; the message names the limit or the fault."""


class Inflater:
    """Undoes the `Content-Encoding` of a server that was asked for none.

    A few bytes can stand for gigabytes, so the output comes in bounded pieces, and a ratio that no
    text reaches is an error.
    """

    def __init__(self, encoding: str) -> None:
        bits = _WINDOW_BITS.get(encoding)
        if bits is None:
            raise BadEncoding(f"its answer is encoded as {encoding[:40]!r}")
        self._decompressor = zlib.decompressobj(bits)
        self._read = self._made = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded data in pieces of at most `INFLATED_BYTES`.

        Raises:
            BadEncoding: when the data are damaged, or grow more than text can.
        """
        self._read += len(data)
        while data and not self._decompressor.eof:
            try:
                piece = self._decompressor.decompress(data, INFLATED_BYTES)
            except zlib.error:
                raise BadEncoding("its compressed answer is damaged") from None
            self._made += len(piece)
            if self._made > FREE_BYTES and self._made > MAX_RATIO * self._read:
                raise BadEncoding(f"its answer unpacks to more than {MAX_RATIO} times its size")
            data = self._decompressor.unconsumed_tail
            yield piece


def inflater(header: str | None) -> Inflater | None:
    """Return the decoder for a `Content-Encoding` header, or None for a body without encoding.

    Raises:
        BadEncoding: for an unknown encoding, or several of them.
    """
    encoding = (header or "identity").strip().lower()
    return None if encoding in ("", "identity") else Inflater(encoding)


class ResponseReader:
    """The response to one request, in chunks; start `run` in a task group.

    `decodes` is whether to undo the body's content encoding. A body that is not decoded is not
    split into small chunks either, since it is not parsed in the event loop.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        endpoint: Endpoint,
        *,
        decodes: bool = True,
    ) -> None:
        self._client = client
        self._request = request
        self._endpoint = endpoint
        self._decodes = decodes
        self._scope = anyio.CancelScope()
        self._pieces = Channel[Head | bytes](PIECES_AHEAD)
        self._had_much = False
        self._failure: AIError | None = None
        self._connection: object = None
        self._hang_up: Callable[[], None] | None = None
        self.finished = anyio.Event()

    async def read_head(self) -> Head:
        """Wait for status and headers; call this first, and once.

        Raises:
            AIError: when no response arrived.
        """
        try:
            item = await self._pieces.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise self._failure or self._endpoint.fault(CUT) from None
        return item if isinstance(item, Head) else Head(0)

    async def read(self) -> bytes:
        """Wait for more of the body and return what has arrived; empty at its end.

        Raises:
            AIError: when the connection was lost; what arrived before has been returned.
        """
        if self._had_much:  # before anything is taken, which a time limit would lose
            self._had_much = False
            await anyio.lowlevel.checkpoint()  # keys get their turn before as much comes again
        try:
            pieces = [await self._pieces.receive()]
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            if self._failure is not None:
                raise self._failure from None
            return b""
        size = len(_body(pieces[0]))
        while size < AT_ONCE_BYTES and (piece := self._pieces.waiting()) is not None:
            pieces.append(piece)
            size += len(_body(piece))
        self._had_much = size >= AT_ONCE_BYTES
        return b"".join(map(_body, pieces))

    def gather(self) -> None:
        """Let what a slow server sends gather between two reads from now on.

        Not before the first words of an answer, which must not be delayed themselves.
        """
        if isinstance(self._connection, WatchedStream):
            self._connection.gathers = True

    def hurry(self) -> None:
        """Read the end of a reply, of which the rest has arrived, without a pause."""
        if isinstance(self._connection, WatchedStream):
            self._connection.hurry()

    async def read_all(self, limit: int) -> bytearray:
        """Return at most `limit` bytes of the body; after a lost connection, what arrived.

        Raises:
            AIError: when the connection was lost before the first byte.
        """
        body = bytearray()
        try:
            while len(body) < limit and (piece := await self.read()):
                body += piece
        except AIError:
            if not body:
                raise
        del body[limit:]
        return body

    async def read_error_body(self, limit: int, within_s: float) -> bytes:
        """Return what arrives in time of a body that explains a failure; never raises `AIError`."""
        body = bytearray()
        with anyio.move_on_after(within_s), suppress(AIError):
            while len(body) < limit and (piece := await self.read()):
                body += piece
        return bytes(body[:limit])

    def close(self) -> None:
        """End the request at once and wake up the task that waits in `read`."""
        if self._hang_up is not None:
            self._hang_up()
        self._scope.cancel()
        self._pieces.end()

    def dispose(self) -> None:
        """Close, and discard what has not been read."""
        self.close()
        self._pieces.leave()

    async def run(self) -> None:
        """Send, read and close; what httpx raises becomes the `AIError` that `read` raises."""
        answered = False
        try:
            with self._scope:
                response = await self._client.send(self._request, stream=True)
                answered = True
                self._connection = response.extensions.get("network_stream")
                self._hang_up = response.extensions.get(HANG_UP)
                if not self._decodes:
                    self.gather()
                try:
                    await self._forward(response)
                finally:
                    with anyio.move_on_after(CLOSE_S, shield=True):
                        await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._failure = httpx_error(error, self._endpoint, answered=answered)
        except BadEncoding as error:
            self._failure = self._endpoint.fault(LIMIT, limit=str(error))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # nobody reads any more
        finally:
            self._pieces.end()
            self.finished.set()

    async def _forward(self, response: httpx.Response) -> None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        await self._pieces.send(Head(response.status_code, response.reason_phrase, headers))
        decoder = inflater(headers.get("content-encoding")) if self._decodes else None
        async for piece in response.aiter_raw():
            if self._decodes:
                await self._deliver(piece, decoder)
            elif piece:
                await self._pieces.send(piece)

    async def _deliver(self, piece: bytes, decoder: Inflater | None) -> None:
        for part in decoder.feed(piece) if decoder else (piece,):
            for start in range(0, len(part), PIECE_BYTES):  # an empty chunk would mean the end
                await self._pieces.send(part[start : start + PIECE_BYTES])


def _body(item: Head | bytes) -> bytes:
    return item if isinstance(item, bytes) else b""
