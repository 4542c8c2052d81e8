"""Pictures decoded and scaled down to half cells of the screen, by Pillow if installed."""

import math
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.images import TURNED, ImageHeader
from ollm_tui.tui.graphics import CellSize, PixelRows

if TYPE_CHECKING:
    from PIL.Image import Image

Rgb: TypeAlias = tuple[int, int, int]
_Box: TypeAlias = tuple[int, int]

MAX_PIXELS: Final = 50_000_000
"""Larger pictures are not decoded; this size takes up to 200 MB of memory for a moment."""
MAX_ROWS: Final = 20
CELL_WIDTH: Final = 8
"""Pixels across a cell of a picture that the terminal draws; it scales them to its own."""
_DIRECT: Final = frozenset({"L", "LA", "RGB", "RGBA", "CMYK"})
"""Pillow's modes that can be scaled as they are."""
_DEEP: Final = "I;16"  # prefix of the names of Pillow's modes for 16 bits of grey
_TURNS: Final = (
    *(None, "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM"),
    *("TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90"),
)
"""What turns a picture upright, by its Exif orientation, from 1 on."""


@dataclass(frozen=True, slots=True)
class ThumbnailSize:
    """Pixels on the screen: one is a cell wide and half a cell high, which is about a square."""

    columns: int
    lines: int

    @property
    def rows(self) -> int:
        """The number of screen rows."""
        return (self.lines + 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnail:
    """A picture of `rows` times two lines; three bytes a pixel, line by line from the top."""

    size: ThumbnailSize
    pixels: bytes


def fitted(header: ImageHeader, width: int) -> ThumbnailSize:
    """Return the size at which a picture fits `width` cells; a small one keeps its own pixels."""
    scale = min(1.0, width / header.width, MAX_ROWS * 2 / header.height)
    columns, lines = round(header.width * scale), round(header.height * scale)
    return ThumbnailSize(max(columns, 1), max(lines, 1))


@cache
def can_decode() -> bool:
    """Whether Pillow is installed; it is not loaded to find out."""
    try:
        return find_spec("PIL") is not None
    except (ImportError, ValueError):
        return False


def make_thumbnail(
    data: bytes, header: ImageHeader, size: ThumbnailSize, background: Rgb
) -> Thumbnail | None:
    """Decode a picture's first frame; None if that fails.

    Takes up to seconds: call it in a thread. What shows through is laid on `background`.
    """
    if header.width * header.height > MAX_PIXELS:
        return None
    box, ground = (size.columns, size.lines), (size.columns, size.rows * 2)
    try:
        return Thumbnail(size, _pixels(data, header, box, ground, background))
    except Exception:  # noqa: BLE001 -- foreign bytes: Pillow's readers raise nearly anything
        return None


def make_png(
    data: bytes, header: ImageHeader, size: ThumbnailSize, background: Rgb
) -> bytes | None:
    """Encode a picture's first frame in the pixels of its cells; None if that fails."""
    if header.width * header.height > MAX_PIXELS:
        return None
    box = size.columns * CELL_WIDTH, size.lines * CELL_WIDTH
    try:
        raw = _pixels(data, header, box, box, background)
        # Loaded by now, as below.
        from PIL import Image

        out = BytesIO()
        image = Image.frombytes("RGB", box, raw)
        image.save(out, "PNG", compress_level=1)
        return out.getvalue()
    except Exception:  # noqa: BLE001 -- foreign bytes: Pillow's readers raise nearly anything
        return None


def make_pixel_rows(
    data: bytes, header: ImageHeader, size: ThumbnailSize, background: Rgb, cell: CellSize
) -> PixelRows | None:
    """Decode a picture's first frame in the pixels of its cells; None if that fails."""
    if header.width * header.height > MAX_PIXELS:
        return None
    width, height = size.columns * cell.width, size.rows * cell.height
    box = width, max(size.lines * cell.height // 2, 1)
    try:
        rgb = _pixels(data, header, box, (width, height), background)
        return PixelRows(rgb, size.columns, size.rows, cell)
    except Exception:  # noqa: BLE001 -- foreign bytes: Pillow's readers raise nearly anything
        return None


def _pixels(data: bytes, header: ImageHeader, box: _Box, ground: _Box, background: Rgb) -> bytes:
    """Decode a picture scaled to `box`, at the top of a ground of that size."""
    # Imported with the first picture that is looked at, in its thread: Pillow costs 40 ms.
    from PIL import Image, WebPImagePlugin

    del WebPImagePlugin  # loading it is enough; Pillow would load all its readers instead
    with Image.open(BytesIO(data), formats=[header.kind.upper()]) as image:
        if math.prod(image.size) > MAX_PIXELS:
            raise ValueError("the picture is larger than its header says")
        box = box[::-1] if header.orientation in TURNED else box
        image.draft("RGB", box)
        small = _scaled(image, box).convert("RGBA")
    if turn := _TURNS[header.orientation - 1]:
        small = small.transpose(Image.Transpose[turn])
    whole = Image.new("RGBA", ground, background)
    whole.alpha_composite(small)
    return whole.convert("RGB").tobytes()


def _scaled(image: "Image", box: tuple[int, int]) -> "Image":
    # Loaded by now, as above.
    from PIL.Image import Resampling

    plain: Image = image
    if image.mode.startswith(_DEEP):
        # Pillow's own conversion to 8 bits would cut off at 255.
        plain = image.convert("I").point([value >> 8 for value in range(1 << 16)], "L")
    elif image.mode not in _DIRECT or "transparency" in image.info:
        plain = image.convert("RGBA")
    return plain.resize(box, Resampling.BOX, reducing_gap=3.0)
