"""A picture of the transcript: its bytes, what was decoded last, and the rows that show it.

Its space and the caption below are there from the start; the picture fills it once it is decoded.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal, TypeAlias

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.decode.images import ImageData, ImageHeader, image_data, read_image_header
from ollm_tui.protocol.blocks import MediaData
from ollm_tui.tui.graphics import (
    CellSize,
    InlineProtocol,
    PictureProtocol,
    TerminalPictures,
    colour_of,
    inline_cells,
    placeholders,
)
from ollm_tui.tui.painters import (
    BLANK,
    Canvas,
    Change,
    PaintedRows,
    Palette,
    Row,
    WholePainter,
    wrapped_rows,
)
from ollm_tui.tui.transcript.thumbnail import (
    MAX_PIXELS,
    Rgb,
    Thumbnail,
    ThumbnailSize,
    can_decode,
    fitted,
    make_pixel_rows,
    make_png,
    make_thumbnail,
)
from ollm_tui.tui.widgets import cut


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture that the terminal draws."""

    size: ThumbnailSize
    id: int
    protocol: PictureProtocol


Look: TypeAlias = Thumbnail | Drawn | Literal["coming", "broken"]
"""A picture to show, one that is being decoded, or one that cannot be."""

INLINE_CELL: Final = CellSize(8, 16)
"""The pixels of a cell for a terminal that scales pictures to its own."""
_MIN_FRAME: Final = (4, 3)  # columns and rows of the smallest space that gets a frame
_UPPER: Final = "▀"
_SEEN_ROWS: Final = 512  # rows that are kept ready: a few screens full, each up to 50 kB
_SEEN_COLOURS: Final = 8192
_MAX_LABEL_LENGTH: Final = 40  # cells
_MAX_LINK_LENGTH: Final = 400  # characters of a link that are shown
_Wanted: TypeAlias = tuple[ThumbnailSize, Rgb, PictureProtocol, CellSize | None]


class PictureSource:
    """The bytes of a picture, and its newest thumbnail only: at most 12 kB more."""

    size = 0
    """Its text never changes."""

    def __init__(
        self,
        data: MediaData | None,
        url: str | None,
        mime_type: str | None,
        label: str,
        ask: Callable[["PictureSource"], None],
        terminal: TerminalPictures | None = None,
    ) -> None:
        """Take a picture; `ask` is called when `decode` has something to do.

        `terminal` has the pictures that the terminal draws itself.
        """
        self._terminal = terminal
        self._data: ImageData | None = image_data(data, url)
        self._header: ImageHeader | None = None
        if self._data is not None:
            self._header = read_image_header(self._data.head())
        self._link = None if self._data else clean_name((url or "")[:_MAX_LINK_LENGTH])
        self._type = clean_name((mime_type or "")[:_MAX_LABEL_LENGTH])
        self._label = cut(clean_name(label[:_MAX_LINK_LENGTH]), _MAX_LABEL_LENGTH)
        self._ask = ask
        self._wanted: _Wanted | None = None
        self._made: tuple[_Wanted, Thumbnail | Drawn | None] | None = None

    @property
    def text(self) -> str:
        """One line about it."""
        return self.caption()

    def painter(self, canvas: Canvas) -> "PicturePainter":
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
        if canvas.pictures == "off" or not (canvas.has_colours and can_decode()):
            return None
        return fitted(header, canvas.width)

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
            parts.append(size_text(self._data.size))
        return " · ".join(part for part in parts if part)

    def _is_too_large(self, header: ImageHeader) -> bool:
        return header.width * header.height > MAX_PIXELS

    def look(
        self, size: ThumbnailSize, background: Rgb, protocol: PictureProtocol = "blocks"
    ) -> Look:
        """Return what was decoded for this size, and request it if there is nothing."""
        drawn_by, cell = self._drawn_by(protocol)
        wanted = size, background, drawn_by, cell
        made = self._made
        if made is not None and made[0] == wanted and self._is_there(made[1]):
            return made[1] or "broken"
        self._wanted = wanted
        self._ask(self)
        return "coming"

    def decode(self) -> None:
        """Make what was requested last. Takes up to seconds: call it in a thread."""
        wanted, data, header, made = self._wanted, self._data, self._header, self._made
        if made is not None and made[0] == wanted and self._is_there(made[1]):
            return  # it was asked for again while it was made
        if wanted is None or data is None or header is None:
            return
        if made is not None and isinstance(made[1], Drawn) and self._terminal is not None:
            self._terminal.forget(made[1].id)
        self._made = wanted, self._make(data.whole(), header, wanted)

    def _make(self, data: bytes, header: ImageHeader, wanted: _Wanted) -> Thumbnail | Drawn | None:
        size, background, protocol, cell = wanted
        if self._terminal is None or protocol in {"auto", "blocks", "off"}:
            return make_thumbnail(data, header, size, background)
        picture_id = None
        if protocol == "kitty":
            if png := make_png(data, header, size, background):
                picture_id = self._terminal.send(png, size.columns, size.rows)
        elif pixels := make_pixel_rows(data, header, size, background, cell or INLINE_CELL):
            by: InlineProtocol = "iterm" if protocol == "iterm" else "sixel"
            picture_id = self._terminal.keep(pixels, by)
        return None if picture_id is None else Drawn(size, picture_id, protocol)

    def _drawn_by(self, protocol: PictureProtocol) -> tuple[PictureProtocol, CellSize | None]:
        """Return what draws it now, and for what cells if its pixels depend on them."""
        if self._terminal is None:
            return "blocks", None
        drawn_by = self._terminal.protocol(protocol, self._decode_again)
        return drawn_by, self._terminal.cell if drawn_by == "sixel" else None

    def _decode_again(self) -> None:
        self._ask(self)

    def _is_there(self, made: Thumbnail | Drawn | None) -> bool:
        """Whether the terminal still has what it draws."""
        if not isinstance(made, Drawn) or self._terminal is None:
            return True
        return self._terminal.has(made.id)


