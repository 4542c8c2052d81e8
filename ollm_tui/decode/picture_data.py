"""The bytes of a picture that came raw, as base64 or in a `data:` URL."""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

from ollm_tui.protocol.blocks import MediaData

_HEAD: Final = 256 * 1024
"""Characters of base64 that are decoded to read a header."""


@dataclass(frozen=True, slots=True)
class PictureData:
    """Decoded only as far as it is asked for: all of it can be many megabytes."""

    data: MediaData

    @property
    def size(self) -> int:
        """How many bytes there are; of base64 text with blanks in it about as many."""
        if isinstance(self.data, bytes):
            return len(self.data)
        return max(0, len(self.data) * 3 // 4 - self.data[-2:].count("="))

    def head(self) -> bytes:
        """Give enough of the beginning for its header."""
        return self.data if isinstance(self.data, bytes) else _decoded(self.data[:_HEAD])

    def whole(self) -> bytes:
        """Give all bytes; what is not base64 gives none."""
        return self.data if isinstance(self.data, bytes) else _decoded(self.data)


def picture_data(data: MediaData | None, url: str | None) -> PictureData | None:
    """Find a picture's own bytes; None when there is only a link to it."""
    source = data if data is not None else url
    if isinstance(source, bytes):
        return PictureData(source)
    if source is not None and source[:5].lower() == "data:":
        before, comma, body = source.partition(",")
        return PictureData(body if comma and before.lower().endswith(";base64") else b"")
    return None if data is None else PictureData(data)


def _decoded(text: str) -> bytes:
    try:
        # The last few characters may be half of a group, and padding may be left out.
        usable = "".join(text.split()).rstrip("=")
        return base64.b64decode(usable[: len(usable) - (len(usable) % 4 == 1)] + "===")
    except (binascii.Error, ValueError):
        return b""
