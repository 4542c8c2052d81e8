"""What a server can send without end or measure; every flood has a limit or a clock to meet.

`FLOODS` maps names to floods. A flood gives the bytes of one answer, HTTP and all, for one kind
of provider; `flooding` is a server that sends them to whoever asks, as fast as they are taken.
"""

import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count, repeat

import anyio
from anyio.abc import SocketStream

from tests.support.frames import arguments, call_frame, frame, head, text_frame
from tests.support.http_server import raw_server

Pieces = Iterator[bytes]
Makes = Callable[[str], Pieces]
PIECE = 64 * 1024
MUCH = 200_000_000
EVENT = b"data: " + b"x" * PIECE + b"\n"
WHOLE, LIST = b'{"choices": [{"message": {"content": "', b'{"data": [], "models": [], "more": "'
REFUSAL = b'{"error": {"message": "the engine died'
SSE_KINDS = frozenset({"openai-compatible", "openai", "anthropic"})
EVERY_KIND = SSE_KINDS | {"ollama"}


@dataclass(frozen=True)
class Flood:
    """What comes, and for which kinds; `says` must be part of the error that ends it."""

    pieces: Makes
    says: str
    kinds: frozenset[str] = EVERY_KIND
    asked: str = "chat"
    """`chat` or `list`."""
    clock_s: float = 20
    """How long the client waits, with each of its clocks."""


def _long_header(_kind: str) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nX-Long: "
    yield from repeat(b"x" * PIECE, 5_000_000 // PIECE)
    yield b"\r\n\r\n"


def _many_headers(_kind: str) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(5_000_000 // 1000):
        yield b"X-%d: %s\r\n" % (number, b"x" * 990)
    yield b"\r\n"


def _informational(_kind: str) -> Pieces:
    yield from repeat(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 100)


def _filled(start: bytes, piece: bytes = b"x" * PIECE, status: int = 200) -> Makes:
    """Give a body that begins like this and goes on with the same piece."""

    def pieces(kind: str) -> Pieces:
        yield head(kind, status=status) + start
        yield from repeat(piece, MUCH // len(piece))

    return pieces


def _long_line(kind: str) -> Pieces:
    start = b'{"message": {"content": "' if kind == "ollama" else b'data: {"choices": "'
    return _filled(start)(kind)


def _packed(kind: str, unpacked: Pieces) -> Pieces:
    yield head(kind, "content-encoding: gzip")
    packer = zlib.compressobj(9, wbits=31)
    yield from filter(None, map(packer.compress, unpacked))
    yield packer.flush()


def _bomb(kind: str) -> Pieces:
    return _packed(kind, repeat(b"\n" * PIECE, 1_000_000_000 // PIECE))


def _nested_bomb(kind: str) -> Pieces:
    bomb = gzip.compress(gzip.compress(b"\0" * 50_000_000, 9), 9)
    yield head(kind, "content-encoding: gzip, gzip", f"content-length: {len(bomb)}") + bomb


def _pings(kind: str) -> Pieces:
    yield head(kind)
    yield from repeat((b"\n" if kind == "ollama" else b": ping\n\n") * 100)


def _looking(kind: str) -> bytes:
    return head(kind) + text_frame(kind, "Looking.")


def _arguments(kind: str) -> Pieces:
    yield _looking(kind) + call_frame(kind, 1, {})
    yield from repeat(frame(kind, arguments(kind, " " * PIECE, 1)), MUCH // PIECE)


def _calls(kind: str) -> Pieces:
    yield _looking(kind)
    for number in range(MUCH // 1000):
        yield call_frame(kind, number, {"city": "Oslo" * 200})


def _dense(kind: str) -> Pieces:
    """One line below the cap on lines, of values that take 30 times their length in memory."""
    yield head(kind)
    values = b"{}," * 2_600_000 + b"{}"
    start = b'{"message":[' if kind == "ollama" else b'data: {"choices":['
    yield start + values + b"]}\n\n"
    yield text_frame(kind, "x") * 3


def _counts(kind: str) -> Pieces:
    """Reports of usage with a new key each time."""
    yield _looking(kind)
    for number in count():
        usage = {"input_tokens": 1, f"k{number}": "x" * 1000}
        yield frame(kind, {"type": "message_delta", "delta": {}, "usage": usage})
        if number > 5000:
            return


def _dense_reply(kind: str) -> Pieces:
    yield head(kind)
    yield b'{"data": [' + b"{}," * 2_600_000 + b"{}]}"


def _chunk_extension(kind: str) -> Pieces:
    yield head(kind, "transfer-encoding: chunked").replace(b"connection: close\r\n", b"")
    yield b"1;x="
    yield from repeat(b"x" * PIECE, 5_000_000 // PIECE)


FLOODS: Mapping[str, Flood] = {
    "a header of 5 MB": Flood(_long_header, "its headers are too large"),
    "5,000 headers": Flood(_many_headers, "its headers are too large"),
    "informational answers": Flood(_informational, "sent no answer within", clock_s=0.3),
    "a line of 200 MB": Flood(_long_line, "a line longer than"),
    "an event of 200 MB": Flood(_filled(b"", EVENT), "an event longer than", SSE_KINDS),
    "a whole answer of 200 MB": Flood(_filled(WHOLE), "an answer over", SSE_KINDS),
    "a gzip bomb": Flood(_bomb, "unpacks to more than"),
    "gzip in gzip": Flood(_nested_bomb, "is encoded as"),
    "pings": Flood(_pings, "sent no answer within", clock_s=0.3),
    "blanks": Flood(_filled(b"", b" " * PIECE), "a line longer than"),
    "arguments of 200 MB": Flood(_arguments, "tool calls larger than", SSE_KINDS),
    "200,000 calls": Flood(_calls, "more than 1024 tool calls"),
    "8 MB of empty objects": Flood(_dense, "over 100000 objects"),
    "ever new counts": Flood(_counts, "cut off", frozenset({"anthropic"})),
    "an error of 200 MB": Flood(_filled(REFUSAL, status=500), "the engine died"),
    "a list of 200 MB": Flood(_filled(LIST), "a reply of more than", asked="list"),
    "a list of 8 MB of empty objects": Flood(_dense_reply, "over 100000 objects", asked="list"),
    "a chunk with a name of 5 MB": Flood(_chunk_extension, "framing"),
}


@asynccontextmanager
async def flooding(flood: Flood, kind: str) -> AsyncIterator[str]:
    async def connection(stream: SocketStream) -> None:
        async with stream, anyio.create_task_group() as tasks:
            tasks.start_soon(_read_on, stream)
            with suppress(anyio.BrokenResourceError):
                for piece in flood.pieces(kind):
                    await stream.send(piece)
                await stream.send_eof()

    async with raw_server(connection) as port:
        yield f"http://127.0.0.1:{port}"


async def _read_on(stream: SocketStream) -> None:
    """Take what comes, so that closing resets nothing that is still on its way."""
    with suppress(anyio.BrokenResourceError):
        async for _ in stream:
            pass