def picture_rows(picture: PictureSource, canvas: Canvas) -> int:
    """How many rows a picture takes, decoded or not."""
    space = picture.space(canvas)
    return sum(1 for _ in _words(picture, canvas)) if space is None else space.rows + 1


class PicturePainter(PaintedRows, WholePainter):
    """Always has as many rows as `picture_rows` says, so that rows below never move."""

    def __init__(self, canvas: Canvas, picture: PictureSource) -> None:
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

    def work(self, deadline: float) -> bool:
        """Show what there is by now; the picture's own rows are painted as they come into view."""
        del deadline
        look = self._look
        if self._size is not None:
            colour = background(self._canvas.palette)
            look = self._picture.look(self._size, colour, self._canvas.pictures)
        if look is not self._look or not self._rows:
            self._look = look
            self._rows = list(self._painted())
            self.touch(Change(0, self._count))
        return False

    def _painted(self) -> Iterator[Row]:
        if self._size is None:
            yield from _words(self._picture, self._canvas)
            return
        if not isinstance(self._look, Thumbnail | Drawn):
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
        if not isinstance(look, Thumbnail | Drawn):
            return self._rows[index]
        if index == look.size.rows:
            return self._rows[0]
        if isinstance(look, Drawn):
            return drawn_row(look.protocol, look.id, index, look.size.columns)
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
    least_columns, least_rows = _MIN_FRAME
    is_framed = size.columns >= least_columns and size.rows >= least_rows
    for number in range(size.rows):
        left, middle, right = "│ │"
        if number in {0, size.rows - 1}:
            left, middle, right = "╭─╮" if number == 0 else "╰─╯"
        text = left + middle * wide + right if is_framed else " " * size.columns
        yield Row((Segment(text, palette.dim),), gutter=len(text), join="" if number else None)


def _words(picture: PictureSource, canvas: Canvas) -> Iterator[Row]:
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


@lru_cache(maxsize=_SEEN_ROWS)
def drawn_row(protocol: PictureProtocol, picture_id: int, index: int, columns: int) -> Row:
    """One row of a picture that the terminal draws; nothing of it can be copied."""
    if protocol == "kitty":
        text = placeholders(index, columns)
        style = Style.from_color(Color.from_triplet(ColorTriplet(*colour_of(picture_id))))
    else:
        text, style = inline_cells(picture_id, index, columns), Style()
    return Row((Segment(text, style),), gutter=len(text), join="" if index else None)


def _pixels(line: bytes) -> list[bytes]:
    return [line[start : start + 3] for start in range(0, len(line), 3)]


@lru_cache(maxsize=_SEEN_COLOURS)
def _colour(pixel: bytes) -> Color:
    return Color.from_triplet(ColorTriplet(*pixel))
