"""What came of asking for a page, and how much of it is taken."""

import zlib
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.web.addresses import WebAddress

MAX_BYTES: Final = 10_000_000
"""Of a page on the wire, and once unpacked."""
MAX_REDIRECTS: Final = 5
LOADING_S: Final = 7.0
"""Time limit of all requests; reading the text may take some seconds more."""
_PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_PIECE: Final = 256 * 1024


class LoadFailure(Exception):
    """Why there is no page, as a sentence."""


@dataclass(slots=True)
class LoadedPage:
    """The last response, as far as it arrived."""

    address: WebAddress
    status: int
    media_type: str
    charset: str = ""
    body: bytearray = field(default_factory=bytearray)
    stopped: str = ""
    """Why it is not whole, such as `over 10 MB`."""
    elsewhere: str = ""
    """Where it leads, if that is another host."""


class Unpacking:
    """Takes the bytes of a body, packed at most once, up to a limit."""

    def __init__(self, encoding: str, page: LoadedPage) -> None:
        """Fill `page`.

        Raises:
            LoadFailure: it is packed in another way.
        """
        self._page = page
        self._received = 0
        self._inflate: zlib._Decompress | None = None
        name = encoding.strip().lower()
        if name in _PACKED:
            self._inflate = zlib.decompressobj(47 if name != "deflate" else 15)
        elif name not in {"", "identity"}:
            raise LoadFailure("The server packs the page in a way that ollm did not ask for.")

    def take(self, data: bytes) -> bool:
        """Take a piece; return whether further ones are wanted."""
        self._received += len(data)
        is_over = self._received > MAX_BYTES
        if self._inflate is None:
            self._page.body += data[: MAX_BYTES - len(self._page.body)]
        else:
            is_over = self._unpack(self._inflate, data) or is_over
        if is_over:
            self._page.stopped = "over 10 MB"
        return not is_over

    def _unpack(self, inflate: "zlib._Decompress", data: bytes) -> bool:
        """Unpack a piece; return whether it is too much."""
        while data:
            room = MAX_BYTES - len(self._page.body)
            if room <= 0:
                return True
            try:
                self._page.body += inflate.decompress(data, min(room, _PIECE))
            except zlib.error:
                raise LoadFailure("The page is packed in a broken way.") from None
            data = inflate.unconsumed_tail
        return False
