"""Base64 in pieces: other threads run in between, where one call would hold them for 0.1 s."""

import base64
import binascii
from collections.abc import Iterator
from typing import Final

_PIECE: Final = 3 * 64 * 1024
"""Bytes encoded at once: no piece but the last ends with padding."""
_TEXT_PIECE: Final = _PIECE // 3 * 4


def to_base64(data: bytes) -> str:
    """Return bytes as base64."""
    return "".join(
        base64.b64encode(data[at : at + _PIECE]).decode("ascii")
        for at in range(0, len(data), _PIECE)
    )


def from_base64(text: str) -> bytes:
    """Return the bytes of base64.

    Raises:
        ValueError: it is not valid: another character, or wrong padding.
    """
    return b"".join(_decoded(text))


def _decoded(text: str) -> Iterator[bytes]:
    for at in range(0, len(text), _TEXT_PIECE):
        piece = text[at : at + _TEXT_PIECE]
        if at + _TEXT_PIECE < len(text) and "=" in piece:
            raise binascii.Error("Padding before the end")
        yield base64.b64decode(piece, validate=True)
