"""Walking past packed texts: a length of eight bytes, then the text, many times over.

A vocabulary has up to a million of them and each says only where the next begins. A step in Python
for each would take most of the time that a whole header may cost, so that short texts are passed
by a regular expression that matches a row of them: its repetitions are possessive, so that it goes
through every byte once.
"""

import re
import struct
from functools import lru_cache

ROW = 32
LONGEST_SHORT = 255

_length_at = struct.Struct("<Q").unpack_from


def pass_row(window: bytes, at: int) -> int | None:
    """Give where the row of ROW short texts that begins here ends; None where there is none."""
    match = _row().match(window, at)
    return None if match is None else match.end()


def length_at(window: bytes, at: int) -> int:
    """Give the length that stands here."""
    return int(_length_at(window, at)[0])


@lru_cache(maxsize=1)
def _row() -> re.Pattern[bytes]:
    """Make the pattern when the first vocabulary is met: it takes some milliseconds."""
    texts = (
        re.escape(bytes([length])) + rb"\0{7}" + (b".{%d}" % length if length else b"")
        for length in range(LONGEST_SHORT + 1)
    )
    return re.compile(b"(?:" + b"|".join(texts) + b"){%d}+" % ROW, re.DOTALL)
