"""Text of bytes, whatever a server says of their encoding; with the standard library alone."""

import codecs
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNFIT: Final = frozenset(
    {"punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs"}
)
"""Codecs of Python that are no encoding of a page, some of them slow."""
_WIDE: Final = ("utf-16", "utf-32")


def decoded(data: bytes, *names: str) -> str:
    """Return text by the first encoding that fits, else as UTF-8 with marks for what is broken."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    for name in (*names, "utf-8"):
        encoding = _known(name)
        # ASCII that is called UTF-16 would become other letters without an error
        if not encoding or (encoding.startswith(_WIDE) and b"\0" not in data):
            continue
        try:
            return data.decode(encoding)
        except UnicodeError:
            continue
    return data.decode("utf-8", "replace")


def _known(name: str) -> str:
    """Return the usual name of an encoding; empty if it is none of texts."""
    try:
        codec = codecs.lookup(name.strip())
    except (LookupError, ValueError):
        return ""
    is_text = getattr(codec, "_is_text_encoding", True)
    return codec.name if is_text and codec.name not in _UNFIT else ""


def declared(data: bytes) -> str:
    """Return the encoding that the beginning of an HTML page names; empty without one."""
    head = data[:2048].decode("latin-1").lower()
    _before, mark, rest = head.partition("charset=")
    if not mark:
        return ""
    name = rest[:60].lstrip("\"' ")
    for end in "\"'>/; ":
        name = name.partition(end)[0]
    return name


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text in any encoding that pages use."""
    return not data.startswith(tuple(mark for mark, _name in _MARKS)) and b"\0" in data
