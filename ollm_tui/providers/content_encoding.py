"""Undo `Content-Encoding` where a server encodes although it was asked not to.

A few bytes can stand for gigabytes, so the output is given in bounded pieces and a ratio that no
text reaches ends the stream.
"""

import zlib
from collections.abc import Iterator

PIECE_BYTES = 64 * 1024
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
                piece = self._decompressor.decompress(data, PIECE_BYTES)
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
