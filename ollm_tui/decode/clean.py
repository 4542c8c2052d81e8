"""Show control characters in foreign text instead of obeying them, each as a sign in its place.

A carriage return becomes `␍`: normalise CRLF before if it should be a line end.
"""

import re
from types import MappingProxyType
from typing import Final

from ollm_tui.lazy import lazy_re

_FLAG_BASE: Final = "\U0001f3f4"
_FLAG_REGIONS: Final = ("gbeng", "gbsct", "gbwls")
_FLAGS: Final = tuple(
    _FLAG_BASE + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in _FLAG_REGIONS
)
# The common prefix is factored out, so that a text of black flags is searched in linear time.
_FLAG: Final = lazy_re(f"({_FLAG_BASE}(?:{'|'.join(flag[1:] for flag in _FLAGS)}))")
_MAX_PREFIX_LENGTH: Final = len(_FLAGS[0]) - 1
_FLAG_STARTS: Final = frozenset(flag[:end] for flag in _FLAGS for end in range(1, len(flag)))

_SUSPECT: Final = lazy_re(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\U000e0000-\U000e007f]"
)

# Characters that draw nothing although Unicode counts them as letters or marks: fillers, joiners
# and variation selectors. `str.isprintable` knows the rest.
_INVISIBLE: Final = lazy_re(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)
_LINE_ENDS: Final = lazy_re("\r\n|[\n\t\v\f\x85\u2028\u2029]")


def _mark(character: str) -> str:
    return f"⟦U+{ord(character):04X}⟧"


_SIGNS: Final = MappingProxyType(
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "␡"}
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
    | {
        code: _mark(chr(code))
        for block in (range(0x80, 0xA0), range(0x202A, 0x202F), range(0xE0000, 0xE0080))
        for code in block
    }
)


def clean(text: str) -> str:
    r"""Return `text` with every control character but \n and \t shown as a sign.

    C0 and DEL become control pictures (`␛`), C1, bidirectional embeddings and overrides and tag
    characters become `⟦U+202E⟧`, lone surrogates become U+FFFD. Right-to-left letters, isolates,
    joiners, variation selectors and the flags of England, Scotland and Wales stay as they are.
    """
    if _SUSPECT.search(text) is None:
        return text
    if _FLAG_BASE not in text:
        return text.translate(_SIGNS)
    # With one group, split puts the flags at the odd places.
    pieces = _FLAG.split(text)
    pieces[::2] = [piece.translate(_SIGNS) for piece in pieces[::2]]
    return "".join(pieces)


def clean_line(text: str) -> str:
    """Return `text` cleaned for a single line: line ends become spaces."""
    return clean(_LINE_ENDS.sub(" ", text))


def clean_name(text: str) -> str:
    """Return a file, link, tool or model name with every invisible character spelled out.

    Stricter than `clean`: to decide by a name, one has to see joiners and unusual spaces too.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() and _INVISIBLE.match(character) is None
        else _mark(character)
        for character in text
    )


def spelled_out(text: str, kept: str = "\n") -> str:
    """Return a text as `clean_name` does, but for the characters that are kept."""
    return "".join(
        piece if piece in kept else clean_name(piece)
        for piece in re.split(f"([{re.escape(kept)}])", text)
    )


def spelled_line(text: str) -> str:
    """Return a text as `clean_line` does, and all that is still invisible as `clean_name` does."""
    return clean_name(clean_line(text))


class Cleaner:
    """Clean a text that arrives in parts; holds back at most the start of one flag."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, part: str) -> str:
        """Return the part of the text so far that is certain."""
        text = self._held + part
        start = text.rfind(_FLAG_BASE, max(0, len(text) - _MAX_PREFIX_LENGTH))
        cut = start if start >= 0 and text[start:] in _FLAG_STARTS else len(text)
        self._held = text[cut:]
        return clean(text[:cut])

    def finish(self) -> str:
        """Return what was held back, and reset the cleaner."""
        held, self._held = self._held, ""
        return clean(held)
