"""A server of files, with ranges and ETags as the specification has them, and its lies."""

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import anyio

from tests.support.http_server import Received, Reply, asked_part

PIECE = 64 * 1024


def content(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@dataclass
class SendBuilder:
    """One answer before it goes out; a lie changes it."""

    status: int
    headers: dict[str, str]
    body: bytes
    start: int = 0
    chunked: bool = False
    """Framed in pieces, in place of a length."""
    cut_at: int | None = None
    """After so many bytes of the body the connection ends."""
    stalls_at: int | None = None


Lie = Callable[["FileHost", SendBuilder, random.Random], None]


@dataclass
class FileHost:
    """Serves one file at any path; `lies` are told one after the other, then the truth."""

    data: bytes
    etag: str | None = '"one"'
    lies: list[Lie] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[Mapping[str, str]] = field(default_factory=list)
    sent: int = 0
    """Bytes of bodies that went out."""
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    piece: int = PIECE
    between: Callable[[int], Awaitable[None]] | None = None
    """Is awaited before each piece, with its place in the file."""

    @property
    def sum(self) -> str:
        return sha256(self.data).hexdigest()

    @property
    def ranges(self) -> list[str | None]:
        return [headers.get("range") for headers in self.asked]

    def become(self, data: bytes, etag: str | None) -> None:
        self.data, self.etag = data, etag

    async def __call__(self, request: Received, reply: Reply) -> None:
        self.asked.append(request.headers)
        lie = self.lies.pop(0) if self.lies else None
        if lie is becomes_another:
            becomes_another(self, SendBuilder(0, {}, b""), self.chance)
        sending = self._truth(request.headers)
        if lie is not None and lie is not becomes_another:
            lie(self, sending, self.chance)
        await self._send(sending, reply)

    def _truth(self, asked: Mapping[str, str]) -> SendBuilder:
        headers = {"content-type": "application/octet-stream", "accept-ranges": "bytes"}
        status, part, start, end = asked_part(asked, len(self.data), self.etag)
        headers |= self.headers | {"etag": self.etag or ""} | dict(part)
        return SendBuilder(status, headers, self.data[start:end], start)

    async def _send(self, sending: SendBuilder, reply: Reply) -> None:
        if sending.cut_at == -1:
            reply.cut()
        length = str(len(sending.body))
        framing = (
            {"transfer-encoding": "chunked"} if sending.chunked else {"content-length": length}
        )
        reply.chunked = sending.chunked
        headers = framing | sending.headers
        await reply.head(sending.status, headers)
        for at, piece in self._pieces(sending):
            if sending.stalls_at is not None and at >= sending.stalls_at:
                await anyio.sleep_forever()
            if self.between is not None:
                await self.between(sending.start + at)
            await (reply.write(piece) if sending.chunked else reply.raw(piece))
            self.sent += len(piece)
        if sending.stalls_at is not None:
            await anyio.sleep_forever()
        if sending.cut_at is not None or headers.get("content-length") not in (None, length):
            reply.cut()

    def _pieces(self, sending: SendBuilder) -> Iterator[tuple[int, bytes]]:
        end = len(sending.body) if sending.cut_at is None else sending.cut_at
        for start in range(0, end, self.piece):
            yield start, sending.body[start : min(end, start + self.piece)]


def cut(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.cut_at = chance.randrange(len(sending.body) + 1)


def cut_before_head(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.cut_at = -1


def stall(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.stalls_at = chance.randrange(len(sending.body) + 1)


def weak_etag(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.headers["etag"] = f"W/{host.etag}"
    cut(host, sending, chance)


def no_etag(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.headers["etag"] = ""
    cut(host, sending, chance)


def ignores_range(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    if sending.status == 206:
        sending.status, sending.body, sending.start = 200, host.data, 0
        sending.headers["content-range"] = ""


def not_satisfiable(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.status, sending.body = 416, b""
    sending.headers["content-range"] = f"bytes */{len(host.data)}"


def wrong_range(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    """Bytes of another place, under a name that tells so, or nothing at all."""
    if sending.status != 206:
        return
    size = len(host.data)
    shifted = max(0, sending.start - chance.randrange(1, 1000))
    sending.headers["content-range"] = chance.choice(
        [
            f"bytes {shifted}-{size - 1}/{size}",
            f"bytes {sending.start}-{size - 1}/{size + 7}",
            f"bytes {sending.start}-{size - 2}/{size}",
            f"bytes {size - 1}-{sending.start}/{size}",
            f"items {sending.start}-{size - 1}/{size}",
            f"bytes {sending.start}-/{size}",
            "bytes",
            "",
        ]
    )
    if chance.random() < 0.5:
        sending.body = host.data[shifted:]


def too_short(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    """A length that is true of the body, which is not all of the file."""
    sending.body = sending.body[: chance.randrange(len(sending.body) + 1)]


def too_long(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    """More than the file, without a length that says so."""
    sending.body += b"x" * chance.randrange(1, 100_000)
    sending.chunked = True


def promises_more(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.headers["content-length"] = str(len(sending.body) + chance.randrange(1, 100_000))


def in_chunks(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.chunked = True
    cut(host, sending, chance)


def other_bytes(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    """The right words about the wrong bytes."""
    if sending.body:
        at = chance.randrange(len(sending.body))
        sending.body = sending.body[:at] + bytes([sending.body[at] ^ 1]) + sending.body[at + 1 :]


def becomes_another(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    """The file is replaced by one of the same size; the one after the lies is the first again."""
    changed = content(len(host.data), chance.randrange(10**6))
    host.become(changed, f'"{chance.randrange(10**6)}"')


def packed(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.headers["content-encoding"] = "gzip"


def web_page(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.status, sending.body = 200, b"<html>Sign in</html>"
    sending.headers |= {"content-type": "text/html", "content-range": ""}


def overloaded(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.status, sending.body = chance.choice([429, 500, 502, 503]), b"later"
    sending.headers |= {"content-range": "", "retry-after": chance.choice(["", "3"])}


def forbidden(host: FileHost, sending: SendBuilder, chance: random.Random) -> None:
    sending.status, sending.body = 403, b"no"
    sending.headers["content-range"] = ""


PASSING: tuple[Lie, ...] = (
    *(cut, cut_before_head, stall, weak_etag, no_etag, ignores_range, not_satisfiable),
    *(promises_more, in_chunks, overloaded, wrong_range),
)
"""After these the file can still come whole."""
REFUSED: tuple[Lie, ...] = (too_short, too_long, other_bytes, becomes_another, packed, web_page)
ALL: tuple[Lie, ...] = (*PASSING, *REFUSED, forbidden)
