"""Paints a picture: its space with a caption below, which the picture fills once it is decoded."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal, Protocol, TypeAlias

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from ollm_tui.tui.transcript.painters.painter import Change, PaintedRows
from ollm_tui.tui.transcript.painters.rows import BLANK, Canvas, Palette, Row
from ollm_tui.tui.transcript.painters.wrap import wrapped_rows
from ollm_tui.tui.transcript.thumbnail import Rgb, Thumbnail, ThumbnailSize
from ollm_tui.tui.widgets import cut

Look: TypeAlias = Thumbnail | Literal["coming", "broken"]
"""A picture to show, one that is being decoded, or one that cannot be."""

_LEAST_FRAME: Final = (4, 3)
"""Columns and rows of the smallest space that gets a frame."""
_UPPER: Final = "▀"
_SEEN_ROWS: Final = 512
"""Rows that are kept ready: a few screens full, each up to 50 kB."""
_SEEN_COLOURS: Final = 8192


class Picture(Protocol):
    """The interface of pictures: painters know nothing of the sources of blocks."""

    def space(self, canvas: Canvas) -> ThumbnailSize | None:
        """Return its size on a canvas; None if there is only a caption."""
        ...

    def caption(self, *, is_broken: bool = False) -> str:
        """Return the caption, clean."""
        ...

    def look(self, size: ThumbnailSize, background: Rgb) -> Look:
        """Return what there is to show; what is missing is requested, and there at a later call."""
        ...


def picture_rows(picture: Picture, canvas: Canvas) -> int:
    """How many rows a picture takes, decoded or not."""
    space = picture.space(canvas)
    return sum(1 for _ in _words(picture, canvas)) if space is None else space.rows + 1


class PicturePainter(PaintedRows):
    """Always has as many rows as `picture_rows` says, so that rows below never move."""

    refining = False

    def __init__(self, canvas: Canvas, picture: Picture) -> None:
        self._picture = picture
        self._fit(canvas)

    def _fit(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._size = self._picture.space(canvas)
        self._count = picture_rows(self._picture, canvas)
        self._look: Look | None = None
        self._rows: list[Row] = []
        self._change = None

    @property
    def rows(self) -> "PicturePainter":
        """The painter itself, which draws its rows when they come into view."""
        return self

    def append(self, text: str) -> None:
        """Nothing comes after a picture."""

    def finish(self) -> None:
        """Nothing is held back."""

    def work(self, deadline: float) -> bool:
        """Show what there is by now; the picture's own rows are painted as they come into view."""
        del deadline
        look = self._look
        if self._size is not None:
            look = self._picture.look(self._size, background(self._canvas.palette))
        if look is not self._look or not self._rows:
            self._look = look
            self._rows = list(self._painted())
            self.touch(Change(0, self._count))
        return False

    def _painted(self) -> Iterator[Row]:
        if self._size is None:
            yield from _words(self._picture, self._canvas)
            return
        if not isinstance(self._look, Thumbnail):
            yield from frame_rows(self._size, self._canvas.palette)
        caption = cut(self._picture.caption(is_broken=self._look == "broken"), self._canvas.width)
        yield Row((Segment(caption, self._canvas.palette.dim),), join="")

    def restyle(self, canvas: Canvas, first: int) -> None:
        """Take the space it has on another canvas, with the next slice."""
        del first
        self._fit(canvas)

    @property
    def row_count(self) -> int:
        """How many rows there are, which is known before anything is painted."""
        return self._count

    def row(self, index: int) -> Row:
        """One row."""
        look = self._look
        if not self._rows:
            return BLANK
        if not isinstance(look, Thumbnail):
            return self._rows[index]
        if index == look.size.rows:
            return self._rows[0]
        line = 3 * look.size.columns
        upper = look.pixels[2 * index * line : (2 * index + 1) * line]
        lower = look.pixels[(2 * index + 1) * line : (2 * index + 2) * line]
        return half_block_row(upper, lower, "" if index else None)

    def anchor(self, row: int) -> tuple[int, int, int]:
        """The row and the number of rows."""
        return 0, row, self._count

    def locate(self, anchor: tuple[int, int, int]) -> int:
        """About the same part of the picture."""
        return min(anchor[1] * self._count // max(anchor[2], 1), self._count - 1)


def background(palette: Palette) -> Rgb:
    """The colour that a picture is laid on."""
    colour = palette.text.bgcolor
    if colour is None:
        return 0, 0, 0
    red, green, blue = colour.get_truecolor(foreground=False)
    return red, green, blue


def frame_rows(size: ThumbnailSize, palette: Palette) -> Iterator[Row]:
    """The empty space of a picture: nothing of it can be copied."""
    wide = size.columns - 2
    least_columns, least_rows = _LEAST_FRAME
    is_framed = size.columns >= least_columns and size.rows >= least_rows
    for number in range(size.rows):
        left, middle, right = "│ │"
        if number in {0, size.rows - 1}:
            left, middle, right = "╭─╮" if number == 0 else "╰─╯"
        text = left + middle * wide + right if is_framed else " " * size.columns
        yield Row((Segment(text, palette.dim),), gutter=len(text), join="" if number else None)


def _words(picture: Picture, canvas: Canvas) -> Iterator[Row]:
    return wrapped_rows([(picture.caption(), canvas.palette.dim)], canvas.width)


@lru_cache(maxsize=_SEEN_ROWS)
def half_block_row(upper: bytes, lower: bytes, join: str | None) -> Row:
    """Paint two lines of pixels (three bytes each) as one row; nothing of it can be copied."""
    cells = zip(_pixels(upper), _pixels(lower), strict=True)
    segments = tuple(
        Segment(_UPPER * len(list(same)), Style.from_color(_colour(above), _colour(below)))
        for (above, below), same in groupby(cells)
    )
    return Row(segments, gutter=len(upper) // 3, join=join)


def _pixels(line: bytes) -> list[bytes]:
    return [line[start : start + 3] for start in range(0, len(line), 3)]


@lru_cache(maxsize=_SEEN_COLOURS)
def _colour(pixel: bytes) -> Color:
    return Color.from_triplet(ColorTriplet(*pixel))
