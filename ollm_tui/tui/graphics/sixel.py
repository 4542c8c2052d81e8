"""Pixels as sixels: bands of six lines, in which each colour is drawn over the ones before it."""

import re
from collections.abc import Iterator
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re

BAND: Final = 6
_MAX_COLOURS: Final = 256
_START, _END = "\x1bP0;1;0q", "\x1b\\"  # pixels that are not drawn keep what is there
_CHARACTERS: Final = bytes(range(63, 127)) + bytes(192)
"""By the six bits of a column, the character that draws it."""
_EMPTY: Final = b"?"
_RUN: Final = lazy_re(rb"(.)\1{3,}")


@dataclass(frozen=True, slots=True, eq=False)
class IndexedPixels:
    """A picture with one byte a pixel, which is the number of its colour."""

    width: int
    pixels: bytes
    palette: bytes
    """Three bytes a colour."""


def with_palette(rgb: bytes, width: int, height: int) -> IndexedPixels:
    """Choose the colours of a picture, at most 256. Call it in a thread."""
    # Loaded by now: it has decoded the picture.
    from PIL import Image

    image = Image.frombytes("RGB", (width, height), rgb)
    indexed = image.quantize(_MAX_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    return IndexedPixels(width, indexed.tobytes(), bytes(indexed.getpalette("RGB") or ()))


def sixels(image: IndexedPixels, columns: range, lines: range) -> str:
    """Return what draws a part of a picture at the cursor."""
    start, end = columns.start, columns.stop
    rows = [image.pixels[y * image.width + start : y * image.width + end] for y in lines]
    colours = "".join(_definition(number, image.palette) for number in sorted(set(b"".join(rows))))
    bands = (b"$".join(_band(rows[top : top + BAND])) for top in range(0, len(rows), BAND))
    drawn = b"-".join(bands).decode("ascii")
    return f'{_START}"1;1;{len(columns)};{len(lines)}{colours}{drawn}{_END}'


def _definition(number: int, palette: bytes) -> str:
    red, green, blue = (round(value / 2.55) for value in palette[3 * number : 3 * number + 3])
    return f"#{number};2;{red};{green};{blue}"


def _band(rows: list[bytes]) -> Iterator[bytes]:
    """Return the line of each colour in a band."""
    for number in sorted(set(b"".join(rows))):
        is_colour = bytes(number) + b"\x01" + bytes(_MAX_COLOURS - 1 - number)
        bits = 0
        for line, row in enumerate(rows):
            bits |= int.from_bytes(row.translate(is_colour), "big") << line
        drawn = bits.to_bytes(len(rows[0]), "big").translate(_CHARACTERS).rstrip(_EMPTY)
        yield b"#%d%b" % (number, _RUN.sub(_counted, drawn))


def _counted(run: re.Match[bytes]) -> bytes:
    return b"!%d%b" % (len(run[0]), run[1])
