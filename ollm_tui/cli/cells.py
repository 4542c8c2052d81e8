"""How wide text is on a terminal, as far as one line of progress needs to know."""

import unicodedata


def cells(text: str) -> int:
    """Give the width of one line of cleaned text, in cells."""
    return sum(_width(character) for character in text)


def within(text: str, room: int) -> str:
    """Give as much of the beginning as fits into `room` cells, with `…` where more was."""
    if cells(text) <= room:
        return text
    kept, used = [], 1
    for character in text:
        used += _width(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept) + "…" if room > 0 else ""


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
