"""Find URLs in plain text, in linear time."""

import re
from collections.abc import Iterator
from typing import Final

from ollm_tui.lazy import lazy_re

_ADDRESS: Final = lazy_re(
    r"(?<![A-Za-z0-9+.-])(?:https?://|mailto:)"
    r"[^\s\x00-\x1f\x7f-\x9f<>\"`|\\^{}\u200b-\u200f\u2028-\u202e\u2066-\u2069"
    r"\u3000-\u3002\u300c-\u300f\uff08\uff09\uff0c\uff1a\uff1b\u2018-\u201f\u2026\u2400-\u243f\u2500-\u257f\u27e6\u27e7]+",
    re.IGNORECASE,
)
_TRAILING: Final = frozenset(".,:;!?'*_~")
_PAIRS: Final = {")": "(", "]": "["}


def bare_links(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every http, https and mailto address in a text.

    Punctuation at its end, and a closing bracket that it did not open, are not part of it.
    """
    if ":" not in text:
        return
    for match in _ADDRESS.finditer(text):
        address = match.group()
        end = _trimmed_length(address)
        scheme, _colon, rest = address[:end].partition(":")
        needed = "@" in rest if scheme.lower() == "mailto" else rest.strip("/")
        if needed:
            yield match.start(), match.start() + end


def _trimmed_length(address: str) -> int:
    spare = {closing: address.count(closing) - address.count(_PAIRS[closing]) for closing in _PAIRS}
    end = len(address)
    while end:
        last = address[end - 1]
        if spare.get(last, 0) > 0:
            spare[last] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return end
