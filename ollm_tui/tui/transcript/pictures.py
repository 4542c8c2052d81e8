"""The pictures of a transcript: decoded one after another, in a thread, once they are in view."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.tui.transcript.block_list import BlockList

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.picture_source import PictureSource


class PictureDecoder:
    """Fills in the colours of pictures, which have all their rows from the first frame on."""

    def __init__(
        self,
        block_list: BlockList,
        start: Callable[[Coroutine[None, None, None]], object],
        decoded: Callable[[int], None],
    ) -> None:
        """Begin with nothing to decode.

        `start` runs a coroutine in the background, and `decoded` is called with the index of
        each block whose picture is ready.
        """
        self._block_list = block_list
        self._start = start
        self._on_decoded = decoded
        self._waiting: dict[PictureSource, str] = {}
        """Sources with the ids of their blocks; the one requested last is decoded first."""
        self._is_decoding = False

    @property
    def busy(self) -> bool:
        """Whether a picture is being decoded."""
        return self._is_decoding

    def request(self, source: "PictureSource", block_id: str) -> None:
        """Decode a picture soon."""
        self._waiting.pop(source, None)
        self._waiting[source] = block_id
        if not self._is_decoding:
            self._is_decoding = True
            self._start(self._decode())

    async def _decode(self) -> None:
        try:
            while self._waiting:
                source, block_id = self._waiting.popitem()
                if self._is_shown(source, block_id):
                    await anyio.to_thread.run_sync(source.decode, abandon_on_cancel=True)
                if self._is_shown(source, block_id):
                    self._on_decoded(self._block_list.index(block_id))
        finally:
            self._is_decoding = False

    def _is_shown(self, source: "PictureSource", block_id: str) -> bool:
        """Whether the picture still has rows."""
        if block_id not in self._block_list:
            return False
        block = self._block_list.block(block_id)
        return block.source is source and block.painter is not None
