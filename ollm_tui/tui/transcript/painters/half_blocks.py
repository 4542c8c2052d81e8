"""Rows of coloured half blocks: each cell shows two pixels, one above the other."""

from functools import lru_cache
from itertools import groupby
from typing import Final

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from ollm_tui.tui.transcript.painters.rows import Row

_UPPER: Final = "▀"
_SEEN_ROWS: Final = 512
"""Rows that are kept ready: a few screens full, each up to 50 kB."""
_SEEN_COLOURS: Final = 8192


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
