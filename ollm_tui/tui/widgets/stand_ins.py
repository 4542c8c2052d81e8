"""Keep control characters in an editor as data without ever sending them to the terminal.

An editor counts cells and splits lines by its own rules, so what draws nothing, or ends a line for
it alone, is held as one private character of one cell and is turned back when the text leaves.
"""

from types import MappingProxyType
from typing import Final

_FIRST: Final = 0x10FE00
_LINE_ENDS: Final = frozenset("\t\n")
_HELD: Final = tuple(
    code
    for block in (range(0x20), range(0x7F, 0xA0), range(0x2028, 0x202F), range(0xE0000, 0xE0080))
    for code in block
    if chr(code) not in _LINE_ENDS
)
_INTO: Final = MappingProxyType(
    {code: _FIRST + index for index, code in enumerate(_HELD)}
    # Half a character cannot be written down or sent.
    | dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
)
_BACK: Final = MappingProxyType({_FIRST + index: code for index, code in enumerate(_HELD)})


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "\ufffd"


_SIGNS: Final = MappingProxyType({_FIRST + index: _sign(code) for index, code in enumerate(_HELD)})


def to_editor(text: str) -> str:
    """Return the text as an editor may hold it; line ends become line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_INTO)


def from_editor(text: str) -> str:
    """Return the text with the characters that `to_editor` replaced."""
    return text.translate(_BACK)


def to_signs(text: str) -> str:
    """Return what an editor holds as it is drawn: as many characters, each one cell."""
    return text.translate(_SIGNS)


def has_reserved_characters(text: str) -> bool:
    """Whether the text contains a character that is used to hold others."""
    if text.isascii():
        return False
    return any(_FIRST <= ord(letter) < _FIRST + len(_HELD) for letter in text)
