"""One request and its answer, sent, read and closed by one child task.

The task that wants the answer never touches the response: it takes pieces from a bounded stream.
So however often it is cancelled, the connection is closed by a task that nobody cancels twice.
"""

import time
import zlib
from collections.abc import Iterator
from contextlib import suppress

import anyio
import httpx
from anyio.streams.memory import MemoryObjectSendStream

from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.http_errors import Head
from ollm_tui.providers.http_faults import Endpoint, cut, fault, too_long

FRAME_S = 0.016
"""How long the kernel gathers what a slower server sends: one screen frame."""
NOTICEABLE_WAIT_S = 0.0005
BUSY_BYTES = 16 * 1024
"""More than this between two waits is a server in full flow, which is not made to wait."""
PIECES_AHEAD = 64
PIECE_BYTES = 16 * 1024
AT_ONCE_BYTES = 32 * 1024
"""What is given together is at most so long and a piece: decoding it holds up the loop."""
CLOSE_S = 2.0


INFLATED_BYTES = 64 * 1024
FREE_BYTES = 1024 * 1024
MAX_RATIO = 200
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 47}


class BadEncoding(ValueError):
    """The body cannot be decoded safely; the text names the limit or fault."""


class Inflater:
    """Decode one encoded body, piece by piece."""

    def __init__(self, encoding: str) -> None:
        bits = _WINDOW_BITS.get(encoding)
        if bits is None:
            raise BadEncoding(f"its answer is encoded as {encoding[:40]!r}")
        self._decompressor = zlib.decompressobj(bits)
        self._read = self._made = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what `data` stands for, in pieces of bounded size.

        Raises:
            BadEncoding: when the data are damaged, or grow beyond what text can.
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
    """Give the decoder for a `Content-Encoding` header, None where there is nothing to undo.

    Raises:
        BadEncoding: for an encoding that is unknown, or several of them.
    """
    encoding = (header or "identity").strip().lower()
    return None if encoding in ("", "identity") else Inflater(encoding)


class ResponseReader:
    """The answer to one request, in pieces; start `run` in a task group of the reader.

    `decodes` says whether a body that is encoded all the same is decoded; one that is not decoded
    is not given in small pieces either, as nobody parses it in the event loop.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        place: Endpoint,
        *,
        decodes: bool = True,
    ) -> None:
        self._client = client
        self._request = request
        self._place = place
        self._decodes = decodes
        self._scope = anyio.CancelScope()
        self._send, self._receive = anyio.create_memory_object_stream[Head | bytes](PIECES_AHEAD)
        self._failure: AIError | None = None
        self.gathers = not decodes
        """Whether what a slow server sends is gathered for a screen frame. The reader of an answer
        switches it on with the first words: what comes before them holds them up for nothing."""
        self.finished = anyio.Event()

    async def head(self) -> Head:
        """Wait for status and headers; call it first, and once.

        Raises:
            AIError: when no answer came.
        """
        try:
            item = await self._receive.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise self._failure or cut(self._place) from None
        return item if isinstance(item, Head) else Head(0)

    async def read(self) -> bytes:
        """Wait for more of the body and give what is there, within a bound; empty at its end.

        Raises:
            AIError: when the body broke off; what came before it was given.
        """
        try:
            pieces = [await self._receive.receive()]
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            if self._failure is not None:
                raise self._failure from None
            return b""
        size = 0
        with suppress(anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            while (size := size + len(_body(pieces[-1]))) < AT_ONCE_BYTES:
                pieces.append(self._receive.receive_nowait())
        return b"".join(map(_body, pieces))

    async def read_all(self, limit: int) -> bytearray:
        """Give the body, or its first `limit` bytes; a body that broke off as far as it came.

        Raises:
            AIError: when it broke off before it began.
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

    async def read_words(self, limit: int, within_s: float) -> bytes:
        """Give what comes in time of a body that explains a failure: nothing of it is an error."""
        body = bytearray()
        with anyio.move_on_after(within_s), suppress(AIError):
            while len(body) < limit and (piece := await self.read()):
                body += piece
        return bytes(body[:limit])

    def close(self) -> None:
        """End the request at once; the waiting reader wakes up."""
        self._scope.cancel()
        self._send.close()

    def dispose(self) -> None:
        """Close, and take nothing more."""
        self.close()
        self._receive.close()

    async def run(self) -> None:
        """Send, read and close; everything httpx raises becomes an `AIError` of the reader."""
        answered = False
        try:
            with self._scope, self._send as send:
                response = await self._client.send(self._request, stream=True)
                answered = True
                try:
                    await self._pass_on(response, send)
                finally:
                    with anyio.move_on_after(CLOSE_S, shield=True):
                        await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._failure = fault(error, self._place, answered=answered)
        except BadEncoding as error:
            self._failure = too_long(self._place, str(error))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the reader has gone
        finally:
            self._send.close()
            self.finished.set()

    async def _pass_on(
        self, response: httpx.Response, send: MemoryObjectSendStream[Head | bytes]
    ) -> None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        await send.send(Head(response.status_code, response.reason_phrase, headers))
        decoder = inflater(headers.get("content-encoding")) if self._decodes else None
        asked, arrived = time.perf_counter(), 0
        async for piece in response.aiter_raw():
            waited = time.perf_counter() - asked
            if self._decodes:
                await _deliver(piece, decoder, send)
            elif piece:
                await send.send(piece)
            arrived += len(piece)
            if waited > NOTICEABLE_WAIT_S:
                if self.gathers and arrived < BUSY_BYTES:
                    await anyio.sleep(FRAME_S)  # what comes meanwhile is read at once
                arrived = 0
            asked = time.perf_counter()


def _body(item: Head | bytes) -> bytes:
    return item if isinstance(item, bytes) else b""


async def _deliver(
    piece: bytes, decoder: Inflater | None, send: MemoryObjectSendStream[Head | bytes]
) -> None:
    for part in decoder.feed(piece) if decoder else (piece,):
        for start in range(0, len(part), PIECE_BYTES):  # none of an empty one: it means the end
            slice_ = part[start : start + PIECE_BYTES]
            try:
                send.send_nowait(slice_)
            except anyio.WouldBlock:
                await send.send(slice_)
