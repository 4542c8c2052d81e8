"""Pictures by the graphics protocol of kitty, placed by characters.

A picture is sent once, with an id, and belongs to a placement that is not seen by itself. Cells
with a placeholder character show it: their colour is the id, and combining marks say which row and
column of the picture they are. So a picture scrolls, is covered and cut off as text is.
"""

import os
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from threading import Lock
from typing import Final

PLACEHOLDER: Final = "\U0010eeee"
MAX_KEPT: Final = 64
"""Pictures that the terminal keeps at most; the one sent first is deleted."""
_CHUNK: Final = 4096
_RUNS: Final = (
    *((0x305, 0x305), (0x30D, 0x30E), (0x310, 0x310), (0x312, 0x312), (0x33D, 0x33F)),
    *((0x346, 0x346), (0x34A, 0x34C), (0x350, 0x352), (0x357, 0x357), (0x35B, 0x35B)),
    *((0x363, 0x36F), (0x483, 0x487), (0x592, 0x595), (0x597, 0x599), (0x59C, 0x5A1)),
    *((0x5A8, 0x5A9), (0x5AB, 0x5AC), (0x5AF, 0x5AF), (0x5C4, 0x5C4), (0x610, 0x617)),
    *((0x657, 0x65B), (0x65D, 0x65E), (0x6D6, 0x6DC), (0x6DF, 0x6E2), (0x6E4, 0x6E4)),
    *((0x6E7, 0x6E8), (0x6EB, 0x6EC), (0x730, 0x730), (0x732, 0x733), (0x735, 0x736)),
    *((0x73A, 0x73A), (0x73D, 0x73D), (0x73F, 0x741), (0x743, 0x743), (0x745, 0x745)),
    *((0x747, 0x747), (0x749, 0x74A), (0x7EB, 0x7F1)),
)
"""The combining marks that stand for numbers, from 0 on, as far as a picture here needs them."""
NUMBERS: Final = "".join(chr(code) for first, last in _RUNS for code in range(first, last + 1))


def transmission(picture_id: int, png: bytes, columns: int, rows: int) -> str:
    """Return what sends a picture and makes its placement; the terminal answers nothing."""
    return "".join(_transmission(picture_id, b64encode(png).decode(), columns, rows))


def _transmission(picture_id: int, data: str, columns: int, rows: int) -> Iterator[str]:
    for start in range(0, len(data), _CHUNK):
        more = int(start + _CHUNK < len(data))
        keys = f"a=t,f=100,i={picture_id},q=2,m={more}" if start == 0 else f"q=2,m={more}"
        yield f"\x1b_G{keys};{data[start : start + _CHUNK]}\x1b\\"
    yield f"\x1b_Ga=p,U=1,i={picture_id},c={columns},r={rows},q=2\x1b\\"


def deletion(picture_id: int) -> str:
    """Return what deletes a picture with its data."""
    return f"\x1b_Ga=d,d=I,i={picture_id},q=2\x1b\\"


def placeholders(row: int, columns: int) -> str:
    """Return the text of one row of a picture, in the colour of `colour_of` its id."""
    return "".join(f"{PLACEHOLDER}{NUMBERS[row]}{NUMBERS[column]}" for column in range(columns))


def colour_of(picture_id: int) -> tuple[int, int, int]:
    """Return the colour that names a picture."""
    return picture_id >> 16 & 255, picture_id >> 8 & 255, picture_id & 255


class KittyPictures:
    """The pictures that a terminal has; may be used from any thread."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Send pictures with `write`."""
        self._write = write
        self._sent: OrderedDict[int, str] = OrderedDict()
        self._ids = count(0x10000 + (os.getpid() & 0x7FFF) * 0x80)
        self._lock = Lock()

    def has(self, picture_id: int) -> bool:
        """Whether the terminal still has a picture."""
        return picture_id in self._sent

    def send(self, png: bytes, columns: int, rows: int) -> int:
        """Send a picture that takes so many cells; return its id."""
        with self._lock:
            picture_id = next(self._ids) & 0xFFFFFF
            sequence = transmission(picture_id, png, columns, rows)
            self._sent[picture_id] = sequence
            self._write(sequence)
            while len(self._sent) > MAX_KEPT:
                oldest, _sequence = self._sent.popitem(last=False)
                self._write(deletion(oldest))
            return picture_id

    def forget(self, picture_id: int) -> None:
        """Delete a picture; a no-op if the terminal no longer has it."""
        with self._lock:
            if self._sent.pop(picture_id, None) is not None:
                self._write(deletion(picture_id))

    def delete_all(self) -> None:
        """Delete all pictures from the terminal; `send_all` sends them again."""
        for picture_id in self._sent:
            self._write(deletion(picture_id))

    def send_all(self) -> None:
        """Send all pictures again, after the terminal was left for a while."""
        for sequence in self._sent.values():
            self._write(sequence)
