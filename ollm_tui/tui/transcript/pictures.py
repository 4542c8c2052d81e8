"""Pictures among painted rows: decoded one after another, in a thread, once they are looked at."""

from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.tui.transcript.block import Block, BlockKind
from ollm_tui.tui.transcript.selecting import SelectableRows

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import MediaData
    from ollm_tui.tui.transcript.picture_source import PictureSource


class PictureRows(SelectableRows):
    """A picture has all its rows from the first frame on; only their colours come later."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._undecoded: dict[PictureSource, str] = {}
        """What waits, with the ids of the blocks; the one asked for last is decoded first."""
        self._is_decoding = False

    def add_picture(
        self,
        block_id: str,
        data: "MediaData | None",
        mime_type: str | None = None,
        url: str | None = None,
        label: str = "",
    ) -> None:
        """Show a picture; a link is shown as such and never fetched."""
        # Imported with the first picture: no first screen has one.
        from ollm_tui.tui.transcript.picture_source import PictureSource

        def ask(source: PictureSource) -> None:
            self._want_decoded(source, block_id)

        source = PictureSource(data, url, mime_type, label, ask)
        self._add(Block(block_id, BlockKind.PICTURE, source, finished=True))

    def _add(self, block: Block) -> None:
        raise NotImplementedError

    @property
    def busy(self) -> bool:
        """Is anything still to be painted, or to be decoded for it?"""
        return super().busy or self._is_decoding

    def _want_decoded(self, source: "PictureSource", block_id: str) -> None:
        self._undecoded.pop(source, None)
        self._undecoded[source] = block_id
        if not self._is_decoding:
            self._is_decoding = True
            self.run_worker(self._decode(), group="pictures")

    async def _decode(self) -> None:
        try:
            while self._undecoded:
                source, block_id = self._undecoded.popitem()
                if self._is_awake(source, block_id):
                    await anyio.to_thread.run_sync(source.decode, abandon_on_cancel=True)
                if self._is_awake(source, block_id):
                    self._queue.put(self.shelf.index(block_id), is_new=False)
                    self._wake()
        finally:
            self._is_decoding = False

    def _is_awake(self, source: "PictureSource", block_id: str) -> bool:
        """Does anybody still look at it?"""
        if block_id not in self.shelf:
            return False
        block = self.shelf.block(block_id)
        return block.source is source and block.painter is not None
