"""Which way up a photograph is, as its Exif segment says."""

from typing import Final, Literal

TURNED: Final = frozenset({5, 6, 7, 8})
"""Orientations that make columns of rows."""

_SIGN: Final = b"Exif\0\0"
_ORIENTATION: Final = 0x0112
_MOST_ENTRIES: Final = 200


def exif_orientation(data: bytes, start: int) -> int | None:
    """Read the orientation, 1 to 8, of the Exif segment at `start`; None when it is no such."""
    if data[start : start + len(_SIGN)] != _SIGN:
        return None
    tiff = start + len(_SIGN)
    order: Literal["big", "little"] = "big" if data[tiff : tiff + 2] == b"MM" else "little"

    def number(place: int, length: int) -> int:
        return int.from_bytes(data[place : place + length], order)

    directory = tiff + number(tiff + 4, 4)
    for entry in range(min(number(directory, 2), _MOST_ENTRIES)):
        place = directory + 2 + 12 * entry
        if number(place, 2) == _ORIENTATION:
            value = number(place + 8, 2)
            return value if value in range(1, 9) else 1
    return 1
