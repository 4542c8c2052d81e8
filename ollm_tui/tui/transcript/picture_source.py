"""A picture of the transcript: its bytes, what is known of them, and what was decoded last."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.images import ImageData, ImageHeader, image_data, read_image_header
from ollm_tui.protocol.blocks import MediaData
from ollm_tui.tui.figures import size as written_size
from ollm_tui.tui.transcript.painters.picture import Look, PicturePainter, picture_rows
from ollm_tui.tui.transcript.painters.rows import Canvas
from ollm_tui.tui.transcript.thumbnail import (
    MOST_PIXELS,
    Rgb,
    Thumbnail,
    ThumbnailSize,
    can_decode,
    fitted,
    make_thumbnail,
)
from ollm_tui.tui.widgets import cut

_LONGEST_LABEL: Final = 40
"""Cells."""
_LONGEST_LINK: Final = 400
"""Characters of a link that are shown."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    size: ThumbnailSize
    background: Rgb


class PictureSource:
    """The bytes of a picture, and its newest thumbnail only: at most 12 kB more."""

    def __init__(
        self,
        data: MediaData | None,
        url: str | None,
        mime_type: str | None,
        label: str,
        ask: Callable[["PictureSource"], None],
    ) -> None:
        """Take a picture; `request` is called when `decode` has something to do."""
        self._data: ImageData | None = image_data(data, url)
        self._header: ImageHeader | None = None
        if self._data is not None:
            self._header = read_image_header(self._data.head())
        self._link = None if self._data else clean_name((url or "")[:_LONGEST_LINK])
        self._type = clean_name((mime_type or "")[:_LONGEST_LABEL])
        self._label = cut(clean_name(label[:_LONGEST_LINK]), _LONGEST_LABEL)
        self._ask = ask
        self._wanted: _Wanted | None = None
        self._made: tuple[_Wanted, Thumbnail | None] | None = None

    @property
    def text(self) -> str:
        """One line about it."""
        return self.caption()

    @property
    def size(self) -> int:
        """Always 0: its text never changes."""
        return 0

    def painter(self, canvas: Canvas) -> PicturePainter:
        """A painter of this picture, decoded or not."""
        return PicturePainter(canvas, self)

    def estimate(self, canvas: Canvas) -> int:
        """The exact number of rows."""
        return picture_rows(self, canvas)

    def space(self, canvas: Canvas) -> ThumbnailSize | None:
        """Return its size on a canvas; None if nothing can be drawn."""
        header = self._header
        if header is None or self._is_too_large(header):
            return None
        return fitted(header, canvas.width) if canvas.has_colours and can_decode() else None

    def caption(self, *, is_broken: bool = False) -> str:
        """Return the caption: kind and size, or the link if there is nothing else."""
        parts = [self._label]
        if self._header is not None:
            parts += [self._header.kind, f"{self._header.width} x {self._header.height}"]
        elif self._data is not None:
            parts.append(self._type or "picture")
        if self._data is None:
            parts.append(self._link or "a picture without data")
        elif is_broken or self._header is None:
            parts.append("cannot be shown")
        elif self._is_too_large(self._header):
            parts.append("too large to be shown")
        else:
            parts.append(written_size(self._data.size))
        return " · ".join(part for part in parts if part)

    def _is_too_large(self, header: ImageHeader) -> bool:
        return header.width * header.height > MOST_PIXELS

    def look(self, size: ThumbnailSize, background: Rgb) -> Look:
        """Return what was decoded for this size, and request it if there is nothing."""
        wanted = _Wanted(size, background)
        made = self._made
        if made is not None and made[0] == wanted:
            return made[1] or "broken"
        self._wanted = wanted
        self._ask(self)
        return "coming"

    def decode(self) -> None:
        """Make what was requested last. Takes up to seconds: call it in a thread."""
        wanted, data, header = self._wanted, self._data, self._header
        if self._made is not None and self._made[0] == wanted:
            return  # it was asked for again while it was made
        if wanted is not None and data is not None and header is not None:
            made = make_thumbnail(data.whole(), header, wanted.size, wanted.background)
            self._made = wanted, made
