"""The pictures of a transcript: decoded one after another, in a thread, once they are in view."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.transcript.block import BlockKind
from ollm_tui.tui.transcript.block_list import BlockList

if TYPE_CHECKING:
    from ollm_tui.tui.transcript.picture_source import PictureSource


@dataclass(eq=False)
class PictureDecoder:
    """Fills in the colours of pictures, which have all their rows from the first frame on."""

    _block_list: BlockList
    _start: Callable[[Coroutine[None, None, None]], object]
    """Runs a coroutine in the background."""
    _on_decoded: Callable[[int], None]
    """Called with the index of each block whose picture is ready."""
    _waiting: "dict[PictureSource, str]" = field(default_factory=dict)
    """Sources with the ids of their blocks; the one requested last is decoded first."""
    busy: bool = False
    """Whether a picture is being decoded."""

    def request(self, source: "PictureSource", block_id: str) -> None:
        """Decode a picture soon."""
        self._waiting.pop(source, None)
        self._waiting[source] = block_id
        if not self.busy:
            self.busy = True
            self._start(self._decode())

    def look_again(self) -> None:
        """Show the pictures as they are to look now, in cells of another size."""
        for index, block in enumerate(self._block_list.blocks):
            if block.kind is BlockKind.PICTURE and block.painter is not None:
                self._on_decoded(index)

    async def _decode(self) -> None:
        try:
            while self._waiting:
                source, block_id = self._waiting.popitem()
                if self._is_shown(source, block_id):
                    await anyio.to_thread.run_sync(source.decode, abandon_on_cancel=True)
                if self._is_shown(source, block_id):
                    self._on_decoded(self._block_list.index(block_id))
        finally:
            self.busy = False

    def _is_shown(self, source: "PictureSource", block_id: str) -> bool:
        if block_id not in self._block_list:
            return False
        block = self._block_list.block(block_id)
        return block.source is source and block.painter is not None
